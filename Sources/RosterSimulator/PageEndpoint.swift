internal import RosterModel

/// The JSON of `/api/character`, as the public API answers it.
enum PageEndpoint {
  /// What one answer says instead of the truth.
  struct Distortion {
    var count: Int?
    var pages: Int?
    var records: [Int: String] = [:]
    var extra: [String] = []
  }

  static let pageSize = 20
  static let nothingHere = #"{"error":"There is nothing here"}"#
  static let notFound = #"{"error":"Character not found"}"#
  static let noID = #"{"error":"Hey! you must provide an id"}"#

  /// Page 1…; nothing past the last.
  static func page(_ page: Int, of characters: [Character], _ distortion: Distortion = Distortion()) -> Response {
    let pages = distortion.pages ?? pageCount(characters.count)
    guard page <= pageCount(characters.count) else { return Response(status: 404, body: Array(nothingHere.utf8)) }
    let start = (page - 1) * pageSize
    var json = #"{"info":{"count":\#(distortion.count ?? characters.count),"pages":\#(pages),"#
    json += #""next":\#(link(page + 1, of: pages)),"prev":\#(link(page - 1, of: pages))},"results":["#
    for (position, character) in characters[start..<min(start + pageSize, characters.count)].enumerated() {
      if position > 0 { json += "," }
      if let record = distortion.records[position] {
        json += record
      } else {
        json.append(character, extra: distortion.extra)
      }
    }
    json += "]}"
    return Response(status: 200, body: Array(json.utf8))
  }

  /// `ID` asks for an object, `ID,ID…` for a list of those that exist.
  static func characters(_ ids: String, of characters: [Character]) -> Response {
    let wanted = ids.split(separator: ",", omittingEmptySubsequences: false).map { Int64($0) }
    let numbers = Set(wanted.compactMap { $0 })
    guard numbers.count > 0, !wanted.contains(nil) else { return Response(status: 500, body: Array(noID.utf8)) }
    let found = characters.filter { numbers.contains($0.id) }
    var json = ""
    if wanted.count > 1 {
      json = "["
      for (position, character) in found.enumerated() {
        if position > 0 { json += "," }
        json.append(character)
      }
      json += "]"
    } else if let only = found.first {
      json.append(only)
    } else {
      return Response(status: 404, body: Array(notFound.utf8))
    }
    return Response(status: 200, body: Array(json.utf8))
  }

  static func pageCount(_ characters: Int) -> Int { (characters + pageSize - 1) / pageSize }

  private static func link(_ page: Int, of pages: Int) -> String {
    (1...max(pages, 1)).contains(page) ? #""\#(Characters.publicURL)/character?page=\#(page)""# : "null"
  }
}

extension String {
  /// `extra`: members that stand behind the character's own ones.
  fileprivate mutating func append(_ character: Character, extra: [String] = []) {
    self += #"{"id":\#(character.id),"name":"#
    appendText(character.name)
    for (name, text) in [
      ("status", character.status), ("species", character.species), ("type", character.type),
      ("gender", character.gender),
    ] {
      self += #","\#(name)":"#
      appendText(text)
    }
    for (name, place) in [("origin", character.origin), ("location", character.location)] {
      self += #","\#(name)":{"name":"#
      appendText(place.name)
      self += #","url":"#
      appendText(place.url)
      self += "}"
    }
    self += #","image":"#
    appendText(character.image)
    self += #","episode":["#
    for (position, url) in character.episodes.enumerated() {
      if position > 0 { self += "," }
      appendText(url)
    }
    self += #"],"url":"#
    appendText(character.url)
    self += #","created":"#
    appendText(character.created)
    let own = character.extra.map { [String($0.dropFirst().dropLast())] } ?? []
    for members in own + extra where !members.isEmpty { self += ",\(members)" }
    self += "}"
  }

  /// A JSON string (RFC 8259 §7).
  mutating func appendText(_ text: String) {
    self += "\""
    defer { self += "\"" }
    guard text.utf8.contains(where: { $0 < UInt8(ascii: " ") || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") })
    else {
      self += text
      return
    }
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\":
        unicodeScalars.append("\\")
        unicodeScalars.append(scalar)
      case "\0"..<" ":
        let hex = String(scalar.value, radix: 16)
        self += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: unicodeScalars.append(scalar)
      }
    }
  }
}
