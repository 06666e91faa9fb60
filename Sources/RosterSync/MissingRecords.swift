import FoundationEssentials
import RosterCache
import RosterDecode
import RosterFetch
import RosterModel

/// Asks upstream for each record that no page lists any more (P8): absent is not deleted.
struct MissingRecords: Sendable {
  /// Looked up, asked for and kept in one go.
  private static let window = 1_000

  let plan: RecordPlan
  let requests: KeyRequests
  let cache: Cache
  let fetcher: PageFetcher
  let concurrency: Int
  let clock: WallClock
  let errand: PageFetcher.Errand

  /// What upstream still has is kept for the publication. Returns how many records cannot be stored. Throws where one
  /// of them could not be asked for: when the others were, unless it seems to be so with them too.
  func ask() async throws -> Int {
    var last: Int64 = 0
    var asked = Asked()
    while case let missing = try await cache.missing(plan.resource.name, after: last, limit: Self.window),
      let highest = missing.last
    {
      last = highest.id
      try await ask(requests.requests(for: missing.map(\.key.text)), &asked)
    }
    if let failure = asked.failure { throw failure }
    return asked.rejected
  }

  private struct Asked {
    /// More are not asked for: upstream seems to know no such requests.
    static let mostFailures = 8

    var rejected = 0
    /// The first of those that concern one request each.
    private(set) var failure: Failure?
    private var failures = 0

    mutating func failed(_ failure: Failure) throws(Failure) {
      self.failure = self.failure ?? failure
      failures += 1
      if failures == Self.mostFailures { throw failure }
    }
  }

  private func ask(_ askings: [KeyRequests.Asking], _ asked: inout Asked) async throws {
    var waiting: [KeyRequests.Asking] = []
    let now = clock.now()
    for asking in askings {
      let kept = try await cache.takeOver(
        plan.resource.name, answer: asking.request.url,
        receivedIn: now.addingTimeInterval(-Pull.takeOver.seconds)..<now.addingTimeInterval(1))
      if let kept { asked.rejected += kept } else { waiting.append(asking) }
    }
    try await fetchAll(waiting, &asked)
  }

  private func fetchAll(_ askings: [KeyRequests.Asking], _ asked: inout Asked) async throws {
    try await withThrowingTaskGroup(of: Result<FetchedRecords, Failure>.self) { group in
      var waiting = askings[...]
      for asking in waiting.prefix(concurrency) { group.addTask { try await fetch(asking) } }
      waiting = waiting.dropFirst(concurrency)
      while let answer = try await group.next() {
        if let asking = waiting.popFirst() { group.addTask { try await fetch(asking) } }
        do {
          let answer = try answer.get()
          try await keep(answer)
          asked.rejected += answer.scan.rejects
        } catch let failure as Failure where failure.kind == .badAnswer {
          try asked.failed(failure)
        }
      }
    }
  }

  /// An answer that is of no use is told of its own request; upstream that is away, or refuses, ends all (throws).
  private func fetch(_ asking: KeyRequests.Asking) async throws -> Result<FetchedRecords, Failure> {
    do { return .success(try await fetcher.fetch(asking, plan: plan, for: errand)) } catch let failure as Failure
      where failure.kind == .badAnswer
    { return .failure(failure) }
  }

  private func keep(_ answer: FetchedRecords) async throws {
    // P9: it may be any of them.
    guard answer.scan.rejectsOfUnknownKey == 0 else {
      throw Failure(
        .badAnswer, step: "ask for records of \(plan.resource.name)", subject: answer.url,
        cause: "upstream's answer holds a record that does not say whose it is",
        hint: "ask that address by hand, and tell who runs upstream")
    }
    try await cache.keep([
      ReceivedPage(
        resource: plan.resource.name, number: 0, address: answer.url, receivedAt: clock.now(), body: answer.body,
        digest: answer.digest, scan: answer.scan)
    ])
  }
}

extension MissingRecord.Key {
  var text: String {
    switch self {
    case .integer(let number): "\(number)"
    case .text(let text): text
    }
  }
}
