import Testing

@testable import RosterCore

struct OpenFilesTests {
  @Test(
    "The soft limit of open files becomes 1024, or the hard limit if that is lower, and is never lowered",
    arguments: [(24, 20_000, 1024), (24, 64, 64), (1024, 4096, 1024), (4096, 4096, 4096), (64, UInt.max, 1024)])
  func raised(soft: UInt, hard: UInt, result: UInt) throws {
    #expect(try OpenFiles(soft: soft, hard: hard).raised() == OpenFiles(soft: result, hard: hard))
  }

  @Test(
    "A hard limit of open files below 32 is 73, with a message that says what to raise", arguments: [0, 24, 31])
  func tooLow(hard: UInt) {
    let failure = #expect(throws: Failure.self) { try OpenFiles(soft: hard, hard: hard).raised() }
    #expect(failure?.kind == .cannotWrite && failure?.subject == "RLIMIT_NOFILE")
    #expect(failure?.cause == "the hard limit is \(hard), and rosterd needs at least 32")
    #expect(failure?.hint == "raise it with ulimit -n, or with LimitNOFILE= in the unit")
  }
}
