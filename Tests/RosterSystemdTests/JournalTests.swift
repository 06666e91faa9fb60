import FoundationEssentials
import Glibc
import Logging
import RosterTestSupport
import Testing

@testable import RosterCore
@testable import RosterSystemd

/// Gives this thread its own mounts by unshare(2), which the Glibc module hides behind _GNU_SOURCE.
private func enterOwnFileSystem() throws {
  let symbol = try #require(dlsym(nil, "unshare"))
  let unshare = unsafeBitCast(symbol, to: (@convention(c) (CInt) -> CInt).self)
  let cloneNewNamespace: CInt = 0x20000
  try #require(unshare(cloneNewNamespace) == 0)
  try #require(mount("none", "/", nil, UInt(MS_REC | MS_PRIVATE), nil) == 0)
}

@Suite struct JournalTests {
  private let workspace = Workspace()
  private var path: String { workspace.path("journal") }

  @Test(
    "48: metadata become the documented fields, and others fields in capitals",
    arguments: [
      ("sync", "SYNC_ID"), ("page", "PAGE"), ("status", "STATUS_CODE"), ("attempt", "ATTEMPT"),
      ("delay-seconds", "DELAY_SECONDS"),
      ("_trusted", "TRUSTED"), ("9lives", "LIVES"), ("é", "METADATA_"), ("message", "METADATA_MESSAGE"),
    ])
  func fieldNames(key: String, name: String) {
    #expect(Journal.fieldName(key) == name)
  }

  @Test("48: each level has its syslog priority", arguments: zip(Logger.Level.allCases, [7, 7, 6, 5, 4, 3, 2]))
  func priorities(level: Logger.Level, priority: Int) {
    let record = LogRecord(at: Date(), level: level, message: "m", metadata: [("sync", "17")])
    #expect(Journal.fields(record) == ["MESSAGE=m", "PRIORITY=\(priority)", "SYSLOG_IDENTIFIER=rosterd", "SYNC_ID=17"])
  }

  @Test("45: a journal that does not read costs records, not the daemon, and their number is logged")
  func stuck() throws {
    let journal = try DatagramSocket(path: path)
    let writer = Journal(path: path)
    func record(_ message: String) -> LogRecord { LogRecord(at: Date(), level: .info, message: message, metadata: []) }
    // net.unix.max_dgram_qlen is 512 at most where systemd runs.
    for number in 0..<2000 { writer.write(record("\(number)")) }
    var read = 0
    while let datagram = journal.receive() {
      #expect(datagram.hasPrefix("MESSAGE=\(read)\n"))
      read += 1
    }
    #expect((1..<2000).contains(read))
    writer.write(record("after"))
    let told = try #require(journal.receive())
    #expect(told.contains("PRIORITY=4\n") && told.contains("LOST=\(2000 - read)\n"))
    #expect(journal.receive()?.hasPrefix("MESSAGE=after\n") == true)
  }

  @Test("48: a record that is too long for a datagram keeps its beginning")
  func tooLong() throws {
    let journal = try DatagramSocket(path: path)
    let message = String(repeating: "x", count: 1 << 20)
    Journal(path: path).write(LogRecord(at: Date(), level: .error, message: message, metadata: [("sync", "17")]))
    let datagram = try #require(journal.receive())
    #expect(datagram.hasPrefix("MESSAGE=xxxx") && datagram.hasSuffix("\nSYNC_ID=17\n"))
  }

  @Test("45: a journal that is missing or restarts stops nothing")
  func restarted() throws {
    let writer = Journal(path: path)
    let record = LogRecord(at: Date(), level: .info, message: "m", metadata: [])
    writer.write(record)
    let journal = try DatagramSocket(path: path)
    writer.write(record)
    #expect(journal.receive()?.contains("LOST=1\n") == true)
    #expect(journal.receive()?.hasPrefix("MESSAGE=m\n") == true)
  }

  /// There is one path for the journal, so this needs a file system of its own, and root for that.
  @Test("48: the journal gets one datagram with every field, each on one line", .enabled(if: geteuid() == 0))
  func datagram() async {
    await #expect(processExitsWith: .success) {
      try enterOwnFileSystem()
      try #require(mount("tmpfs", "/run", "tmpfs", 0, nil) == 0)
      mkdir("/run/systemd", 0o755)
      mkdir("/run/systemd/journal", 0o755)
      let journal = try DatagramSocket(path: "/run/systemd/journal/socket")
      rosterLog(LogSettings(level: .info, format: .journald)).error("two\nlines", metadata: ["page": "17"])
      let datagram = try #require(journal.receive())
      for field in [#"MESSAGE=two\nlines"# + "\n", "PRIORITY=3\n", "SYSLOG_IDENTIFIER=rosterd\n", "PAGE=17\n"] {
        #expect(datagram.contains(field))
      }
    }
  }
}
