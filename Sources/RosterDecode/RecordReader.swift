import RosterJSON
import RosterModel

/// Reads one record: columns, and the fields that have none (P10).
struct RecordReader {
  /// Why the record cannot be stored; nil: it can.
  var fault: String? { idFault ?? fieldFault }
  /// nil where the record does not say.
  private(set) var id: Int64?

  private var character = Character(id: 0)
  private var idFault: String? = "id is missing"
  private var fieldFault: String?
  private var extra = Extra()
  private var origin = Extra()
  private var location = Extra()

  /// Deeper than any API nests, and well within what readers' tools take: SQLite's JSON functions end at 1,000,
  /// Python's parser before that (sqlite.org/json1.html §3).
  static let deepest = 128

  /// - Parameter levels: of the whole record, itself the first.
  mutating func noteLevels(_ levels: Int) {
    if levels > Self.deepest { note("it nests deeper than \(Self.deepest) levels") }
  }

  func finished() -> Character {
    var character = character
    var extra = extra
    if let nested = origin.object { extra.append("origin", nested) }
    if let nested = location.object { extra.append("location", nested) }
    character.extra = extra.object
    return character
  }

  mutating func read(_ reader: inout JSONReader) throws(Malformed) {
    try reader.object { reader, name throws(Malformed) in
      switch name {
      case .id: try readID(&reader)
      case .name: character.name = try text("name", &reader)
      case .status: character.status = try text("status", &reader)
      case .species: character.species = try text("species", &reader)
      case .type: character.type = try text("type", &reader)
      case .gender: character.gender = try text("gender", &reader)
      case .origin: (character.origin, origin) = try place("origin", &reader)
      case .location: (character.location, location) = try place("location", &reader)
      case .image: character.image = try text("image", &reader)
      case .episode: try episodes(&reader)
      case .url: character.url = try text("url", &reader)
      case .created: character.created = try text("created", &reader)
      default: try extra.read(name, &reader)
      }
    }
  }

  private mutating func readID(_ reader: inout JSONReader) throws(Malformed) {
    let number = reader.integer()
    if number == nil { try reader.skip() }
    id = number.flatMap { $0 > 0 ? $0 : nil }
    character.id = id ?? 0
    idFault = id == nil ? "id is not an integer from 1 to \(Int64.max)" : nil
  }

  private mutating func text(_ field: @autoclosure () -> String, _ reader: inout JSONReader) throws(Malformed) -> String
  {
    if reader.peek() == UInt8(ascii: "\"") { return try reader.string() }
    if try !reader.null() {
      try reader.skip()
      note("\(field()) is not a string")
    }
    return ""
  }

  private mutating func place(
    _ field: String, _ reader: inout JSONReader
  ) throws(Malformed) -> (Character.Place, Extra) {
    var place = Character.Place()
    var extra = Extra()
    if reader.peek() == UInt8(ascii: "{") {
      try reader.object { reader, name throws(Malformed) in
        switch name {
        case .name: place.name = try text("\(field).name", &reader)
        case .url: place.url = try text("\(field).url", &reader)
        default: try extra.read(name, &reader)
        }
      }
    } else if try !reader.null() {
      try reader.skip()
      note("\(field) is not an object")
    }
    return (place, extra)
  }

  private mutating func episodes(_ reader: inout JSONReader) throws(Malformed) {
    character.episodes = []
    guard reader.peek() == UInt8(ascii: "[") else {
      if try !reader.null() {
        try reader.skip()
        note("episode is not a list")
      }
      return
    }
    try reader.array { reader throws(Malformed) in
      if reader.peek() == UInt8(ascii: "\"") {
        character.episodes.append(try reader.string())
      } else {
        try reader.skip()
        note("episode holds something that is not a string")
      }
    }
  }

  private mutating func note(_ reason: String) {
    if fieldFault == nil { fieldFault = reason }
  }
}

/// Fields without a column, as upstream wrote them, in the order of their names: another order of the same fields is no
/// change.
private struct Extra {
  private var fields: [(name: String, value: String)] = []

  mutating func read(_ name: JSONReader.Name, _ reader: inout JSONReader) throws(Malformed) {
    let value = try reader.skip()
    append(reader.text(name.raw), reader.compactText(value))
  }

  mutating func append(_ name: String, _ value: String) {
    fields.removeAll { $0.name == name }
    fields.append((name, value))
  }

  var object: String? {
    if fields.isEmpty { return nil }
    let members = fields.sorted { $0.name < $1.name }.map { "\"\($0.name)\":\($0.value)" }
    return "{" + members.joined(separator: ",") + "}"
  }
}

extension JSONReader.Name {
  static let id = Self("id")
  static let name = Self("name")
  static let status = Self("status")
  static let species = Self("species")
  static let type = Self("type")
  static let gender = Self("gender")
  static let origin = Self("origin")
  static let location = Self("location")
  static let image = Self("image")
  static let episode = Self("episode")
  static let url = Self("url")
  static let created = Self("created")
  static let info = Self("info")
  static let results = Self("results")
  static let count = Self("count")
  static let pages = Self("pages")
}
