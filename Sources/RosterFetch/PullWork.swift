import RosterModel

/// What a child of the pull's task group ends with.
enum PullStep: Sendable {
  case pulled(PulledPage)
  case kept(HeldPage, resumed: Bool)
  case drifted(String)
  case staged
  case failed(any Error, whileStaging: Bool)
}

extension PullStep {
  /// A page's work: an error is a step too, so that what was received before it is still staged.
  init(page work: () async throws -> PullStep) async {
    do { self = try await work() } catch { self = .failed(error, whileStaging: false) }
  }

  init(staging work: () async throws -> Void) async {
    do {
      try await work()
      self = .staged
    } catch { self = .failed(error, whileStaging: true) }
  }
}

/// Decides what a pull does next: which page to ask for, when to stage, when to stop. Pure.
struct PullWork {
  /// Pages whose held state is looked up in one go: a hop to the database costs as much as half a page.
  static let window = 256
  /// Pages that may wait for the stage before no more are asked for: what bounds the memory of a pull.
  static let backlog = 64

  private let last: Int
  private var next = 2
  private var inFlight = 0
  private var waiting: [PulledPage] = []
  private var isStaging = false
  private var failure: (any Error)?
  private var drift: String?

  init(last: Int) {
    self.last = last
  }

  /// nil: none now.
  mutating func nextPage(concurrency: Int) -> Int? {
    guard !isStopping, next <= last, inFlight < concurrency, waiting.count < Self.backlog else { return nil }
    defer { next += 1 }
    inFlight += 1
    return next
  }

  func isWindowStart(_ number: Int) -> Bool { (number - 2) % Self.window == 0 }

  /// One batch at a time, of whatever came while the one before was written: small where pages are slow, large where they are fast.
  mutating func nextBatch() -> [PulledPage]? {
    guard !isStaging, !waiting.isEmpty, drift == nil else { return nil }
    isStaging = true
    defer { waiting = [] }
    return waiting
  }

  mutating func received(_ page: PulledPage) {
    inFlight -= 1
    waiting.append(page)
  }

  mutating func settled() { inFlight -= 1 }

  mutating func staged() { isStaging = false }

  /// These return true where the rest is to be called back.
  mutating func drifted(_ why: String) -> Bool {
    drift = drift ?? why
    return true
  }

  mutating func failed(_ error: any Error, whileStaging: Bool) -> Bool {
    if whileStaging { isStaging = false } else { inFlight -= 1 }
    // The first failure is the cause; what follows is called back because of it.
    if !isStopping { failure = error }
    if whileStaging { waiting = [] }
    return true
  }

  func outcome() throws -> Pull.Outcome {
    if let failure { throw failure }
    return drift.map { .drifted($0) } ?? .complete
  }

  private var isStopping: Bool { failure != nil || drift != nil }
}
