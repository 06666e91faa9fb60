import FoundationEssentials
import Testing

/// `rosterctl web` with a real daemon and a script as its browser. Tests/page drives a real browser.
@Suite struct WebTests {
  /// The browser for `--open`: it requests the given address, and ends rosterctl, its parent.
  private static let browser = """
    #!/bin/sh
    stat -c '%a %F' "$1" > mode
    address=$(sed -n 's/.*url=\\([^"]*\\)".*/\\1/p' "$1")
    origin=${address%/*}
    ask() {
      code=$(curl -s -m 20 -c jar -b jar -o body -w '%{http_code}' "$@")
      printf '%s %s\\n' "$code" "$(head -c 40 body | head -n 1)"
    }
    {
      ask "$address"
      cp body entrance
      ask "$address"
      folder=$(sed -n 's/.*url=\\([^"]*\\).*/\\1/p' entrance)
      ask "$origin$folder"
      ask "$origin${folder}v1/syncs?limit=1"
      ask "$origin${folder}page.js"
      ask -H 'Host: evil.example' "$origin/"
      ask -d '{}' "$origin/v1/sync"
      ask "$origin${folder}v1/sync"
      ask "$origin/v1/status"
      printf 'GET / HTTP/1.1\\r\\n Host: a\\r\\n\\r\\n' | curl -s -m 20 "telnet://${origin#http://}" | head -n 1
    } > answers
    tr '\\0' ' ' < /proc/$PPID/cmdline > lines
    tr '\\0' ' ' < /proc/$$/cmdline >> lines
    ls -d "$1" >> left 2> /dev/null
    kill -INT $PPID
    """

  @Test(
    "46: the printed address sets its cookie and works once; everything else is refused",
    .timeLimit(.minutes(2)))
  func answers() async throws {
    _ = try Program.tool("curl")
    try await withDaemon { site, _, _ in
      let script = site.folder + "/xdg-open"
      // The browser uses that folder.
      let browser = Self.browser.replacing("stat ", with: "cd '\(site.folder)' || exit\nstat ", maxReplacements: 1)
      try Data(browser.utf8).write(to: URL(filePath: script))
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
      let outcome = try await Program.run(
        try Program.built("rosterctl"), arguments: ["web", "--open", "--socket", site.socket],
        environment: ["PATH": site.folder + ":/usr/bin:/bin", "TMPDIR": site.folder])
      #expect(outcome.exit == 0 && outcome.error.isEmpty, "\(outcome.error)")
      let address = try #require(outcome.output.wholeMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\/\?token=[0-9a-f]{32}\n/))
      func file(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: "\(site.folder)/\(name)") ?? Data(), as: UTF8.self)
      }
      let answers = file("answers")
      // The browser gets a file of this user's, no command line has the address, and the file goes with it.
      #expect(file("mode") == "600 regular file\n" && file("left").isEmpty)
      #expect(file("lines").contains(".html") && !file("lines").contains("token="))
      let refused = "the token is missing, wrong or used: open the address that rosterctl web prints now"
      #expect(
        answers.split(separator: "\n").map { $0.prefix(14) }
          == [
            "200 <!doctype html>", "403 \(refused)", "200 <!doctype html>", "200 {\"syncs\":[{",
            "200 // Shows /v1",
            "403 this is at 127.0.0.1:\(address.1) only, not at another name",
            "405 rosterctl web only reads: it takes GET and HEAD", "404 nothing is at /v1/sync",
            "403 \(refused)", "HTTP/1.1 400 Bad Request",
          ].map { $0.prefix(14) })
    }
  }

  @Test("rosterctl web is 3 without a daemon, and 64 with a port out of range")
  func refused() async throws {
    let program = try Program.built("rosterctl")
    let alone = try await Program.run(program, arguments: ["web", "--socket", "/nowhere/status.sock"])
    #expect(alone.exit == 3 && alone.output.isEmpty && alone.error.contains("no daemon answers"))
    #expect(try await Program.run(program, arguments: ["web", "--port", "65536"]).exit == 64)
  }
}
