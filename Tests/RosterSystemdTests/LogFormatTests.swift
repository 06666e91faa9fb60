import Glibc
import Testing

@testable import RosterCore
@testable import RosterSystemd

@Suite struct LogFormatTests {
  @Test("48: auto is the journal if stderr is its stream, otherwise text; without a journal it is text")
  func resolution() {
    var file = stat()
    fstat(STDERR_FILENO, &file)
    let stream = "\(file.st_dev):\(file.st_ino)"
    #expect(LogFormat.auto.resolved(journalStream: stream, journalRuns: true) == .journald)
    #expect(LogFormat.auto.resolved(journalStream: "1:2", journalRuns: true) == .text)
    #expect(LogFormat.auto.resolved(journalStream: nil, journalRuns: true) == .text)
    #expect(LogFormat.journald.resolved(journalStream: nil, journalRuns: true) == .journald)
    #expect(LogFormat.journald.resolved(journalStream: stream, journalRuns: false) == .text)
    #expect(LogFormat.json.resolved(journalStream: stream, journalRuns: true) == .json)
  }
}
