package import RosterCore

// Types of keys whose values are tables. Their entries may contain a secret, so that no entry is shown.

extension ValueType<[Resource.Parameter]> {
  /// A parameter with a list occurs once for each of its values.
  static var parameters: Self {
    let tables = ValueType<[Repeated]>.entries(
      "a table of scalars", allowed: "names with strings, integers, floats, booleans, or lists of them",
      read: { (name, item) throws(Mistakes) in
        guard !name.isEmpty else { throw Mistakes("is no parameter's name") }
        guard case .list(let items) = item else { return Repeated(name: name, values: [try Resource.Scalar(item)]) }
        var values: [Resource.Scalar] = []
        for item in items { values.append(try Resource.Scalar(item)) }
        guard !values.isEmpty else { throw Mistakes("is an empty list") }
        return Repeated(name: name, values: values)
      },
      write: { ($0.name, $0.values.count == 1 ? $0.values[0].item : .list($0.values.map(\.item))) })
    return Self(
      name: tables.name, allowed: tables.allowed, isBare: false,
      read: { (item) throws(Mistakes) in
        try tables.read(item).flatMap { one in one.values.map { Resource.Parameter(one.name, $0) } }
      },
      write: { parameters in
        tables.write(
          parameters.reduce(into: []) { all, parameter in
            if let last = all.last, last.name.utf8.elementsEqual(parameter.name.utf8) {
              all[all.count - 1].values.append(parameter.value)
            } else {
              all.append(Repeated(name: parameter.name, values: [parameter.value]))
            }
          })
      })
  }

  /// A parameter with all its values.
  fileprivate struct Repeated: Sendable, Equatable {
    var name: String
    var values: [Resource.Scalar]
  }
}

extension ValueType<[Resource.Condition]> {
  /// Conditions on a record. The place of the whole record is for elements that are null.
  package static var conditions: ValueType<[Resource.Condition]> {
    conditions(of: "a record", tests: "", read: Resource.Condition.Test.init(_:))
  }

  /// Conditions on a whole answer.
  package static var answerConditions: ValueType<[Resource.Condition]> {
    conditions(of: "an answer", tests: "\"any\", ") { (item) throws(Mistakes) in
      item == .string(anyValue) ? .any : try Resource.Condition.Test(item)
    }
  }

  private static func conditions(
    of value: String, tests: String,
    read: @escaping @Sendable (TOMLItem) throws(Mistakes) -> Resource.Condition.Test
  ) -> Self {
    .entries(
      "a table of conditions",
      allowed:
        "JSON Pointers such as \"/state\" with \(tests)\"absent\", \"present\", a scalar to be equal to, or { not = … }",
      read: { (name, item) throws(Mistakes) in
        guard let at = JSONPointer(name), at.segments.count <= ValueType<JSONPointer>.maxNames else {
          throw Mistakes("is no JSON Pointer to a place in \(value)")
        }
        return Resource.Condition(at, try read(item))
      },
      write: { ($0.at.description, $0.test.item) })
  }
}

extension ValueType<[[Each.ParentCondition]]> {
  /// One table of conditions, or a list of tables of which one must hold.
  static var alternatives: Self {
    let one = ValueType<[Each.ParentCondition]>.parentConditions
    return Self(
      name: one.name, allowed: "\(one.allowed); or a list of such tables", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .list(let items) = item else {
          let table = try one.read(item)
          return table.isEmpty ? [] : [table]
        }
        var tables: [[Each.ParentCondition]] = []
        for item in items {
          let table = try one.read(item)
          guard !table.isEmpty else { throw Mistakes("has an empty table, which is always true") }
          tables.append(table)
        }
        return tables
      },
      write: { tables in
        tables.isEmpty
          ? .table(TOMLMembers([])) : tables.count == 1 ? one.write(tables[0]) : .list(tables.map(one.write))
      })
  }
}

extension ValueType<[Each.ParentCondition]> {
  static var parentConditions: Self {
    .entries(
      "a table of conditions",
      allowed: "columns of the parent with \"absent\", \"present\", a scalar to be equal to, or { not = … }",
      read: { (name, item) throws(Mistakes) in Each.ParentCondition(name, try Resource.Condition.Test(item)) },
      write: { ($0.column, $0.test.item) })
  }
}

extension ValueType {
  /// A table whose entries have the same type, in the file's order.
  fileprivate static func entries<Entry>(
    _ name: String, allowed: String,
    read: @escaping @Sendable (String, TOMLItem) throws(Mistakes) -> Entry,
    write: @escaping @Sendable (Entry) -> (name: String, item: TOMLItem)
  ) -> Self where Value == [Entry] {
    Self(
      name: name, allowed: allowed, isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .table(let members) = item else { throw Mistakes(item.isNotShown(name)) }
        var entries: [Entry] = []
        var mistakes: [Mistake] = []
        for member in members.list {
          do throws(Mistakes) { entries.append(try read(member.name, member.item)) } catch {
            mistakes += error.list.map { Mistake($0.problem, allowed: $0.allowed, entry: member.name) }
          }
        }
        guard mistakes.isEmpty else { throw Mistakes(mistakes) }
        return entries
      },
      write: { entries in
        .table(TOMLMembers(entries.map(write).map { TOMLMembers.Member(name: $0.name, item: $0.item) }))
      })
  }
}

