import FoundationEssentials
package import RosterModel

/// Pulls pages, a bounded number at a time, and stages them as they come.
package struct Pull: Sendable {
  package enum Outcome: Sendable, Equatable {
    case complete
    /// The pages do not belong to one state of upstream (P7): what differs.
    case drifted(String)
  }

  /// What page 1 announced; every page that is transferred must say the same.
  package struct Announced: Sendable, Equatable {
    package var count: Int
    package var pages: Int

    package init(count: Int, pages: Int) {
      self.count = count
      self.pages = pages
    }
  }

  /// Where pages come from and go to.
  package struct Ends: Sendable {
    package var held: @Sendable (ClosedRange<Int>) async throws -> [HeldPage]
    package var stage: @Sendable ([PulledPage]) async throws -> Void

    package init(
      held: @escaping @Sendable (ClosedRange<Int>) async throws -> [HeldPage],
      stage: @escaping @Sendable ([PulledPage]) async throws -> Void
    ) {
      self.held = held
      self.stage = stage
    }
  }

  /// A page without a validator that a broken-off sync left is taken over while it is younger (P4).
  package static let takeOver: Duration = .seconds(15 * 60)

  private let fetcher: PageFetcher
  private let ends: Ends
  private let concurrency: @Sendable () -> Int
  private let clock: WallClock
  private let report: Report

  /// - Parameter concurrency: Read anew for each page: a reload may have changed it.
  package init(
    fetcher: PageFetcher, ends: Ends, concurrency: @autoclosure @escaping @Sendable () -> Int, clock: WallClock,
    report: @escaping Report
  ) {
    self.fetcher = fetcher
    self.ends = ends
    self.concurrency = concurrency
    self.clock = clock
    self.report = report
  }

  /// Page 1: always asked for, tells how many there are.
  package func discover(sync: Int64, tally: Tally) async throws -> Announced {
    let held = try await ends.held(1...1).first
    switch try await fetch(1, held: held, sync: sync, tally: tally) {
    case .page(let pulled):
      try await ends.stage([pulled])
      let announced = Announced(count: pulled.page.count, pages: max(1, pulled.page.pages))
      done(pulled.number, characters: pulled.page.characters.count, of: announced.pages, sync: sync, tally: tally)
      return announced
    case .notModified, .vanished:
      // 404 for page 1 is a Failure, and 304 needs a held page.
      let announced = Announced(count: held?.count ?? 0, pages: max(1, held?.pages ?? 1))
      confirmed(held, of: announced.pages, sync: sync, tally: tally)
      return announced
    }
  }

  /// Pages 2 to the last. On the first failure the others are called back, what was received is staged, and the failure is thrown.
  package func run(_ announced: Announced, sync: Int64, tally: Tally) async throws -> Outcome {
    guard announced.pages > 1 else { return .complete }
    var work = PullWork(last: announced.pages)
    var held: [Int: HeldPage] = [:]
    return try await withThrowingTaskGroup(of: PullStep.self) { group in
      while true {
        while let number = work.nextPage(concurrency: concurrency()) {
          do {
            if work.isWindowStart(number) { held = try await window(from: number, to: announced.pages) }
            start(number, held: held[number], announced, in: &group, sync: sync, tally: tally)
          } catch {
            if work.failed(error, whileStaging: false) { group.cancelAll() }
          }
        }
        if let batch = work.nextBatch() { group.addTask { await PullStep(staging: { try await ends.stage(batch) }) } }
        guard let step = try await group.next() else { break }
        if apply(step, to: &work, announced, sync: sync, tally: tally) { group.cancelAll() }
      }
      return try work.outcome()
    }
  }

  private func window(from first: Int, to last: Int) async throws -> [Int: HeldPage] {
    let pages = try await ends.held(first...min(last, first + PullWork.window - 1))
    return Dictionary(pages.map { ($0.number, $0) }, uniquingKeysWith: { $1 })
  }

  private func start(
    _ number: Int, held: HeldPage?, _ announced: Announced, in group: inout ThrowingTaskGroup<PullStep, any Error>,
    sync: Int64,
    tally: Tally
  ) {
    if let held, canTakeOver(held, announced) {
      group.addTask { .kept(held, resumed: true) }
      return
    }
    group.addTask {
      await PullStep(page: {
        switch try await fetch(number, held: held, sync: sync, tally: tally) {
        case .page(let pulled): .pulled(pulled)
        case .vanished: .drifted("page \(number) of \(announced.pages) is not there")
        case .notModified: held.map { .kept($0, resumed: false) } ?? .drifted("page \(number) is unknown")
        }
      })
    }
  }

  private func canTakeOver(_ held: HeldPage, _ announced: Announced) -> Bool {
    !held.isPublished && held.validator.isEmpty && held.count == announced.count && held.pages == announced.pages
      // A page of a time to come was received by a clock that was wrong: nobody knows how old it is.
      && (0..<Self.takeOver.seconds).contains(clock.now().timeIntervalSince(held.receivedAt))
  }

  private func fetch(_ number: Int, held: HeldPage?, sync: Int64, tally: Tally) async throws -> PageFetcher.Answer {
    tally.update { $0.inFlight += 1 }
    defer { tally.update { $0.inFlight -= 1 } }
    return try await fetcher.fetch(page: number, held: held?.validator, sync: sync, tally: tally)
  }

  /// True where the rest is to be called back.
  private func apply(
    _ step: PullStep, to work: inout PullWork, _ announced: Announced, sync: Int64, tally: Tally
  ) -> Bool {
    switch step {
    case .pulled(let pulled):
      work.received(pulled)
      guard Announced(count: pulled.page.count, pages: max(1, pulled.page.pages)) == announced else {
        return work.drifted(
          "page \(pulled.number) tells of \(pulled.page.count) characters on \(pulled.page.pages) pages, page 1 of \(announced.count) on \(announced.pages)"
        )
      }
      done(pulled.number, characters: pulled.page.characters.count, of: announced.pages, sync: sync, tally: tally)
    case .kept(let held, let resumed):
      work.settled()
      if resumed {
        tally.update { $0.resumed += 1 }
        done(held.number, characters: held.characters, of: announced.pages, sync: sync, tally: tally)
      } else {
        confirmed(held, of: announced.pages, sync: sync, tally: tally)
      }
    case .staged: work.staged()
    case .drifted(let why):
      work.settled()
      return work.drifted(why)
    case .failed(let error, let whileStaging): return work.failed(error, whileStaging: whileStaging)
    }
    return false
  }

  private func confirmed(_ held: HeldPage?, of pages: Int, sync: Int64, tally: Tally) {
    guard let held else { return }
    tally.update {
      $0.notModified += 1
      if !held.isPublished { $0.resumed += 1 }
    }
    done(held.number, characters: held.characters, of: pages, sync: sync, tally: tally)
  }

  private func done(_ number: Int, characters: Int, of pages: Int, sync: Int64, tally: Tally) {
    tally.update {
      $0.pagesDone += 1
      $0.pagesTotal = pages
      $0.characters += characters
    }
    report(Event(.pageFetched, sync: sync, page: number, pagesDone: tally.now.pagesDone, pagesTotal: pages))
  }
}
