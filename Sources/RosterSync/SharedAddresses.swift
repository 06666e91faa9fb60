import RosterCache
import RosterFetch
import RosterModel

/// Finds the children whose lists may have an address that another list has too (P12). For all others nothing is looked
/// up. Pure.
struct SharedAddresses {
  private let resources: [Resource]

  init(_ resources: [Resource]) { self.resources = resources }

  /// Names of these children.
  var children: Set<String> {
    let children = resources.filter { $0.each != nil }
    let sharing = children.filter { child in
      !hasUniqueAddresses(child) || children.contains { $0.name != child.name && child.mayMeet($0) }
    }
    return Set(sharing.map(\.name))
  }

  /// True if the key of the parent and those of all ancestors are in each address, so that no two lists have the same.
  private func hasUniqueAddresses(_ child: Resource) -> Bool {
    guard child.listings.allSatisfy({ $0.pathColumn == nil && !$0.path.contains("}{") }) else { return false }
    var ancestor = child.each?.parent
    while let parent = resources.first(where: { $0.name == ancestor }) {
      let keys = parent.isDetail ? [] : parent.keyPlaces
      for place in keys {
        guard let column = parent.columns.first(where: { $0.at == place })?.name,
          child.listings.allSatisfy({ $0.addressColumns.contains(ParentColumn(parent.name, column)) })
        else { return false }
      }
      ancestor = parent.each?.parent
    }
    return true
  }
}

extension Resource {
  /// The questions of whole and of incremental pulls.
  fileprivate var listings: [Listing] { [listing] + (since.map { [$0.listing] } ?? []) }

  /// True if a list of each resource may have the same address.
  fileprivate func mayMeet(_ other: Resource) -> Bool {
    listings.contains { own in other.listings.contains { own.mayMeet($0) } }
  }
}

extension Listing {
  fileprivate func mayMeet(_ other: Listing) -> Bool {
    if method != other.method { return false }
    if pathColumn != nil || other.pathColumn != nil { return true }
    let (segments, others) = (path.split(separator: "/"), other.path.split(separator: "/"))
    guard segments.count == others.count else { return false }
    return zip(segments, others).allSatisfy { $0 == $1 || $0.contains("{") || $1.contains("{") }
  }
}

/// Requests whose answer several lists need: the first list sends the request, and the others wait for its answer
/// (P12). Pure. It has no more entries than pages in flight.
struct SharedRequests {
  /// Requests that are in flight, or whose answer is not stored yet.
  private var open: Set<String> = []
  private var waiting: [(key: String, job: PullPlan.PageJob)] = []
  /// Pages that no longer wait for another list.
  private var released: [PullPlan.PageJob] = []

  /// True if pages wait for the answer to another list.
  var isWaiting: Bool { !waiting.isEmpty }

  /// Returns false if the page waits for the answer to another list.
  mutating func begin(_ key: String, job: PullPlan.PageJob) -> Bool {
    if open.insert(key).inserted { return true }
    waiting.append((key, job))
    return false
  }

  /// The request has ended, and its answer is stored if other lists may use it. The pages that wait for it go on.
  mutating func end(_ key: String) {
    guard open.remove(key) != nil, isWaiting else { return }
    released += waiting.filter { $0.key == key }.map(\.job)
    waiting.removeAll { $0.key == key }
  }

  mutating func next() -> PullPlan.PageJob? { released.popLast() }
}

extension PageRequest {
  /// Identifies the request among those of all lists.
  var sharedKey: String {
    let headers = request.headers.map { "\n\($0.name): \($0.value)" }.joined()
    return "\(request.method.rawValue) \(request.url)\(headers)\n\(String(decoding: request.body, as: UTF8.self))"
  }
}

extension SharedAnswer {
  /// The answer to a request of a list, as other lists may use it; nil if they may not.
  init?(
    _ response: Response, answer: PageFetcher.Answer, to query: PageFetcher.PageQuery, in list: PulledList
  ) {
    // An answer may repeat a token that is a parameter in its links.
    if response.token?.parameters.isEmpty == false { return nil }
    let (digest, confirmed): (Int64?, Validator)
    switch answer {
    case .page(let page): (digest, confirmed) = (page.digest, Validator())
    case .unchanged(_, _, let isTransferred):
      (digest, confirmed) = (query.digest, isTransferred ? Validator() : query.validator)
    case .declined: (digest, confirmed) = (nil, Validator())
    case .vanished, .pastTheEnd, .forgotten, .refused: return nil
    }
    self.init(
      key: query.page.sharedKey, response: response, digest: digest, confirmed: confirmed,
      resource: list.resources[0], place: list.place, address: query.page.address)
  }
}
