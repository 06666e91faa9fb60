import RosterModel

/// Why a value is refused: a clause, and what is allowed where that is not what its type says.
struct Mistake: Equatable {
  /// The entry of a table that is at fault.
  var entry: String?
  var problem: String
  var allowed: String?

  init(_ problem: String, allowed: String? = nil, entry: String? = nil) {
    self.entry = entry
    self.problem = problem
    self.allowed = allowed
  }
}

struct Mistakes: Error, Equatable {
  var list: [Mistake]

  init(_ list: [Mistake]) { self.list = list }
  init(_ problem: String, allowed: String? = nil) { list = [Mistake(problem, allowed: allowed)] }
}

/// How the values of a key are written, and which of them are allowed.
struct ValueType<Value: Sendable & Equatable>: Sendable {
  /// With its article: "an integer".
  let name: String
  let allowed: String
  /// Whether an environment variable holds it bare; the others are TOML there too.
  var isBare = true
  let read: @Sendable (TOMLItem) throws(Mistakes) -> Value
  /// TOML that `read` takes again, secrets masked.
  let write: @Sendable (Value) -> String
}

extension ValueType {
  /// A type that is written as a TOML string.
  /// - Parameter parse: What is wrong with the text is thrown.
  static func text(
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
      write: { write($0).tomlString })
  }

  /// The same, of texts that are a value or none: `problem` says so behind the text.
  static func text(
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

  /// - Parameter problem: what is wrong with an element, by those before it; nil: nothing.
  static func list<Element>(
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
      write: { "[\($0.map(one.write).joined(separator: ", "))]" })
  }
}

extension ValueType<String> {
  static func text(_ allowed: String) -> Self {
    .text(allowed: allowed, parse: { (text) throws(Mistakes) in text }, write: { $0 })
  }
}

extension ValueType where Value: RawRepresentable<String> & CaseIterable {
  static var choice: Self {
    .text(
      allowed: Value.allCases.map(\.rawValue).joined(separator: " "), problem: "is unknown",
      parse: { Value(rawValue: $0) }, write: \.rawValue)
  }
}

extension ValueType<Int> {
  static func integer(_ range: ClosedRange<Int>) -> Self {
    Self(
      name: "an integer", allowed: "\(range.lowerBound) to \(range.upperBound)", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .integer(let number) = item else { throw Mistakes(item.isNot("an integer")) }
        guard range.contains(number) else { throw Mistakes("\(number) is out of range") }
        return number
      },
      write: { String($0) })
  }
}

extension ValueType<[Int]> {
  static func integers(_ range: ClosedRange<Int>) -> Self {
    let one = ValueType<Int>.integer(range)
    return .list("a list of integers", of: one, allowed: "integers from \(one.allowed)")
  }
}

extension ValueType<Duration> {
  static func duration(atLeast least: Duration) -> Self {
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
      write: { $0.text.tomlString })
  }
}

extension ValueType<Duration?> {
  /// nil is written as "never".
  static func durationOrNever(atLeast least: Duration) -> Self {
    let duration = ValueType<Duration>.duration(atLeast: least)
    let never = "never"
    return Self(
      name: duration.name, allowed: "\(duration.allowed); or \(never.tomlString)",
      read: { (item) throws(Mistakes) in
        if case .string(never) = item { return nil }
        return try duration.read(item)
      },
      write: { $0.map(duration.write) ?? never.tomlString })
  }
}

extension TOMLItem {
  /// As `isNot`, without the value, which may be a secret (T9).
  func isNotShown(_ wanted: String) -> String {
    switch self {
    case .string: "a string is not \(wanted)"
    case .integer, .float: "a number is not \(wanted)"
    case .boolean: "a boolean is not \(wanted)"
    case .date, .list, .table: isNot(wanted)
    }
  }

  /// A clause: `8 is an integer, not a string`.
  func isNot(_ wanted: String) -> String {
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

/// A key as TOML writes it: what is not bare stands in quotes.
func dotted(_ path: [String]) -> String { path.map(\.tomlKey).joined(separator: ".") }
