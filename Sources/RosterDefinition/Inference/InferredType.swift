import RosterCore

/// The types and members of a field, combined over all records of the answer.
struct InferredType {
  enum Kind: String, Hashable {
    case text, integer, real, boolean, object, list
    /// A whole number beyond 64 bits, or a number that does not fit into a Double.
    case wide
  }

  struct Member {
    var name: String
    var shape: InferredType
  }

  /// Kinds of its values other than null.
  var kinds: Set<Kind> = []
  /// Number of values other than null.
  var present = 0
  var nulls = 0
  /// The members of its objects, in the order of their first occurrence.
  var members: [Member] = []
  /// The combined shape of all elements of its lists; empty without elements.
  private var inner: [InferredType] = []
  /// True if there is at least one text that is not empty, and all such texts are http addresses.
  var isAddress = false
  /// True if each text is a lower-case word such as `mr-mime`.
  var isSlug = false
  /// True if a whole number has no equal `Double`.
  private(set) var hasLargeInteger = false
  /// Number of members of the object that has most of them.
  private var maxMembers = 0

  /// nil if there were no elements.
  var element: InferredType? { inner.first }

  init(of values: [JSONValue]) {
    var elements: [JSONValue] = []
    var fields = GroupedMembers()
    var texts: [String] = []
    for value in values {
      switch value {
      case .null: nulls += 1
      case .text(let text): texts.append(text)
      case .object(let object):
        fields.add(object)
        maxMembers = max(maxMembers, object.count)
      case .list(let list): elements += list
      case .number: hasLargeInteger = hasLargeInteger || value.integer.map { Int64(exactly: Double($0)) != $0 } == true
      case .boolean: break
      }
      if let kind = Kind(value) { kinds.insert(kind) }
    }
    present = values.count - nulls
    members = fields.all.map { Member(name: $0.name, shape: InferredType(of: $0.values)) }
    inner = elements.isEmpty ? [] : [InferredType(of: elements)]
    let written = texts.filter { !$0.isEmpty }
    isAddress = !written.isEmpty && written.allSatisfy { $0.hasPrefix("http://") || $0.hasPrefix("https://") }
    isSlug = !texts.isEmpty && texts.allSatisfy(\.isSlug)
  }

  /// The type of a column that can store all values; nil if it is unknown, or if the field is a list or an object.
  var scalarType: Resource.ColumnType? {
    switch kinds {
    case [.text]: .text
    case [.integer]: .integer
    case [.real], [.integer, .real]: .real
    case [.boolean]: .boolean
    default: nil
    }
  }

  var isScalar: Bool { !kinds.isEmpty && kinds.isDisjoint(with: [.object, .list]) }

  /// True for values of several kinds, or for numbers that no other column type can store.
  var isMixed: Bool { scalarType == nil && !kinds.isEmpty && kinds != [.list] && kinds != [.object] }

  /// True for objects of which none has all members, or which have fewer than half of them in common.
  var hasDifferingMembers: Bool { maxMembers < members.count || !hasCommonMembers }

  /// True for objects that have at least half of their members in common.
  var hasCommonMembers: Bool {
    members.filter { $0.shape.present + $0.shape.nulls == present }.count * 2 >= members.count
  }

  /// The kinds for people: "text and integer".
  var kindNames: String { kinds.map(\.rawValue).sorted().joined(separator: " and ") }
}

extension InferredType.Kind {
  fileprivate init?(_ value: JSONValue) {
    switch value {
    case .null: return nil
    case .text: self = .text
    case .boolean: self = .boolean
    case .object: self = .object
    case .list: self = .list
    case .number(let digits): self = Self.number(digits)
    }
  }

  private static func number(_ digits: String) -> Self {
    if digits.contains(where: { ".eE".contains($0) }) {
      return Double(digits)?.isFinite == true && significantDigits(digits) <= maxRealDigits ? .real : .wide
    }
    return Int64(digits) == nil ? .wide : .integer
  }
}

extension InferredType.Kind {
  /// The most digits that a double is written with. A number with more of them is a decimal, such as an amount.
  private static let maxRealDigits = 17

  private static func significantDigits(_ number: String) -> Int {
    let digits = number.prefix { !"eE".contains($0) }.filter(\.isASCIIDigit).drop { $0 == "0" }
    return digits.reversed().drop { $0 == "0" }.count
  }
}

/// Members of several objects by name, which is compared byte by byte.
private struct GroupedMembers {
  private(set) var all: [(name: String, values: [JSONValue])] = []
  private var places: [[UInt8]: Int] = [:]

  mutating func add(_ object: [JSONValue.Member]) {
    for member in object {
      let place = places[Array(member.name.utf8)] ?? all.count
      if place == all.count {
        places[Array(member.name.utf8)] = place
        all.append((member.name, []))
      }
      all[place].values.append(member.value)
    }
  }
}

extension String {
  fileprivate var isSlug: Bool {
    !isEmpty
      && unicodeScalars.allSatisfy {
        ("a"..."z").contains($0) || ("0"..."9").contains($0) || "-_.".unicodeScalars.contains($0)
      }
  }
}

extension JSONPointer {
  /// The pointer to a member one level deeper.
  func appending(_ segment: String) -> JSONPointer { JSONPointer(segments: segments + [segment]) }
}
