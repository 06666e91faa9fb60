import FoundationEssentials
import RosterCache
import RosterCore
import RosterDecode
import RosterFetch

/// Supplies the lists of one level that a pull requests. Lists of children come in portions, so that memory does not
/// grow with their number.
struct ListSupply: Sendable {
  /// Number of lists that are read from the cache at a time.
  private static let portion = 256

  /// The result of a look for the next list.
  struct Next {
    /// nil if none was found in this portion.
    var list: PulledList?
    /// Lists that need no request.
    var ends: [ListEnd] = []
    /// True if there are no more lists.
    var isLast = false
  }

  private let cache: Cache
  /// True for lists that are pulled again because their pages did not fit together.
  private let isByPage: Bool
  private let baseURL: String
  private let now: Date
  /// The time of the last published or unchanged sync, for lists whose last whole pull is not noted.
  private let lastSync: Date?
  /// Lists without a parent.
  private var roots: ArraySlice<PulledList>
  private var questions: ArraySlice<ListQuestion>
  private var waiting: ArraySlice<WantedList> = []
  private var last: Int64 = 0

  /// - Parameters:
  ///   - roots: lists without a parent.
  ///   - plans: of children, whose lists were planned.
  ///   - cache: knows earlier pulls, and the lists of children.
  ///   - now: the start of the sync, for `{today}`.
  init(
    roots: [PulledList], _ plans: [RecordPlan], isByPage: Bool, known cache: Cache, baseURL: String, at now: Date
  ) async throws {
    self.isByPage = isByPage
    (self.cache, self.baseURL, self.now) = (cache, baseURL, now)
    lastSync = if let plan = plans.first { try await cache.lastWholePull(of: plan.resource.name) } else { nil }
    questions = try plans.map { try ListQuestion($0, at: now) }[...]
    var roots = roots
    for (index, list) in roots.enumerated() where list.start == nil {
      roots[index].audits.last = try await cache.lastWholePull(of: list.resources[0])
    }
    self.roots = roots[...]
  }

  mutating func next(_ links: NextLinks) async throws -> Next {
    var next = Next()
    if var list = roots.popFirst() {
      list.isByPage = isByPage
      next.list = list
      return next
    }
    guard let question = questions.first else {
      next.isLast = true
      return next
    }
    if waiting.isEmpty {
      waiting = try await cache.wantedLists(of: question.plan.resource.name, after: last, limit: Self.portion)[...]
      guard let end = waiting.last else {
        questions.removeFirst()
        last = 0
        next.isLast = questions.isEmpty
        return next
      }
      last = end.place.number
    }
    while let wanted = waiting.popFirst() {
      switch try question.paging(of: wanted, baseURL: baseURL, links) {
      case .success(let (plan, paging)):
        var list = PulledList(wanted, plan: plan, paging: paging, baseURL: baseURL, at: now)
        list.isByPage = isByPage
        if wanted.start == nil, wanted.wholeAt == nil { list.audits.last = lastSync }
        next.list = list
        return next
      case .failure(let settled):
        next.ends.append(ListEnd(question.plan.resource.name, at: wanted.place, state: settled.state))
      }
    }
    return next
  }
}

/// The question for the lists of a child, whole and incremental, without the values of a parent.
private struct ListQuestion: Sendable {
  let plan: RecordPlan
  private let whole: Resource
  private let incremental: Resource
  /// Reads the pages of incremental pulls; nil without `since`.
  private let incrementalPlan: RecordPlan?

  init(_ plan: RecordPlan, at now: Date) throws {
    self.plan = plan
    whole = plan.resource.askedWhole.dated(now)
    let incremental = plan.resource.readIncrementally.dated(now)
    self.incremental = incremental
    incrementalPlan = try plan.resource.since.map { _ in try RecordPlan(incremental, isIncremental: true) }
  }

  /// A list that needs no request.
  struct Settled: Error { var state: ListEnd.State }

  /// The list of one parent: what reads its pages, and their requests.
  func paging(
    of wanted: WantedList, baseURL: String, _ links: NextLinks
  ) throws -> Result<(RecordPlan, Paging), Settled> {
    if plan.resource.each?.isEmpty(by: wanted.values) == true { return .failure(Settled(state: .empty)) }
    let template = wanted.start == nil ? whole : incremental
    var filled: Resource
    do throws(ParentValueFault) { filled = try template.filled(with: wanted.values) } catch {
      return .failure(Settled(state: error.state))
    }
    // Only conditions are filled in what reads the pages.
    let shared = wanted.start == nil ? plan : incrementalPlan ?? plan
    let reading =
      filled.conditions == template.conditions
      ? shared : try RecordPlan(filled, isIncremental: wanted.start != nil)
    if let start = wanted.start {
      guard let starting = filled.starting(from: start) else {
        return .failure(Settled(state: .failed("\(Since.unknownZone); set since.zone")))
      }
      filled = starting
    }
    do throws(Failure) {
      return .success((reading, try paging(filled, wanted: wanted, template: template, baseURL: baseURL, links: links)))
    } catch {
      let place = template.listing.pathColumn?.placeholder ?? "since.token"
      let text = [error.cause, error.hint].compactMap(\.self).joined(separator: "; ")
      return .failure(Settled(state: .failed("the address in \(place): \(text)")))
    }
  }

  private func paging(
    _ filled: Resource, wanted: WantedList, template: Resource, baseURL: String, links: NextLinks
  ) throws(Failure) -> Paging {
    var paging = Paging(
      filled, baseURL: baseURL, isIncremental: wanted.start != nil, token: wanted.start?.token, template: template)
    if let column = template.listing.pathColumn, case .text(let address)? = wanted.values[column] {
      paging = try paging.startingAt(address: address, rest: filled.listing.pathRest, links: links)
    }
    return try paging.startingAtToken(links)
  }
}

extension ParentValueFault {
  /// The state of a list that cannot be requested.
  fileprivate var state: ListEnd.State {
    switch self {
    case .empty: .empty
    case .dots(let column):
      .failed("\(column.placeholder) is \".\" or \"..\", which is no segment of a path; send it in the query")
    }
  }
}
