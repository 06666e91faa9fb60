import RosterCore
import RosterDecode

/// A body under a definition: the result of both passes must equal a simple reading of the rules.
enum RecordTarget {
  static func check(_ input: [UInt8]) {
    var (choices, body) = Choices.split(input)
    guard PlainJSON.isShallow(body) else { return }
    let resource = RandomResource.make(&choices)
    var decoder = RecordDecoder(certain("compile") { try RecordPlan(resource) })
    let json = body.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(body.dropFirst(3)) : body
    let answer = PlainJSON.read(json)
    // Run twice, because the memory is reused.
    for _ in 0..<2 {
      checkPage(body, answer, resource, &decoder)
      checkByKey(body, answer, resource, &decoder)
    }
  }

  private static func checkPage(
    _ body: [UInt8], _ answer: Written?, _ resource: Resource, _ decoder: inout RecordDecoder
  ) {
    let scan = try? decoder.scan(page: body)
    // A list that a later member of its name replaces is refused, unless both are equal.
    if answer?.isRepeated(resource.records.segments[...]) == true { return }
    guard let answer, let records = answer.find(resource.records.segments[...])?.elements else {
      return promise(scan == nil, "an invalid page was accepted")
    }
    guard let scan else { fatalError("a page was refused") }
    expect(records, body, scan, resource, &decoder)
    let pages = resource.pages
    expect(scan.count, answer, pages.count)
    expect(scan.more, answer, pages.more)
    let style = pages.style
    expect(scan.last, answer, style.last)
    switch style.kind.step {
    case .follows: expect(scan.at, answer, style.at, isNoneIfEmpty: true)
    case .sends(.ofLastRecord):
      let values = records.map { kind($0.find((style.placeInBody?.segments ?? [])[...])) }
      let last = values.last { $0 != .absent && $0 != .null } ?? values.last ?? kind(nil)
      promise(scan.at.kind == last, "another last value")
    case .counts, .sends(.ofAnswer), .stops: break
    }
  }

  private static func checkByKey(
    _ body: [UInt8], _ answer: Written?, _ resource: Resource, _ decoder: inout RecordDecoder
  ) {
    let scan = try? decoder.scan(answer: body)
    let records: [Written]? =
      switch answer {
      case .list(let records)?: records
      case .object?: answer.map { $0.elements ?? [$0] }
      default: nil
      }
    guard let records else { return promise(scan == nil, "an invalid answer was accepted") }
    guard let scan else { fatalError("an answer was refused") }
    expect(records, body, scan, resource, &decoder)
  }

  // MARK: Both passes

  private static func expect(
    _ records: [Written], _ body: [UInt8], _ scan: PageScan, _ resource: Resource, _ decoder: inout RecordDecoder
  ) {
    let decoded = certain("the second pass") { try Decoded.read(body, scan: scan, decoder: &decoder) }
    let reference = ReferenceDecoder(resource: resource)
    var (rows, rejects, skipped) = (decoded.records[...], decoded.rejects[...], 0)
    var (keys, rejectedKeys): ([String], [String]) = ([], [])
    var documents: [String: Set<String>] = [:]
    for (position, record) in records.enumerated() {
      switch reference.outcome(record) {
      case .skipped: skipped += 1
      case .stored(var row):
        row.position = position
        keys.append(row.key)
        documents[row.key, default: []].insert(record.compact)
        promise(rows.popFirst().map { same($0, row) } == true, "record \(position) is to be \(row), of \(resource)")
      case .rejected(let key):
        rejectedKeys += [key].compactMap(\.self)
        let reject = rejects.popFirst()
        promise(
          reject?.position == position && reject?.key == key, "record \(position) is to be rejected, of \(resource)")
        promise(reject?.reason.isEmpty == false, "a reject without a reason")
        let document = reject.flatMap { PlainJSON.read(Array($0.document.utf8)) }
        promise(document?.compact == record.compact, "another document is rejected")
      }
    }
    // After the last record come those whose key a later one has too, if they differ.
    let repeated = rejects.compactMap(\.key)
    promise(rows.isEmpty && repeated.count == rejects.count, "more records than there are")
    let differing = Set(documents.filter { $0.value.count > 1 }.keys)
    let style = resource.pages.style
    let isCompared = !style.kind.isPositional && style != .record && resource.shape != .map
    promise(!isCompared || differing.isSubset(of: repeated), "some records of one key are not reported")
    promise(repeated.allSatisfy { key in keys.count { $0 == key } > 1 }, "a key that occurs once is reported")
    rejectedKeys += repeated
    promise(
      scan.records == records.count && scan.skipped == skipped && scan.rejects == decoded.rejects.count
        && scan.rejectsOfUnknownKey == decoded.rejects.count - rejectedKeys.count, "the scan counts otherwise: \(scan)")
    let isText = resource.keyColumn.map { resource.columns[$0].type } == .text
    promise(Decoded.keys(scan.keys, isText: isText) == keys, "other keys")
    promise(Decoded.keys(scan.rejectedKeys, isText: isText) == rejectedKeys, "other rejected keys")
  }

