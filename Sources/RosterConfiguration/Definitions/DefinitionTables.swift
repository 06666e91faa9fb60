import RosterModel

// Types of keys whose values are tables. Their entries may contain a secret, so that no entry is shown (T9).

extension ValueType<[Resource.Parameter]> {
  static var parameters: Self {
    .entries(
      "a table of scalars", allowed: "names with strings, integers, floats or booleans",
      read: { (name, item) throws(Mistakes) in
        guard !name.isEmpty else { throw Mistakes("is no parameter's name") }
        return Resource.Parameter(name, try Resource.Scalar(item))
      },
      write: { ($0.name, $0.value.toml) })
  }
}

extension ValueType<[Resource.Condition]> {
  /// Conditions on a record. The place of the whole record is for elements that are null.
  static var conditions: Self { conditions(of: "a record") }
  /// Conditions on a whole answer.
  static var answerConditions: Self { conditions(of: "an answer") }

  private static func conditions(of value: String) -> Self {
    .entries(
      "a table of conditions",
      allowed: "JSON Pointers such as \"/state\" with \"absent\", \"present\", a scalar to be equal to, or { not = … }",
      read: { (name, item) throws(Mistakes) in
        guard let at = JSONPointer(name), at.segments.count <= ValueType<JSONPointer>.maxNames else {
          throw Mistakes("is no JSON Pointer to a place in \(value)")
        }
        return Resource.Condition(at, try Resource.Condition.Test(item))
      },
      write: { ($0.at.description, $0.test.toml) })
  }
}

extension ValueType<[Each.ParentCondition]> {
  static var parentConditions: Self {
    .entries(
      "a table of conditions",
      allowed: "columns of the parent with \"absent\", \"present\", a scalar to be equal to, or { not = … }",
      read: { (name, item) throws(Mistakes) in Each.ParentCondition(name, try Resource.Condition.Test(item)) },
      write: { ($0.column, $0.test.toml) })
  }
}

extension ValueType {
  /// A table whose entries have the same type, in the file's order.
  fileprivate static func entries<Entry>(
    _ name: String, allowed: String,
    read: @escaping @Sendable (String, TOMLItem) throws(Mistakes) -> Entry,
    write: @escaping @Sendable (Entry) -> (name: String, value: String)
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
      write: { inlineTable($0.map(write)) })
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
      write: \.toml)
  }
}

extension ValueType<[JSONValue]> {
  static var records: Self {
    let record = ValueType<JSONValue>.object
    return .list("a list of tables", of: record, allowed: "[[resource.NAME.inline]] for each record")
  }
}

extension ValueType<JSONValue> {
  /// A template of T13.2 in the form of `object`. Literal texts and numbers under a credential's name are masked (T9).
  static var template: Self {
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

  /// TOML has no null, so that no definition from a file contains one.
  var toml: String {
    switch self {
    case .null: "".tomlString
    case .boolean(let flag): "\(flag)"
    case .number(let digits): digits
    case .text(let text): text.tomlString
    case .list(let values): "[\(values.map(\.toml).joined(separator: ", "))]"
    case .object(let members): inlineTable(members.map { ($0.name, $0.value.toml) })
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

  fileprivate var toml: String {
    switch self {
    case .absent: "absent".tomlString
    case .present: "present".tomlString
    case .equal(let scalar): scalar.toml
    case .differs(let scalars):
      inlineTable([("not", scalars.count == 1 ? scalars[0].toml : "[\(scalars.map(\.toml).joined(separator: ", "))]")])
    }
  }
}

func inlineTable(_ entries: [(name: String, value: String)]) -> String {
  let members = entries.map { "\($0.name.tomlKey) = \($0.value)" }
  return members.isEmpty ? "{}" : "{ \(members.joined(separator: ", ")) }"
}
