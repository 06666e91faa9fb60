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