  /// Compares byte by byte, which == of String does not.
  private static func same(_ one: Decoded.Row, _ other: Decoded.Row) -> Bool {
    one == other && "\(one)".utf8.elementsEqual("\(other)".utf8)
  }

  // MARK: Values beside the records

  private static func expect(
    _ found: PointedValue, _ answer: Written, _ place: Resource.AnswerPlace?, isNoneIfEmpty: Bool = false
  ) {
    guard case .body(let pointer)? = place else { return promise(found.kind == .absent, "a value from nowhere") }
    let value = answer.find(pointer.segments[...])
    let kind = isNoneIfEmpty && value.map(isEmpty) == true ? .null : kind(value)
    promise(found.kind == kind, "\(pointer) is to be \(kind), not \(found.kind)")
  }

  private static func isEmpty(_ value: Written) -> Bool {
    switch value {
    case .list(let elements): elements.isEmpty
    case .object(let members): members.isEmpty
    case .scalar(let word, let text): text.map(\.isEmpty) ?? (word == "false")
    }
  }

  private static func kind(_ value: Written?) -> PointedValue.Kind {
    switch value {
    case nil: .absent
    case .list, .object: .compound
    case .scalar(_, let text?): .text(text)
    case .scalar("null", nil): .null
    case .scalar("true", nil): .boolean(true)
    case .scalar("false", nil): .boolean(false)
    case .scalar(let number, nil): Int64(number).map { .integer($0) } ?? .number(number)
    }
  }
}

/// Definitions with few names, so that places overlap.
private enum RandomResource {
  private static let names = ["a", "b", "id", "0", "1", "a_long_name", "é", "", "q\"~/\\"]
  private static let scalars: [Resource.Scalar] = [
    .text("x"), .text("é"), .integer(1), .integer(-5), .real(0.5), .real(1), .boolean(true), .boolean(false),
  ]

  static func make(_ choices: inout Choices) -> Resource {
    let keyType: Resource.ColumnType = choices.flag() ? .text : .integer
    let key = pointer(from: 1, &choices)
    let records = pointer(from: 0, &choices)
    let columns = columns(from: 1, &choices)
    var lists: [Resource.List] = []
    for _ in 0..<choices.next(3) {
      let own = self.columns(from: 0, &choices)
      let list = Resource.List(
        table: "l", at: pointer(from: 1, &choices), columns: own + [column(from: 0, &choices)])
      if !lists.contains(where: { $0.at == list.at }) { lists.append(list) }
    }
    let conditions = choices.times(2) { choices in
      Resource.Condition(
        pointer(from: 1, &choices), choices.pick([.present, .absent] + scalars.map { .equal($0) }))
    }
    let keyColumn = Resource.Column("key", at: key, keyType)
    return Resource(
      name: "thing", path: "/", records: records, key: key, conditions: conditions, pages: pages(&choices),
      columns: choices.flag() ? columns + [keyColumn] : [keyColumn] + columns, lists: lists)
  }

  private static func pages(_ choices: inout Choices) -> Resource.Pages {
    let style: Resource.Style =
      switch choices.next(4) {
      case 0: .one
      case 1: .number(last: .body(pointer(from: 0, &choices)))
      case 2: .next(at: .body(pointer(from: 0, &choices)))
      default: .after(param: .query("after"), at: pointer(from: 0, &choices))
      }
    let places = [choices.flag(), choices.flag()].map {
      $0 ? Resource.AnswerPlace.body(pointer(from: 0, &choices)) : nil
    }
    return Resource.Pages(style, more: places[0], count: places[1])
  }

  private static func pointer(from least: Int, _ choices: inout Choices) -> JSONPointer {
    JSONPointer(segments: (0..<least + choices.next(3)).map { _ in choices.pick(names) })
  }

  private static func columns(from least: Int, _ choices: inout Choices) -> [Resource.Column] {
    choices.times(3) { column(from: least, &$0) }
  }

  private static func column(from least: Int, _ choices: inout Choices) -> Resource.Column {
    let type = choices.pick(Resource.ColumnType.allCases)
    return Resource.Column("c", at: pointer(from: least, &choices), type, isNullable: choices.flag())
  }
}

extension Written {
  /// True if an object on the way to the place has two members of one name.
  fileprivate func isRepeated(_ segments: ArraySlice<String>) -> Bool {
    guard let first = segments.first, case .object(let members) = self else { return false }
    let named = members.filter { $0.isNamed(first) }
    return named.count > 1 || named.contains { $0.value.isRepeated(segments.dropFirst()) }
  }
}
