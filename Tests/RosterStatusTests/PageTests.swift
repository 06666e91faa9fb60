import FoundationEssentials
import PageAssets
import Testing

@testable import RosterCore
@testable import RosterStatus

@Suite struct PageTests {
  private func status(_ state: DaemonStatus.State = .idle, reason: String? = nil) -> DaemonStatus {
    var cache = DaemonStatus.Cache(path: "/var/lib/rosterd/roster.db")
    cache.records = 1826
    cache.resources = [
      .init(name: "character", table: "characters", records: 1826, pages: 42, proof: "count", absent: 0),
      .init(name: "location", table: "locations", records: 0, pages: 1, proof: nil, absent: 3),
    ]
    return DaemonStatus(
      version: "0.2.0", pid: 4711, startedAt: "2026-01-01T11:55:00.000Z", uptimeSeconds: 300, state: state,
      reason: reason, upstream: DaemonStatus.Upstream(baseURL: "https://example.org/api?a=1&b=2"), cache: cache,
      sync: DaemonStatus.Sync(), token: TokenStatus(flow: "none"),
      config: DaemonStatus.Config(path: nil, loadedAt: "2026-01-01T11:55:00.000Z"))
  }

  private func html(_ status: DaemonStatus, syncs: [SyncRecord]? = []) -> String {
    String(decoding: Page(status, syncs: syncs, time: "2026-01-01T12:00:00.123Z").html, as: UTF8.self)
  }

  @Test("The page's HTML has state, sentence, facts, resources and syncs without a script")
  func facts() {
    var sync = SyncRecord(id: 17, startedAt: "2026-01-01T11:59:00.000Z", outcome: .published)
    (sync.finishedAt, sync.pages, sync.records, sync.requests) = ("2026-01-01T11:59:01.100Z", 42, 1826, 43)
    let html = html(status(), syncs: [sync])
    #expect(html.contains(#"<body data-state="idle">"#) && html.contains("<title>idle · rosterd</title>"))
    #expect(html.contains(#"<p id="sentence">no sync has published yet</p>"#))
    #expect(html.contains("As of 2026-01-01 12:00:00 UTC"))
    #expect(html.contains("<dt>upstream<dd>https://example.org/api?a=1&amp;b=2\n"))
    #expect(
      html.contains("<tr><td>character<td>1,826<td>42<td>by count<td><td>\n<tr><td>location<td>0<td>1<td><td><td>3\n"))
    #expect(
      html.contains(
        "<li><time>2026-01-01 11:59:00 UTC</time>sync 17 published in 1.1 s: 42 pages, 1826 records; 43 requests\n"))
    #expect(!html.contains("{{") && !html.contains("}}"))
  }

  @Test("Text from upstream is text in the page, whatever it looks like")
  func hostile() {
    let text = #"</p><script src="//evil">alert('1')</script>{{syncs}} \#u{202E}&"#
    var sync = SyncRecord(id: 1, startedAt: "<b>", outcome: .failed)
    sync.error = text
    let html = html(status(.degraded, reason: text), syncs: [sync])
    let escaped =
      "&lt;/p&gt;&lt;script src=&quot;//evil&quot;&gt;alert(&#39;1&#39;)&lt;/script&gt;{{syncs}} \u{FFFD}&amp;"
    #expect(html.contains("<p id=\"sentence\">\(escaped)</p>"))
    #expect(html.contains("<time>&lt;b&gt; UTC</time>sync 1 failed: \(escaped)"))
    #expect(html.components(separatedBy: "<script").count == 2)
  }

  @Test("The page reports syncs that cannot be read, and shows the rest")
  func unreadable() {
    let html = html(status(), syncs: nil)
    #expect(html.contains("<li>They cannot be read now.") && html.contains("no sync has published yet"))
  }

  @Test("The page's HTML, style, script and icon exist and take less than 42 KB together")
  func size() {
    let files = PageAsset.allCases.map(\.bytes) + [[UInt8](asset_page_html())]
    #expect(files.allSatisfy { $0.count > 100 })
    #expect(files.reduce(0) { $0 + $1.count } < 42_000)
  }

  @Test("The page's files name no other host, and have neither inline script nor inline style")
  func selfContained() {
    let texts = PageAsset.allCases.map { String(decoding: $0.bytes, as: UTF8.self) } + [html(status())]
    for text in texts {
      let addresses = text.components(separatedBy: "://").dropLast().map { $0.suffix(5) }
      #expect(addresses.allSatisfy { $0 == "=http" || $0 == "\"http" || $0 == "https" }, "\(addresses)")
    }
    let html = html(status())
    for bad in ["style=", "<style", " onload", " onclick", "javascript:", "<script>"] {
      #expect(!html.contains(bad), "\(bad)")
    }
  }
}
