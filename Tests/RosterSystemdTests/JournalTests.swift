import FoundationEssentials
import Glibc
import Logging
import Testing

@testable import RosterSystemd

/// unshare(2), which Glibc's module hides behind _GNU_SOURCE; the mounts of this thread are then its own.
private func enterOwnFileSystem() throws {
  let symbol = try #require(dlsym(nil, "unshare"))
  let unshare = unsafeBitCast(symbol, to: (@convention(c) (CInt) -> CInt).self)
  let cloneNewNamespace: CInt = 0x20000
  try #require(unshare(cloneNewNamespace) == 0)
  try #require(mount("none", "/", nil, UInt(MS_REC | MS_PRIVATE), nil) == 0)
}

@Suite struct JournalTests {
  @Test(
    "S5: metadata become the contract's fields, others capitals",
    arguments: [
      ("sync", "SYNC_ID"), ("page", "PAGE"), ("status", "STATUS_CODE"), ("attempt", "ATTEMPT"),
      ("delay-seconds", "DELAY_SECONDS"),
      ("_trusted", "TRUSTED"), ("9lives", "LIVES"), ("é", "METADATA_"), ("message", "METADATA_MESSAGE"),
    ])
  func fieldNames(key: String, name: String) {
    #expect(Journal.fieldName(key) == name)
  }

  @Test("S5: each level has its syslog priority", arguments: zip(Logger.Level.allCases, [7, 7, 6, 5, 4, 3, 2]))
  func priorities(level: Logger.Level, priority: Int) {
    let record = LogRecord(at: Date(), level: level, message: "m", metadata: [("sync", "17")])
    #expect(Journal.fields(record) == ["MESSAGE=m", "PRIORITY=\(priority)", "SYSLOG_IDENTIFIER=rosterd", "SYNC_ID=17"])
  }

  /// libsystemd knows one path for the journal, so this needs a file system of its own, and root for that.
  @Test("S5: the journal gets one datagram with every field, line breaks included", .enabled(if: geteuid() == 0))
  func datagram() async {
    await #expect(processExitsWith: .success) {
      try enterOwnFileSystem()
      try #require(mount("tmpfs", "/run", "tmpfs", 0, nil) == 0)
      mkdir("/run/systemd", 0o755)
      mkdir("/run/systemd/journal", 0o755)
      let journal = try DatagramSocket(path: "/run/systemd/journal/socket")
      rosterLog(LogSettings(level: .info, format: .journald)).error("two\nlines", metadata: ["page": "17"])
      let datagram = try #require(journal.receive())
      let message = "MESSAGE\n\u{9}\0\0\0\0\0\0\0two\nlines\n"
      #expect(datagram.contains(message))
      for field in ["PRIORITY=3\n", "SYSLOG_IDENTIFIER=rosterd\n", "PAGE=17\n"] { #expect(datagram.contains(field)) }
    }
  }
}
