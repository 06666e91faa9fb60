internal import RosterCore
internal import RosterDecode

/// Goes over the winning records of a pull, in the order in which they are published.
///
///     if var pulled = try PulledRecords(…) {
///       while let page = try pulled.nextPage() {
///         while let step = try pulled.next() { … pulled.decoder … }
///       }
///     }
struct PulledRecords: ~Copyable {
  enum Part { case pages, answers }

  /// The decoder, at the record that `next` returned.
  var decoder: RecordDecoder
  /// Number of the current page; 0 for an answer.
  private(set) var number = 0
  /// Place of the current page or answer in `next`.
  private(set) var at: Int64 = 0

  private let data: PullData
  private let scope: ListScope
  private let part: Part
  private let hasRepeats: Bool
  private let look: Statement
  private var places: ArraySlice<(place: Int64, number: Int)>
  private var place = KeyPlace(page: 0)
  /// Start of the records of the current page, and the rejects of the page that `next` has not returned yet.
  private var start = 0
  private var rejectsLeft = 0
  private var hasTotal = false

  /// nil if the list has no such page or answer.
  init?(_ part: Part, of scope: ListScope, _ found: ResourceComparison, in data: PullData) throws {
    let (database, plan) = (data.database, data.plans[scope.index])
    let keys = KeyTables(isText: plan.hasTextKeys)
    let (pages, looks) =
      part == .pages
      ? (
        "SELECT place, number FROM temp.pulled WHERE resource = ?1 AND list = ?2 AND number IS NOT NULL ORDER BY number",
        "SELECT place FROM \(keys.pulled) WHERE resource = ?1 AND list = ?2 AND key = ?3"
      )
      : (
        "SELECT place, 0 FROM temp.answers WHERE resource = ?1 AND list = ?2 ORDER BY place",
        "SELECT 0 FROM \(keys.missing) WHERE resource = ?1 AND list = ?2 AND key = ?3"
      )
    let places = try database.rows(pages, in: scope) { (place: $0.integer(0), number: $0.int(1)) }
    if places.isEmpty { return nil }
    // The pages of an incremental pull may have another shape, or keys only.
    let isOwn = part == .answers || !found.isIncremental
    let asked = try plan.resource.asked(by: scope, database)
    let read =
      isOwn
      ? try asked.map { try RecordPlan($0) } ?? plan
      : try RecordPlan((asked ?? plan.resource).readIncrementally, isIncremental: true)
    look = try database.statement(looks)
    (self.data, self.scope, self.part, self.places) = (data, scope, part, places[...])
    hasRepeats = found.repeats > 0
    decoder = RecordDecoder(read)
  }

  /// Number of pages or answers that `nextPage` has not returned yet.
  var pagesLeft: Int { places.count }

  /// Leaves at most `count` pages or answers, which are spread evenly over the list.
  mutating func sample(_ count: Int) {
    let distance = max(1, places.count / count)
    places =
      stride(from: places.startIndex + distance / 2, to: places.endIndex, by: distance).prefix(count)
      .map { places[$0] }[...]
  }

  /// The next page or answer; nil after the last one.
  mutating func nextPage() throws -> StagedPage? {
    guard let (at, number) = places.popFirst() else { return nil }
    if data.interruption.isWanted { throw CancellationError() }
    let facts = try data.file.page(at: at)
    try decoder.begin(data.file.body(at: at), at: facts.recordsAt, mayLack: facts.rejectsOfUnknownKey > 0)
    (self.number, self.at) = (number, at)
    (start, rejectsLeft, hasTotal) = (facts.recordsAt, facts.rejects, facts.count != nil)
    place = KeyPlace(page: number)
    return facts
  }

  /// The next record of the page that is published, or that cannot be stored; nil after the last one.
  mutating func next() throws -> RecordDecoder.Step? {
    while let step = try decoder.next() {
      if case .rejected = step {
        rejectsLeft -= 1
        return step
      }
      if try counts(place.next()) { return step }
    }
    if rejectsLeft <= 0 || part == .answers { return nil }
    rejectsLeft -= 1
    try decoder.rejectUnseen(at: start, isByTotal: hasTotal)
    return .rejected
  }

  /// If a key occurs more than once on pages, the last occurrence wins. A record of an answer counts if its key
  /// was asked for.
  private mutating func counts(_ own: Int64) throws -> Bool {
    if part == .pages, !hasRepeats { return true }
    look.bind(decoder.key, in: scope)
    defer { look.reset() }
    guard try look.step() else { return part == .pages }
    return part == .answers || look.row.integer(0) == own
  }
}

extension Resource {
  /// The resource with the `where` of this list; nil if all lists have the same one.
  fileprivate func asked(by scope: ListScope, _ database: Database) throws -> Resource? {
    guard hasParentConditions else { return nil }
    let facts = try database.first("SELECT facts FROM temp.lists WHERE list = ?1", .integer(scope.number)) {
      $0.optionalText(0)
    }
    guard let values = (facts ?? nil).flatMap({ ParentValues(json: $0.utf8) }) else { return nil }
    var asked = self
    asked.conditions = conditions(with: values)
    return asked
  }
}