extension ValueType<JSONValue> {
  static var object: Self {
    Self(
      name: "a table", allowed: "a table of what JSON can hold", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .table = item else { throw Mistakes(item.isNotShown("a table")) }
        guard let value = JSONValue(item) else { throw Mistakes("a date, a time, inf or nan in it is not JSON") }
        return value
      },
      write: { TOMLItem(json: $0) })
  }
}

extension ValueType<[JSONValue]> {
  static var records: Self {
    let record = ValueType<JSONValue>.object
    return .list("a list of tables", of: record, allowed: "[[resource.NAME.inline]] for each record")
  }
}

extension ValueType<JSONValue> {
  /// A template with placeholders of credentials, in the form of `object`. Literal texts and numbers under a
  /// credential's name are masked.
  package static var template: ValueType<JSONValue> {
    Self(
      name: object.name, allowed: object.allowed, isBare: false, read: object.read,
      // A text with a placeholder is not a secret.
      write: { template in object.write(template.secretsMasked { !$0.placeholders.isEmpty }) })
  }
}

extension JSONValue {
  /// nil if the value has no JSON notation.
  fileprivate init?(_ item: TOMLItem) {
    switch item {
    case .string(let text): self = .text(text)
    case .integer(let number): self = .integer(number)
    case .float(let number):
      guard number.isFinite else { return nil }
      self = .number(number.description)
    case .boolean(let flag): self = .boolean(flag)
    case .date: return nil
    case .list(let items):
      let values = items.compactMap { JSONValue($0) }
      guard values.count == items.count else { return nil }
      self = .list(values)
    case .table(let members):
      let values = members.list.compactMap { member in
        JSONValue(member.item).map { JSONValue.Member(member.name, $0) }
      }
      guard values.count == members.list.count else { return nil }
      self = .object(values)
    }
  }
}

extension Resource.Scalar {
  fileprivate init(_ item: TOMLItem) throws(Mistakes) {
    switch item {
    case .string(let text): self = .text(text)
    case .integer(let number): self = .integer(Int64(number))
    case .float(let number) where number.isFinite: self = .real(number)
    case .boolean(let flag): self = .boolean(flag)
    case .float, .date, .list, .table: throw Mistakes(item.isNotShown("a scalar"))
    }
  }
}

extension Resource.Scalar {
  fileprivate var item: TOMLItem { TOMLItem(json: json) }
}

/// The values of a column that are NULL in the cache.
enum Nulls: Sendable, Equatable {
  /// True: a value that is absent or null. False: nothing, in a column of texts.
  case flag(Bool)
  /// Also a value that equals one of these.
  case values([Resource.Scalar])
}

extension ValueType<Nulls> {
  static var nulls: Self {
    Self(
      name: "a boolean or a list", allowed: "true or false, or a list of values such as [\"\", \"0000-00-00\"]",
      isBare: false,
      read: { (item) throws(Mistakes) in
        switch item {
        case .boolean(let flag): return .flag(flag)
        case .list(let items) where !items.isEmpty:
          var values: [Resource.Scalar] = []
          for item in items { values.append(try Resource.Scalar(item)) }
          return .values(values)
        case .string, .integer, .float, .date, .list, .table:
          throw Mistakes(item.isNot("a boolean or a list of values"))
        }
      },
      write: { nulls in
        switch nulls {
        case .flag(let flag): .boolean(flag)
        case .values(let values): .list(values.map(\.item))
        }
      })
  }
}

/// The test of `expect` that each value meets.
private let anyValue = "any"

extension Resource.Condition.Test {
  /// Reads `{ not = X }`, `{ not = [X, …] }`, or a scalar.
  fileprivate init(_ item: TOMLItem) throws(Mistakes) {
    guard case .table(let members) = item else {
      self.init(try Resource.Scalar(item))
      return
    }
    guard members.list.count == 1, let other = members["not"] else {
      throw Mistakes("is a table without \"not\", or with another member")
    }
    guard case .list(let items) = other else {
      self = .differs([try Resource.Scalar(other)])
      return
    }
    var scalars: [Resource.Scalar] = []
    for item in items { scalars.append(try Resource.Scalar(item)) }
    guard !scalars.isEmpty else { throw Mistakes("not = [] is true for each record") }
    self = .differs(scalars)
  }

  fileprivate init(_ scalar: Resource.Scalar) {
    self =
      switch scalar {
      case .text("absent"): .absent
      case .text("present"): .present
      default: .equal(scalar)
      }
  }

  fileprivate var item: TOMLItem {
    switch self {
    case .absent: .string("absent")
    case .present: .string("present")
    case .equal(let scalar): scalar.item
    case .any: .string(anyValue)
    case .differs(let scalars):
      .table(["not": scalars.count == 1 ? scalars[0].item : .list(scalars.map(\.item))])
    }
  }
}
