import FoundationEssentials
import RosterCache
import RosterDecode
import RosterFetch
import RosterModel

/// Supplies the lists of children that a pull requests, in portions, so that memory does not grow with their number.
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
  private let baseURL: String
  private let now: Date
  private var plans: ArraySlice<RecordPlan>
  private var waiting: ArraySlice<WantedList> = []
  private var last: Int64 = 0

  /// - Parameters:
  ///   - plans: of the children, whose lists were planned.
  ///   - now: the start of the sync, for `{today}`.
  init(_ plans: [RecordPlan], _ cache: Cache, baseURL: String, at now: Date) {
    (self.cache, self.baseURL, self.now) = (cache, baseURL, now)
    self.plans = plans[...]
  }

  mutating func next(_ links: NextLinks) async throws -> Next {
    var next = Next()
    guard let plan = plans.first else {
      next.isLast = true
      return next
    }
    if waiting.isEmpty {
      waiting = try await cache.wantedLists(of: plan.resource.name, after: last, limit: Self.portion)[...]
      guard let end = waiting.last else {
        plans.removeFirst()
        last = 0
        next.isLast = plans.isEmpty
        return next
      }
      last = end.place.number
    }
    while let wanted = waiting.popFirst(), next.list == nil {
      switch try list(wanted, plan, links) {
      case .success(let list): next.list = list
      case .failure(let end): next.ends.append(end.end)
      }
      if next.list != nil { break }
    }
    return next
  }

  /// A list that needs no request.
  private struct Settled: Error { var end: ListEnd }

  private func list(
    _ wanted: WantedList, _ plan: RecordPlan, _ links: NextLinks
  ) throws -> Result<PulledList, Settled> {
    let (resource, name) = (plan.resource, plan.resource.name)
    func settled(_ state: ListEnd.State) -> Result<PulledList, Settled> {
      .failure(Settled(end: ListEnd(name, wanted.place, state)))
    }
    if resource.each?.isEmpty(by: wanted.values) == true { return settled(.empty) }
    let filled: Resource
    do throws(ParentValueFault) { filled = try resource.askedWhole.dated(now).filled(with: wanted.values) } catch {
      switch error {
      case .empty: return settled(.empty)
      case .dots(let column):
        return settled(
          .failed("\(column.placeholder) is \".\" or \"..\", which is no segment of a path; send it in the query"))
      }
    }
    var paging = Paging(filled, baseURL: baseURL, template: resource)
    if let column = resource.listing.pathColumn, case .text(let address)? = wanted.values[column] {
      do throws(PagingFault) { paging = try paging.startingAt(address: address, links: links) } catch {
        return settled(.failed("the address in \(column.placeholder): \(error.reason); \(error.hint)"))
      }
    }
    // Only conditions are filled in what reads the pages.
    let reading = filled.conditions == resource.conditions ? plan : try RecordPlan(filled)
    return .success(PulledList(of: wanted.place, reading, paging, baseURL: baseURL, at: now))
  }
}
