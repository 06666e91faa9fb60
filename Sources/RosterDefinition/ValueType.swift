import RosterCore

/// The reason why a value is refused, as a clause. `allowed` is set if it differs from that of the type.
package struct Mistake: Equatable, Sendable {
  /// The wrong entry of a table.
  package var entry: String?
  /// The reason, as a clause.
  package var problem: String
  /// The permitted values in words; nil for those of the type.
  package var allowed: String?

  /// Makes a mistake.
  package init(_ problem: String, allowed: String? = nil, entry: String? = nil) {
    self.entry = entry
    self.problem = problem
    self.allowed = allowed
  }
}

/// The reasons why a value is refused.
package struct Mistakes: Error, Equatable {
  /// The mistakes, at least one.
  package var list: [Mistake]

  /// Several mistakes in one value.
  package init(_ list: [Mistake]) { self.list = list }
  /// One mistake.
  package init(_ problem: String, allowed: String? = nil) { list = [Mistake(problem, allowed: allowed)] }
}

/// The notation of a key's values, and the values that are allowed.
package struct ValueType<Value: Sendable & Equatable>: Sendable {
  /// The name with its article, such as "an integer".
  package let name: String
  /// The permitted values in words.
  package let allowed: String
  /// True if an environment variable contains the bare value; other types use TOML there too.
  package var isBare = true
  /// Throws the mistakes in a value.
  package let read: @Sendable (TOMLItem) throws(Mistakes) -> Value
  /// A value that `read` accepts again, with secrets masked.
  package let write: @Sendable (Value) -> TOMLItem
}

extension ValueType {
  /// A type that is written as a TOML string.
  /// - Parameter parse: Throws the mistakes in the text.
  package static func text(
    allowed: String, parse: @escaping @Sendable (String) throws(Mistakes) -> Value,
    write: @escaping @Sendable (Value) -> String
  ) -> Self {
    let name = "a string"
    return Self(
      name: name, allowed: allowed,
      read: { (item) throws(Mistakes) in
        guard case .string(let text) = item else { throw Mistakes(item.isNot(name)) }
        return try parse(text)
      },
      write: { .string(write($0)) })
  }

  /// A type whose texts are either valid or invalid. `problem` follows the invalid text in the message.
  package static func text(
    allowed: String, problem: String, parse: @escaping @Sendable (String) -> Value?,
    write: @escaping @Sendable (Value) -> String
  ) -> Self {
    .text(
      allowed: allowed,
      parse: { (text) throws(Mistakes) in
        guard let value = parse(text) else { throw Mistakes("\(text.tomlString) \(problem)") }
        return value
      },
      write: write)
  }

  /// - Parameter problem: the mistake in an element, given the earlier ones; nil if it is valid.
  package static func list<Element>(
    _ name: String, of one: ValueType<Element>, allowed: String,
    problem: @escaping @Sendable (Element, [Element]) -> String? = { _, _ in nil }
  ) -> Self where Value == [Element] {
    Self(
      name: name, allowed: allowed, isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .list(let items) = item else { throw Mistakes(item.isNot(name)) }
        var elements: [Element] = []
        for item in items {
          let element = try one.read(item)
          if let problem = problem(element, elements) { throw Mistakes(problem) }
          elements.append(element)
        }
        return elements
      },
      write: { .list($0.map(one.write)) })
  }
}

extension ValueType<String> {
  /// Any text.
  package static func text(_ allowed: String) -> Self {
    .text(allowed: allowed, parse: { (text) throws(Mistakes) in text }, write: { $0 })
  }
}

extension ValueType where Value: RawRepresentable<String> & CaseIterable {
  /// One of the raw values.
  package static var choice: Self {
    .text(
      allowed: Value.allCases.map(\.rawValue).joined(separator: " "), problem: "is unknown",
      parse: { Value(rawValue: $0) }, write: \.rawValue)
  }
}

extension ValueType<Int> {
  /// A whole number within limits.
  package static func integer(_ range: ClosedRange<Int>) -> Self {
    Self(
      name: "an integer", allowed: "\(range.lowerBound) to \(range.upperBound)", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .integer(let number) = item else { throw Mistakes(item.isNot("an integer")) }
        guard range.contains(number) else { throw Mistakes("\(number) is out of range") }
        return number
      },
      write: { .integer($0) })
  }
}

extension ValueType<[Int]> {
  /// A list of whole numbers within limits.
  /// - Parameter noContent: the meaning of 204 without the key, for statuses; nil without such a meaning.
  package static func integers(_ range: ClosedRange<Int>, noContent: String? = nil) -> Self {
    let one = ValueType<Int>.integer(range)
    let element = ValueType<Int>(
      name: one.name, allowed: one.allowed, isBare: false,
      read: { (item) throws(Mistakes) in
        if let noContent, item == .integer(204) {
          throw Mistakes("204 needs no entry, because it means \(noContent) in any case")
        }
        return try one.read(item)
      }, write: one.write)
    return .list("a list of integers", of: element, allowed: "integers from \(one.allowed)")
  }
}

extension ValueType<Duration> {
  /// A duration with its unit.
  package static func duration(atLeast least: Duration) -> Self {
    let name = "a duration"
    return Self(
      name: name, allowed: "\(least.text) to 100 years, with a unit: ms s m h d",
      read: { (item) throws(Mistakes) in
        switch item {
        case .string(let text):
          guard let value = Duration(text: text) else { throw Mistakes("\(text.tomlString) is not \(name)") }
          guard value >= least else { throw Mistakes("\(text) is out of range") }
          return value
        case .integer, .float: throw Mistakes("\(item.isNot(name)): it needs a unit and quotes, as in \"15m\"")
        default: throw Mistakes(item.isNot(name))
        }
      },
      write: { .string($0.text) })
  }
}

extension ValueType<Duration?> {
  /// nil is written as "never".
  package static func durationOrNever(atLeast least: Duration) -> Self {
    let duration = ValueType<Duration>.duration(atLeast: least)
    let never = "never"
    return Self(
      name: duration.name, allowed: "\(duration.allowed); or \(never.tomlString)",
      read: { (item) throws(Mistakes) in
        if case .string(never) = item { return nil }
        return try duration.read(item)
      },
      write: { $0.map(duration.write) ?? .string(never) })
  }
}

extension TOMLItem {
  /// The clause of `isNot` without the value, which may be a secret.
  package func isNotShown(_ wanted: String) -> String {
    switch self {
    case .string: "a string is not \(wanted)"
    case .integer, .float: "a number is not \(wanted)"
    case .boolean: "a boolean is not \(wanted)"
    case .date, .list, .table: isNot(wanted)
    }
  }

  /// A clause such as `8 is an integer, not a string`.
  package func isNot(_ wanted: String) -> String {
    switch self {
    case .string(let text): "\(text.tomlString) is a string, not \(wanted)"
    case .integer(let number): "\(number) is an integer, not \(wanted)"
    case .float(let number): "\(number) is a float, not \(wanted)"
    case .boolean(let flag): "\(flag) is a boolean, not \(wanted)"
    case .date: "a date or time is not \(wanted)"
    case .list: "a list is not \(wanted)"
    case .table: "a table is not \(wanted)"
    }
  }
}

/// A key in TOML's notation: parts that are not bare have quotes.
package func dotted(_ path: [String]) -> String { path.map(\.tomlKey).joined(separator: ".") }
