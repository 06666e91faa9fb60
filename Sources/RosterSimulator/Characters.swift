internal import FoundationEssentials
import RosterCore

/// Generated characters, which are the same each time.
package enum Characters {
  /// The number of characters in the public API, on 42 pages of 20.
  package static let usual = 826
  /// The base of all addresses inside bodies. It is not the simulator's own, as with the real API through a proxy (RFC
  /// 2606 reserves the name).
  package static let publicURL = "https://roster.example/api"

  /// Characters with the ids 1 to `count`, in order.
  package static func made(_ count: Int) -> [Character] {
    var dice = Dice(state: 20_171_104)
    return (1...max(count, 1)).prefix(count).map { made(id: $0, &dice) }
  }

  private static func made(id: Int, _ dice: inout Dice) -> Character {
    let species = dice.pick(kinds)
    let home = dice.place()
    return Character(
      id: Int64(id), name: dice.name(), status: dice.pick(["Alive", "Alive", "Alive", "Dead", "Dead", "unknown"]),
      species: species.name, type: dice.pick(species.types),
      gender: dice.pick(["Male", "Female", "Female", "Male", "Genderless", "unknown"]),
      origin: dice.pick([home, home, .init(name: "unknown")]), location: dice.pick([home, dice.place()]),
      image: "\(publicURL)/character/avatar/\(id).jpeg", url: "\(publicURL)/character/\(id)",
      created: Date(timeIntervalSince1970: firstCreated + Double(id * hourAndABit)).rfc3339, episodes: dice.episodes())
  }

  /// 2019-03-02T08:15:30.250Z; the value is arbitrary.
  private static let firstCreated = 1_551_514_530.25
  private static let hourAndABit = 4_217

  /// Names of the locations in the order of their ids.
  static var places: [String] { Dice.places }
  /// Highest id of an episode; the lowest is 1.
  static let episodes = 51

  private static let kinds: [(name: String, types: [String])] = [
    ("Human", ["", "", "", "", "Clone", "Stowaway"]), ("Human", [""]),
    ("Alien", ["", "Thornback", "Dune Whistler", "Mirror-Keeper", "Ångström Drifter"]),
    ("Humanoid", ["", "Tide-born", "Moth-Person", "Half-Statue"]), ("Robot", ["", "Lamp", "Self-aware Kettle"]),
    ("Animal", ["", "Otter", "Talking Heron"]), ("Lichen", ["Choir", ""]), ("Cloud", ["", "Cumulus \"Grand\""]),
    ("unknown", [""]),
  ]
}

extension Character {
  /// A copy with ` ·vN` at the end of each text (which replaces an earlier mark). A mixture of two versions becomes
  /// visible by it.
  package func marked(_ version: Int) -> Character {
    func mark(_ text: String) -> String {
      "\(text.split(separator: " ·v", omittingEmptySubsequences: false).first ?? "") ·v\(version)"
    }
    var copy = self
    for field in [\Character.name, \.status, \.species, \.type, \.gender, \.image, \.url, \.created] {
      copy[keyPath: field] = mark(copy[keyPath: field])
    }
    for place in [\Character.origin, \.location] {
      copy[keyPath: place] = Place(name: mark(self[keyPath: place].name), url: mark(self[keyPath: place].url))
    }
    copy.episodes = episodes.map(mark)
    return copy
  }
}

