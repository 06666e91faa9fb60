import ArgumentParser
import RosterCache
import RosterCore

/// Compares the CPU time of a list with one page of a child with that of a page of a plain list. A ratio does not
/// depend on the machine.
struct Children: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Times lists of children beside pages of a plain list. Fails where a list costs too much.")

  @Option(help: "Number of pages, and of lists of one page.") var lists = 1_000
  @Option(help: "How often each is timed; the least counts.") var rounds = 3

  func run() async throws {
    let unknown = ChildCost.Pair(first: .infinity, again: .infinity)
    var (plain, parents, family) = (unknown, unknown, unknown)
    for _ in 0..<max(rounds, 1) {
      plain.lower(to: try await ChildCost.plain(pages: lists))
      parents.lower(to: try await ChildCost.parents(lists))
      family.lower(to: try await ChildCost.family(lists))
    }
    let list = ChildCost.Pair(first: family.first - parents.first, again: family.again - parents.again)
    print("\("".padded(to: 28))µs a page  µs a list   ratio")
    let faults = [
      fault("first pull", page: plain.first, list: list.first, limit: ChildCost.limits.first),
      fault("pulled again, unchanged", page: plain.again, list: list.again, limit: ChildCost.limits.again),
    ].compactMap(\.self)
    for line in faults { print(line) }
    if !faults.isEmpty { throw ExitCode.failure }
  }

  /// Prints a line. Returns a sentence if the list costs too much.
  private func fault(_ name: String, page: Double, list: Double, limit: Double) -> String? {
    let ratio = list / page
    let columns = [(page / Double(lists) / 1000, 9), (list / Double(lists) / 1000, 11), (ratio, 8)]
    print(name.padded(to: 28) + columns.map { Report.text($0.0).padded(to: $0.1, before: true) }.joined())
    return ratio > limit ? "\(name): a list costs \(Report.text(ratio)) times a page, more than \(limit)" : nil
  }
}

/// The same records on the pages of one list, and on lists of one page each.
private enum ChildCost {
  /// Nanoseconds of CPU time of a first pull, and of another one that changes nothing.
  struct Pair {
    var first: Double
    var again: Double

    mutating func lower(to other: Pair) { self = Pair(first: min(first, other.first), again: min(again, other.again)) }
  }

  /// Maximum ratios of a list to a page. In a debug build they were 1.6 to 2.1, and 6.3 to 7.2. An unchanged page is
  /// cheap, but each list has about twenty statements of its own.
  static let limits = Pair(first: 3, again: 10)

  static func plain(pages: Int) async throws -> Pair { try await timed([part(path: "/parts")], count: pages) }

  static func parents(_ count: Int) async throws -> Pair { try await timed([thing], count: count) }

  static func family(_ count: Int) async throws -> Pair {
    var part = part(path: "/things/{thing.id}/parts")
    part.each = Each(of: thing.name)
    return try await timed([thing, part], count: count)
  }

  private static let thing = resource("thing", path: "/things", key: "id", .integer)

  /// Its key is a text, because a child has record ids of rosterd's own, too.
  private static func part(path: String) -> Resource { resource("part", path: path, key: "code", .text) }

  private static func resource(_ name: String, path: String, key: String, _ type: Resource.ColumnType) -> Resource {
    let (key, title) = (JSONPointer(segments: [key]), JSONPointer(segments: ["title"]))
    func info(_ name: String) -> Resource.AnswerPlace { .body(JSONPointer(segments: ["info", name])) }
    return Resource(
      name: name, path: path, records: JSONPointer(segments: ["results"]), key: key,
      pages: Resource.Pages(.number(last: info("pages")), count: info("count")),
      columns: [Resource.Column("id", at: key, type), Resource.Column("title", at: title)])
  }

  private static func timed(_ resources: [Resource], count: Int) async throws -> Pair {
    let upstream = FamilyUpstream(count: count)
    return try await Folder.with { folder in
      let cache = try await folder.cache(resources)
      let sync = BenchSync(
        resources: resources, baseURL: FamilyUpstream.baseURL, send: upstream.send, cache: cache, folder: folder)
      let first = try await CPUTime.spent { try await sync.run(expecting: .published) }
      let again = try await CPUTime.spent { try await sync.run(expecting: .unchanged) }
      await cache.close()
      return Pair(first: first, again: again)
    }
  }
}

/// An upstream without a network: things, twenty on each page, and twenty parts of each thing. `/parts` has as many
/// pages as there are things.
private struct FamilyUpstream: Sendable {
  static let baseURL = "http://bench.test"
  private static let perPage = 20

  let count: Int

  @Sendable func send(_ request: Request) async throws -> Response {
    let target = request.url.dropFirst(Self.baseURL.count)
    let path = target.prefix { $0 != "?" }.split(separator: "/")
    let page = target.split(separator: "=").last.flatMap { Int($0) } ?? 1
    switch path {
    case ["parts"]: return answer(ids(page, in: count * Self.perPage), pages: count, count: count * Self.perPage)
    case ["things"]:
      return answer(ids(page, in: count), pages: (count + Self.perPage - 1) / Self.perPage, count: count)
    default: return answer(ids(Int(path[1]) ?? 1, in: .max), pages: 1, count: Self.perPage)
    }
  }

  private func ids(_ page: Int, in total: Int) -> ClosedRange<Int> {
    (page - 1) * Self.perPage + 1...min(page * Self.perPage, total)
  }

  private func answer(_ ids: ClosedRange<Int>, pages: Int, count: Int) -> Response {
    let records = ids.map { #"{"id":\#($0),"code":"c\#($0)","title":"The title of part \#($0)"}"# }
    let info = #"{"count":\#(count),"pages":\#(pages)}"#
    return Response(
      status: 200, body: Array(#"{"info":\#(info),"results":[\#(records.joined(separator: ","))]}"#.utf8))
  }
}
