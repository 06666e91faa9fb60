import ArgumentParser
import FoundationEssentials

/// The program of `make bench`.
@main struct RosterBenchmarks: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "RosterBenchmarks", abstract: "Times syncs.", subcommands: [Parts.self, Growth.self, Children.self],
    defaultSubcommand: Parts.self)
}

/// The cost of a page in each part of a sync, compared with a stored base.
///
/// The cost is the CPU time of all threads, so that other programs on the machine hardly matter, and the minimum of
/// several rounds. Its unit is one step of a loop that is timed in the same round, because machines differ in speed.
struct Parts: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Times the parts of a sync and compares them with a base.")

  @Argument(help: "The base: JSON, the steps a page of each part.") var base: String
  @Flag(help: "Make what is measured the new base.") var write = false
  @Option(help: "How often each part is timed; the least counts.") var rounds = 5

  func run() async throws {
    let report = try await Self.measure(rounds: rounds)
    if write { return try report.write(to: base) }
    let known = try JSONDecoder().decode([String: Double].self, from: Data(contentsOf: URL(filePath: base)))
    print(report.table(beside: known))
    let faults = report.faults(beside: known)
    for fault in faults { print(fault) }
    if !faults.isEmpty { throw ExitCode.failure }
  }

  private static func measure(rounds: Int) async throws -> Report {
    let list = try await List.fetched(pages: List.usual)
    var report = Report()
    for _ in 0..<max(rounds, 1) {
      report.note(await Calibration.nanosecondsPerStep())
      for (name, cost) in try await timed(list) { report.note(name, cost) }
    }
    return report
  }

  /// Each part once, in nanoseconds a page.
  private static func timed(_ list: List) async throws -> [(String, Double)] {
    let cache = try await CacheParts.timed(list)
    let sync = try await WholeSync.timed(pages: list.bodies.count)
    return [
      ("decode", try await decode(list)), (Report.append, cache.append), (Report.publishFirst, cache.publishFirst),
      (Report.two, try await CacheParts.timedAsTwo(list)), ("publish, one page changed", cache.publishChanged),
      ("sync, first", sync.first), ("sync, unchanged", sync.again),
    ]
  }

  private static func decode(_ list: List) async throws -> Double {
    try await CPUTime.spent { for body in list.bodies { _ = try list.scan(body) } } / Double(list.bodies.count)
  }
}