/// SplitMix64: the same sequence for the same seed on every machine (Steele, Lea, Flood 2014, fig. 16).
private struct Dice: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func pick<Element>(_ choices: [Element]) -> Element {
    choices[Int(next() % UInt64(choices.count))]
  }

  mutating func name() -> String {
    let first = pick(Self.firstNames)
    return switch next() % 8 {
    case 0: first
    case 1: "\(pick(Self.titles)) \(pick(Self.lastNames))"
    default: "\(first) \(pick(Self.lastNames))"
    }
  }

  mutating func place() -> Character.Place {
    let index = Int(next() % UInt64(Self.places.count))
    return Character.Place(name: Self.places[index], url: "\(Characters.publicURL)/location/\(index + 1)")
  }

  /// Most characters have one to three episodes, a few have many.
  mutating func episodes() -> [String] {
    let all = Characters.episodes
    let first = Int(next() % UInt64(all))
    let often = next() % 12 == 0
    let count = often ? Int(next() % 31) : Int(next() % 3)
    return (first...min(first + count, all - 1)).map { "\(Characters.publicURL)/episode/\($0 + 1)" }
  }

  private static let titles = ["Captain", "Dr.", "Old", "Judge", "The Younger", "Madame", "Señor", "Auntie"]
  private static let firstNames = [
    "Abiola", "Ada", "Bertrand", "Chidi", "Dorothea", "Éloïse", "Fenna", "Gudrun", "Hiroko", "Ines", "Jasper",
    "Kaveh", "Lowri", "Łucja", "Mattias", "Nanna", "Oksana", "Priya", "Quill", "Rosalind", "Søren", "Tamsin", "Udo",
    "Vesna", "Wren", "Xóchitl", "Yusuf", "Zoë", "美咲", "Ζωή", "Наталья", "Bo \"Buttons\"",
  ]
  private static let lastNames = [
    "Abernathy", "Bjørnstad", "Calloway", "D'Arcy", "Eastwick", "Fairweather", "Gutiérrez", "Holloway", "Ibáñez",
    "Jankowski", "Kettleworth", "Løvenskiold", "Marchetti", "Nightingale", "O’Malley", "Pemberton", "Quartermain",
    "Rasmussen", "Şahin", "Thistlewood", "Umarov", "Vogelsang", "Winterbourne", "Yamashita", "Zápotocký", "C-41",
  ]
  fileprivate static let places = [
    "Harbour of Lanterns", "Kettle Moon", "Upper Fenwick", "The Quiet Orbit", "Station 7-G", "Saltmarsh",
    "Øresund Deep",
    "Glasshouse District", "Mount Perpendicular", "Île aux Moulins", "Second-Hand Planet", "Tannery Row", "Nebula Nº 9",
    "The Long Staircase", "Port Cassava", "Borrowed Earth (B-12)", "Weather Archive", "Ашхабад Orbital",
  ]
}

/// One character of the upstream.
package struct Character: Sendable, Equatable {
  /// The origin or the location of a character: a member object in the API's answer.
  package struct Place: Sendable, Equatable {
    /// Name of the place.
    package var name: String
    /// Address of the place itself; empty if unknown.
    package var url: String

    /// The default is no place.
    package init(name: String = "", url: String = "") {
      self.name = name
      self.url = url
    }
  }

  /// Id, 1 to 2^63-1.
  package var id: Int64
  /// Name of the character.
  package var name: String
  /// Alive, Dead or unknown.
  package var status: String
  /// The species.
  package var species: String
  /// A more precise word for the species; often empty.
  package var type: String
  /// Female, Male, Genderless or unknown.
  package var gender: String
  /// The origin.
  package var origin: Place
  /// The last known location.
  package var location: Place
  /// Address of a picture.
  package var image: String
  /// Address of the character itself.
  package var url: String
  /// The time at which the API added it, as a text.
  package var created: String
  /// Addresses of its episodes, in order.
  package var episodes: [String]
  /// A JSON object of further fields in upstream's spelling; nil without further fields.
  package var extra: String?

  /// All fields except the id are empty by default.
  package init(
    id: Int64, name: String = "", status: String = "", species: String = "", type: String = "",
    gender: String = "", origin: Place = Place(), location: Place = Place(), image: String = "",
    url: String = "", created: String = "", episodes: [String] = [], extra: String? = nil
  ) {
    self.id = id
    self.name = name
    self.status = status
    self.species = species
    self.type = type
    self.gender = gender
    self.origin = origin
    self.location = location
    self.image = image
    self.url = url
    self.created = created
    self.episodes = episodes
    self.extra = extra
  }
}
