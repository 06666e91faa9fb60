internal import RosterCore
internal import RosterDecode

/// The JSON of `/api/character` and similar lists, in the format of the public API.
enum PageEndpoint {
  /// Deliberate errors in one answer.
  struct Distortion {
    var count: Int?
    var pages: Int?
    var records: [Int: String] = [:]
    var extra: [String] = []
  }

  static let pageSize = 20
  static let nothingHere = #"{"error":"There is nothing here"}"#
  static let noID = #"{"error":"Hey! you must provide an id"}"#

  /// The page with this number, from 1; 404 after the last one.
  static func page(_ page: Int, of characters: [Character], distortion: Distortion) -> Response {
    list("character", page: page, count: characters.count, distortion: distortion) { json, index in
      if let record = distortion.records[index % pageSize] {
        json.raw(record.utf8)
      } else {
        json.value(characters[index], extra: distortion.extra)
      }
    }
  }

  /// A page of any kind of record; `write` writes the record at an index.
  static func list(
    _ name: String, page: Int, count: Int, size: Int = pageSize, distortion: Distortion = Distortion(),
    writing write: (inout JSONWriter, Int) -> Void
  ) -> Response {
    let last = (count + size - 1) / size
    let pages = distortion.pages ?? last
    guard page <= last else { return Response(status: 404, body: Array(nothingHere.utf8)) }
    let start = (page - 1) * size
    let json = JSONWriter.object { json in
      json.name("info")
      json.object { json in
        json.member("count", distortion.count ?? count)
        json.member("pages", pages)
        json.member("next", link(name, page: page + 1, of: pages))
        json.member("prev", link(name, page: page - 1, of: pages))
      }
      json.name("results")
      json.list { json in for index in start..<min(start + size, count) { write(&json, index) } }
    }
    return Response(status: 200, body: json.bytes)
  }

  static func characters(_ ids: String, of characters: [Character]) -> Response {
    records(
      ids, of: "Character", find: { id in characters.firstIndex { $0.id == id } },
      writing: { json, index in json.value(characters[index]) })
  }

  /// The answer for `ID`, an object, or for `ID,ID…`, a list of the existing ones. `find` returns the index of an id,
  /// and `write` writes the record at an index.
  static func records(
    _ ids: String, of kind: String, find: (Int64) -> Int?, writing write: (inout JSONWriter, Int) -> Void
  ) -> Response {
    let wanted = ids.split(separator: ",", omittingEmptySubsequences: false).map { Int64($0) }
    guard !wanted.contains(nil) else { return Response(status: 500, body: Array(noID.utf8)) }
    let found = Set(wanted.compactMap { $0.flatMap(find) }).sorted()
    var json = JSONWriter()
    if wanted.count > 1 {
      json.list { json in for index in found { write(&json, index) } }
    } else if let only = found.first {
      write(&json, only)
    } else {
      return missing(kind)
    }
    return Response(status: 200, body: json.bytes)
  }

  static func missing(_ kind: String) -> Response {
    Response(status: 404, body: Array(#"{"error":"\#(kind) not found"}"#.utf8))
  }

  private static func link(_ name: String, page: Int, of pages: Int) -> String? {
    (1...max(pages, 1)).contains(page) ? "\(Characters.publicURL)/\(name)?page=\(page)" : nil
  }
}

extension JSONWriter {
  /// - Parameter extra: members to add after the character's own ones.
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
