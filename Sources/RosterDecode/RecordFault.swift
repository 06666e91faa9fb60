import RosterCore

/// The reason why a record cannot be stored. It takes a few bytes, so that a page full of rejects costs no more
/// than any other page.
enum RecordFault {
  case notAnObject
  /// A row is not a list.
  case notARow
  /// A row has more values than there are names.
  case longRow
  /// A value of a map has the member that its name would be.
  case ownMemberName
  case keyMissing
  case keyInvalid
  /// The key has another type than its column.
  case keyMistyped(JSONKind)
  /// UTF-8 cannot represent the key. With a replacement, different keys would be the same one.
  case keyHalfPair
  /// A part of the composite key cannot be one.
  case keyPart(column: Int)
  /// UTF-8 cannot represent a part of the composite key.
  case keyPartHalfPair(column: Int)
  /// The value has another type than its column.
  case column(node: Int, Resource.ColumnType)
  /// An ancestor of a column is not an object.
  case way(node: Int)
  case notAList(node: Int)
  /// The value is an object, and the definition has a list there.
  case objectForList(node: Int)
  case element(list: Int, ElementFault)
  case tooDeep
  /// A detail without any of its members: the answer may be something else.
  case blankDetail
  /// A later record of the same answer has the same key, and differs.
  case duplicateKey
  /// Not a record, but an answer that says itself that it lacks some.
  case partialAnswer(at: JSONPointer, AnswerLack.Cause)
  /// Not a record, but an answer whose Warning header says that it lacks some.
  case warnedAnswer
  /// Not a record, but an answer with a total in a header that is above the records.
  case headerTotal

  enum ElementFault {
    case column(node: Int, Resource.ColumnType)
    case way(node: Int)
  }

  func reason(in plan: RecordPlan) -> String {
    switch self {
    case .notAnObject: "the record is not an object"
    case .notARow: "the record is not a list"
    case .longRow: "it has more values than \(plan.resource.rowNames) has names"
    case .ownMemberName: "it has a member \(Resource.Shape.memberName) of its own"
    case .keyMissing: "\(Self.path(plan.keyNode, plan: plan)) is missing"
    case .keyInvalid:
      "\(Self.path(plan.keyNode, plan: plan)) is not "
        + (plan.hasTextKeys ? "a string that is not empty" : "an integer of 64 bits")
    case .keyMistyped(let kind):
      "\(Self.path(plan.keyNode, plan: plan)) is \(kind.phrase), and its column is \(plan.hasTextKeys ? "text" : "integer")"
    case .keyHalfPair: "\(Self.path(plan.keyNode, plan: plan)) \(Self.halfPair)"
    case .keyPartHalfPair(let column):
      "\(Self.path(plan.record.columns[column].node, plan: plan)), a part of the key, \(Self.halfPair)"
    case .keyPart(let column):
      "\(Self.path(plan.record.columns[column].node, plan: plan)), a part of the key, is not "
        + (plan.record.columns[column].type.isText ? "a string that is not empty" : "an integer of 64 bits")
    case .column(let node, let type): "\(Self.path(node, plan: plan)) is not \(type.phrase)"
    case .way(let node): "\(Self.path(node, plan: plan)) is not an object"
    case .notAList(let node): "\(Self.path(node, plan: plan)) is not a list"
    case .objectForList(let node):
      "\(Self.path(node, plan: plan)) is an object, not a list; a single element without a list needs list_of_one = true, "
        + "and any other object a column of type json"
    case .element(let list, let fault):
      Self.path(plan.lists[list].node, plan: plan) + " holds something " + fault.clause(in: plan)
    case .duplicateKey: "another record of the same answer has its key, and differs; is a second field part of the key?"
    case .partialAnswer(let place, let cause): Self.reason(of: place, cause)
    case .warnedAnswer: "its Warning header says that the answer is partial, so that nothing is removed"
    case .headerTotal:
      "the list ends before the total in a header of the answer, such as X-Total-Count, so that nothing is removed; "
        + "correct pages, or set count to the header (\"header:NAME\"); if it counts records that upstream does not list, set "
        + "hidden = true in pages"
    case .blankDetail: "it has no member that a column names, so that the answer may be no record"
    case .tooDeep: "it nests deeper than \(RecordPlan.deepest) levels"
    }
  }

  private static func reason(of place: JSONPointer, _ cause: AnswerLack.Cause) -> String {
    let acceptance = AnswerRefusal.acceptance(of: place)
    return switch cause {
    case .declared: "the answer says at \(place) that it is partial, so that nothing is removed"
    case .sign:
      "the answer says at \(place) that it is partial, so that nothing is removed; if it is whole, set \(acceptance)"
    case .unfollowed:
      "the answer says at \(place) that the list goes on, and no key of pages leads there, so that nothing is removed; "
        + "correct pages, or set \(acceptance) if this is the whole list"
    case .total:
      "the list ends before the total of the answer at \(place), so that nothing is removed; correct pages, set count "
        + "there, or set \(acceptance) if the total counts something else"
    }
  }

  private static let halfPair = #"has half of a surrogate pair, such as \ud800, which is no character"#

  private static func path(_ node: Int, plan: RecordPlan) -> String {
    let path = plan.tree.path(node)
    return path.isEmpty ? "the record" : path
  }
}

extension RecordFault.ElementFault {
  fileprivate func clause(in plan: RecordPlan) -> String {
    let (node, phrase) =
      switch self {
      case .column(let node, let type): (node, type.phrase)
      case .way(let node): (node, "an object")
      }
    let path = plan.tree.path(node)
    return (path.isEmpty ? "that" : "whose \(path)") + " is not \(phrase)"
  }
}

extension JSONKind {
  fileprivate var phrase: String {
    switch self {
    case .absent: "missing"
    case .null: "null"
    case .false, .true: "a boolean"
    case .integer, .fraction: "a number"
    case .string, .escapedString: "a string"
    case .list: "a list"
    case .object: "an object"
    }
  }
}
