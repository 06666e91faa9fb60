package import RosterCore
internal import RosterDecode

/// The other lists of the public API: the locations and the episodes of the characters. Each episode also has a list of
/// the characters that speak in it.
package struct SideLists: Sendable {
  private struct Location {
    var name: String
    var kind: String
    var dimension: String
  }

  private let locations: [Location]
  private let characters: [Character]
  /// Addresses of characters, by the address of their location or episode.
  private let inhabitants: [String: [String]]

  /// Makes lists that fit these characters.
  package init(of characters: [Character]) {
    self.characters = characters
    locations = (0..<Self.locationCount).map(Self.location)
    var inhabitants: [String: [String]] = [:]
    for character in characters {
      for place in [character.location.url] + character.episodes {
        inhabitants[place, default: []].append(character.url)
      }
    }
    self.inhabitants = inhabitants
  }

  /// The number of locations in the public API, on 7 pages.
  package static let locationCount = 126
  /// The number of episodes, on 3 pages.
  package static let episodeCount = Characters.episodes

  /// nil if the request is for another list.
  @Sendable package func answer(_ request: Request) -> Response? {
    if let found = request.url.wholeMatch(of: /\/api\/(location|episode)\/?(?:\?(.*))?/) {
      // The real API answers page 1 if the page is not a number.
      let page = found.2.flatMap { Form(Array($0.utf8))["page"] }.flatMap { Int($0) } ?? 1
      return found.1 == "location"
        ? PageEndpoint.list("location", page: max(page, 1), count: Self.locationCount, writing: writeLocation)
        : PageEndpoint.list("episode", page: max(page, 1), count: Self.episodeCount, writing: writeEpisode)
    }
    if let episode = request.url.wholeMatch(of: /\/api\/episode\/(\d+)\/character/)?.1 {
      return answer(charactersOf: Int(episode) ?? 0)
    }
    guard let found = request.url.wholeMatch(of: /\/api\/(location|episode)\/(.+)/) else { return nil }
    return found.1 == "location"
      ? PageEndpoint.records(
        String(found.2), of: "Location", find: Self.index(Self.locationCount), writing: writeLocation)
      : PageEndpoint.records(String(found.2), of: "Episode", find: Self.index(Self.episodeCount), writing: writeEpisode)
  }

  /// The public API has no such list: each character that speaks in the episode, with the number of its lines.
  private func answer(charactersOf episode: Int) -> Response {
    guard (1...Self.episodeCount).contains(episode) else { return PageEndpoint.missing("Episode") }
    let url = "\(Characters.publicURL)/episode/\(episode)"
    var json = JSONWriter()
    json.list { json in
      for character in characters where character.episodes.contains(url) {
        let lines = (Int(character.id) * 31 + episode * 17) % 97 - 70
        guard lines > 0 else { continue }
        json.object { json in
          json.member("id", character.id)
          json.member("name", character.name)
          json.member("lines", lines)
        }
      }
    }
    return Response(status: 200, body: json.bytes)
  }

  private static func index(_ count: Int) -> (Int64) -> Int? {
    { id in (1...Int64(count)).contains(id) ? Int(id) - 1 : nil }
  }

  // MARK: What they are

  private func writeLocation(_ json: inout JSONWriter, index: Int) {
    let location = locations[index]
    let url = "\(Characters.publicURL)/location/\(index + 1)"
    json.object { json in
      json.member("id", index + 1)
      json.member("name", location.name)
      json.member("type", location.kind)
      json.member("dimension", location.dimension)
      write(inhabitants[url] ?? [], as: "residents", json: &json)
      json.member("url", url)
      json.member("created", Self.created)
    }
  }

  private func writeEpisode(_ json: inout JSONWriter, index: Int) {
    let url = "\(Characters.publicURL)/episode/\(index + 1)"
    let (season, number) = (index / Self.perSeason + 1, index % Self.perSeason + 1)
    json.object { json in
      json.member("id", index + 1)
      json.member("name", "The \(Self.occasions[index % Self.occasions.count]) of \(locations[index].name)")
      json.member("air_date", "\(Self.months[number - 1]) \(season * number % 28 + 1), \(2013 + season)")
      json.member("episode", "S\(season < 10 ? "0" : "")\(season)E\(number < 10 ? "0" : "")\(number)")
      write(inhabitants[url] ?? [], as: "characters", json: &json)
      json.member("url", url)
      json.member("created", Self.created)
    }
  }

  private func write(_ addresses: [String], as name: String, json: inout JSONWriter) {
    json.name(name)
    json.list { json in for address in addresses { json.value(address) } }
  }

  /// First the locations that characters name, then further ones without characters.
  private static func location(_ index: Int) -> Location {
    let (round, place) = index.quotientAndRemainder(dividingBy: Characters.places.count)
    return Location(
      name: Characters.places[place] + (round == 0 ? "" : " \(round + 1)"), kind: kinds[index % kinds.count],
      dimension: index % 4 == 3 ? "unknown" : "Dimension C-\(place * 7 + round)")
  }

  /// The value is arbitrary.
  private static let created = "2019-03-02T08:15:30.250Z"
  private static let perSeason = 11
  private static let kinds = ["Planet", "Space station", "Moon", "", "Microverse"]
  private static let occasions = ["Wedding", "Second Moon", "Trial", "Long Night", "Borrowed Clock", "Feast", "Census"]
  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
  ]
}
