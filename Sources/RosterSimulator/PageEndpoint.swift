internal import RosterJSON
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
    var json = JSONWriter()
    json.object { json in
      json.name("info")
      json.object { json in
        json.member("count", distortion.count ?? characters.count)
        json.member("pages", pages)
        json.member("next", link(page + 1, of: pages))
        json.member("prev", link(page - 1, of: pages))
      }
      json.name("results")
      json.list { json in
        for (position, character) in characters[start..<min(start + pageSize, characters.count)].enumerated() {
          if let record = distortion.records[position] {
            json.raw(record.utf8)
          } else {
            json.value(character, extra: distortion.extra)
          }
        }
      }
    }
    return Response(status: 200, body: json.bytes)
  }

  /// `ID` asks for an object, `ID,ID…` for a list of those that exist.
  static func characters(_ ids: String, of characters: [Character]) -> Response {
    let wanted = ids.split(separator: ",", omittingEmptySubsequences: false).map { Int64($0) }
    let numbers = Set(wanted.compactMap { $0 })
    guard numbers.count > 0, !wanted.contains(nil) else { return Response(status: 500, body: Array(noID.utf8)) }
    let found = characters.filter { numbers.contains($0.id) }
    var json = JSONWriter()
    if wanted.count > 1 {
      json.list { json in for character in found { json.value(character) } }
    } else if let only = found.first {
      json.value(only)
    } else {
      return Response(status: 404, body: Array(notFound.utf8))
    }
    return Response(status: 200, body: json.bytes)
  }

  static func pageCount(_ characters: Int) -> Int { (characters + pageSize - 1) / pageSize }

  private static func link(_ page: Int, of pages: Int) -> String? {
    (1...max(pages, 1)).contains(page) ? "\(Characters.publicURL)/character?page=\(page)" : nil
  }
}

extension JSONWriter {
  /// - Parameter extra: members that stand behind the character's own ones.
  fileprivate mutating func value(_ character: Character, extra: [String] = []) {
    object { json in
      json.member("id", character.id)
      json.member("name", character.name)
      json.member("status", character.status)
      json.member("species", character.species)
      json.member("type", character.type)
      json.member("gender", character.gender)
      for (name, place) in [("origin", character.origin), ("location", character.location)] {
        json.name(name)
        json.object { json in
          json.member("name", place.name)
          json.member("url", place.url)
        }
      }
      json.member("image", character.image)
      json.name("episode")
      json.list { json in for url in character.episodes { json.value(url) } }
      json.member("url", character.url)
      json.member("created", character.created)
      let own = character.extra.map { [String($0.dropFirst().dropLast())] } ?? []
      for members in own + extra where !members.isEmpty { json.raw(members.utf8) }
    }
  }
}
