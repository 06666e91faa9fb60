import FoundationEssentials
import Glibc
import Logging
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterCore
@testable import RosterSystemd

@Suite struct LogSettingsTests {
  @Test("A level that a reload changes applies at once to every copy of the logger")
  func level() {
    let log = Recorded()
    let settings = LogSettings(level: .info)
    let logger = Logger(label: "test") { _ in RecordHandler(settings: settings, write: { log.add($0) }) }
    var copy = logger
    copy[metadataKey: "sync"] = "17"
    copy.debug("1")
    settings.level = .debug
    copy.debug("2")
    logger.debug("3", metadata: ["page": "4"])
    settings.level = .error
    logger.warning("5")
    #expect(log.tails == ["2  sync=17", "3  page=4"])
  }

  @Test("48: rosterLog writes whole lines to stderr, in the configured format")
  func stderr() async {
    await #expect(processExitsWith: .success) {
      try await withFolder { folder in
        let path = folder + "/stderr"
        let saved = dup(STDERR_FILENO)
        let file = open(path, O_WRONLY | O_CREAT, 0o600)
        dup2(file, STDERR_FILENO)
        let settings = LogSettings(level: .info, format: .text)
        let log = rosterLog(settings)
        log.info("first", metadata: ["sync": "1"])
        settings.format = .json
        log.error("second")
        settings.format = .text
        log.debug("unseen")
        dup2(saved, STDERR_FILENO)
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(
          separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3 && lines.last == "")
        #expect(lines[0].hasSuffix("Z info  first  sync=1"))
        #expect(lines[1].hasSuffix(#","level":"error","message":"second"}"#))
      }
    }
  }
}

private final class Recorded: Sendable {
  private let lines = Mutex<[String]>([])

  func add(_ record: LogRecord) {
    lines.withLock { $0.append(record.text) }
  }

  /// The lines without time and level.
  var tails: [String] {
    lines.withLock { $0.map { String($0.dropFirst("2026-11-21T04:15:06.123Z debug ".count)) } }
  }
}
