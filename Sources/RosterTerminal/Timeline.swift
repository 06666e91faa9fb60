package import RosterCore

/// The history of the token in one sync: the refused requests, the refresh, the requests that waited for it, and the
/// resent ones. Related events are grouped, so that 42 pages fit on a screen.
package struct Timeline: Sendable {
  /// The kinds of lines.
  private enum Kind: Hashable {
    case started, first, fetched, refused, refreshing, joined, refreshed, failed, late, again, retried, ended
    /// Lists of a child resource with this name.
    case children(String)
  }

  /// A page of one of the lists that the sync pulls.
  private struct Page: Hashable {
    /// nil if the event names no resource.
    var resource: String?
    var number: Int

    /// nil if the event is not about a page.
    init?(_ event: Event) {
      guard let page = event.page else { return nil }
      (resource, number) = (event.resource, page)
    }
  }

  private struct Entry {
    var kind: Kind
    var at: Double
    var pages: [Page] = []
    var event: Event
  }

  /// Maximum number of lines; a demo has fewer. A longer history is shown without its middle part.
  private static let most = 16

  private let entries: [Entry]
  private let parents: [String: String]
  /// The resources of the pages, in the order in which they occurred.
  private let resources: [String]

  /// - Parameters:
  ///   - events: each with its seconds since the start, in chronological order.
  ///   - parents: the parents of child resources, by the names of these.
  package init(_ events: [(Double, Event)], parents: [String: String] = [:]) {
    var story = Story(children: Set(parents.keys))
    for (at, event) in events { story.tell(at, event: event) }
    entries = story.entries
    self.parents = parents
    resources = events.compactMap(\.1.resource).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// One line for each entry, each with its end.
  package func text(colour: Bool = false) -> String {
    lines.map { $0.text(colour) + "\n" }.joined()
  }

  private var lines: [Line] {
    let lines = entries.map { Line($0, pages: pages(of: $0), parents: parents) }
    guard lines.count > Self.most else { return lines }
    let kept = Self.most - 1
    let (head, tail) = (kept * 2 / 3, kept - kept * 2 / 3)
    return lines.prefix(head) + [Line(leftOut: lines.count - kept)] + lines.suffix(tail)
  }
}

// MARK: Grouping

extension Timeline {
  /// Groups events of one kind. A refresh and its end close all groups before them.
  private struct Story {
    private let children: Set<String>
    var entries: [Entry] = []
    /// Entries before this index are closed.
    private var chapter = 0
    /// Pages that were refused or waited since the last refresh, and were not fetched yet.
    private var resent: Set<Page> = []

    init(children: Set<String>) { self.children = children }

    mutating func tell(_ at: Double, event: Event) {
      switch event.name {
      case .syncStarted: begin(.started, at: at, event: event)
      case .pageFetched: fetched(at, event: event)
      case .tokenRefused:
        if let page = Page(event) { resent.insert(page) }
        gather(event.reason == "late" ? .late : .refused, at: at, event: event)
      case .tokenJoined: gather(.joined, at: at, event: event)
      case .tokenRefreshing: gather(.refreshing, at: at, event: event)
      case .tokenRefreshed: begin(.refreshed, at: at, event: event)
      case .tokenFailed: begin(.failed, at: at, event: event)
      case .pageRetried: gather(.retried, at: at, event: event)
      case .syncPublished, .syncUnchanged, .syncTried, .syncFailed, .syncCancelled: begin(.ended, at: at, event: event)
      case .validatorsDistrusted, .listReset, .listFailed, .listVanished, .configReloaded, .configRefused,
        .daemonStopping, .eventsLost:
        return
      }
    }

    private mutating func fetched(_ at: Double, event: Event) {
      guard let page = Page(event) else { return }
      if entries.allSatisfy({ $0.kind == .started }) { return begin(.first, at: at, event: event) }
      if let name = page.resource, children.contains(name) { return gather(.children(name), at: at, event: event) }
      gather(resent.remove(page) == nil ? .fetched : .again, at: at, event: event)
    }

    private mutating func begin(_ kind: Kind, at: Double, event: Event) {
      entries.append(Entry(kind: kind, at: at, pages: Page(event).map { [$0] } ?? [], event: event))
      chapter = entries.count
    }

    private mutating func gather(_ kind: Kind, at: Double, event: Event) {
      if let index = entries.indices.dropFirst(chapter).first(where: { entries[$0].kind == kind }) {
        if let page = Page(event) { entries[index].pages.append(page) }
      } else {
        entries.append(Entry(kind: kind, at: at, pages: Page(event).map { [$0] } ?? [], event: event))
      }
    }
  }
}

// MARK: Lines

extension Timeline {
  private struct Line {
    private var time: String
    private var mark: String
    private var tone: Tone
    private var words: String

    init(leftOut count: Int) {
      (time, mark, tone, words) = ("", "⋮", .faint, "\(count.counted(as: "line")) like these left out")
    }

    /// - Parameters:
    ///   - pages: the entry's pages in words.
    ///   - parents: the parents of child resources.
    init(_ entry: Entry, pages: String, parents: [String: String]) {
      time = Self.time(entry.at)
      (mark, tone, words) = Self.telling(entry, pages: pages, parents: parents)
      words = words.printable
    }

    func text(_ colour: Bool) -> String {
      time.padded(left: Self.times).toned(.faint, colour: colour) + "  " + mark.toned(tone, colour: colour) + "  "
        + words.toned(tone == .faint ? .plain : tone, colour: colour)
    }

    /// Width of `99999.9 ms`.
    private static let times = 10

    private static func time(_ seconds: Double) -> String {
      let tenths = Int((seconds * 10_000).rounded())
      return "\(tenths / 10).\(tenths % 10) ms"
    }

    private static func telling(
      _ entry: Entry, pages: String, parents: [String: String]
    ) -> (String, Tone, String) {
      let several = Set(entry.pages).count > 1
      switch entry.kind {
      case .started: return ("┬", .faint, "sync \(entry.event.sync ?? 0) starts")
      case .first: return ("│", .faint, "\(pages) arrives" + (entry.event.pagesTotal.map { ": \($0) in all" } ?? ""))
      case .fetched: return ("│", .faint, "\(pages) \(several ? "arrive" : "arrives")")
      case .children(let name):
        let lists = "\(entry.pages.count.counted(as: "page")) of \(name), a list for each \(parents[name] ?? "")"
        return ("│", .faint, "\(lists), \(entry.pages.count > 1 ? "arrive" : "arrives")")
      case .refused: return ("✗", .bad, "\(pages) refused (401): the token is no longer good")
      case .refreshing: return ("◆", .busy, refreshing(entry, pages: pages))
      case .joined: return ("┊", .busy, "\(pages) \(several ? "wait" : "waits") for that same refresh")
      case .refreshed: return ("◆", .good, "a new token, stored before anyone uses it")
      case .failed: return ("✗", .bad, "the refresh failed" + (entry.event.error.map { ": \($0)" } ?? ""))
      case .late:
        return ("↺", .busy, "\(pages) refused late, with the old token: sent again, no refresh needed")
      case .again: return ("│", .good, "\(pages) sent again with the new token, \(several ? "arrive" : "arrives")")
      case .retried:
        return ("↺", .busy, "\(pages) tried again" + (entry.event.reason.map { " (\($0))" } ?? ""))
      case .ended: return ended(entry.event)
      }
    }

    private static func refreshing(_ entry: Entry, pages: String) -> String {
      let who = entry.pages.isEmpty ? "the daemon" : pages
      let why = entry.event.reason == "expired" ? " before the old one expires" : ""
      return "\(who) asks for a new token\(why), for all"
    }

    private static func ended(_ event: Event) -> (String, Tone, String) {
      let outcome = event.name.rawValue.split(separator: ".").last.map(String.init) ?? ""
      guard let report = event.report else {
        return ("┴", event.name == .syncFailed ? .bad : .faint, outcome + (event.error.map { ": \($0)" } ?? ""))
      }
      return ("┴", report.outcome == .failed ? .bad : .good, SyncText.line(report))
    }
  }

  /// `pages 2–6`; with several lists, `pages 2–6 of character, 1 of location`.
  private func pages(of entry: Entry) -> String {
    func numbers(_ resource: String) -> String {
      HumanFormat.ranges(entry.pages.filter { $0.resource == resource }.map(\.number))
    }
    let told = resources.count > 1 ? resources.filter { name in entry.pages.contains { $0.resource == name } } : []
    let list =
      told.isEmpty
      ? HumanFormat.ranges(entry.pages.map(\.number)) : told.map { "\(numbers($0)) of \($0)" }.joined(separator: ", ")
    return (Set(entry.pages).count == 1 ? "page " : "pages ") + list
  }
}
