/// One character that the upstream has.
package struct Character: Sendable, Equatable {
  /// Where somebody is from, or is: a member object of the API's answer.
  package struct Place: Sendable, Equatable {
    /// As the API names it.
    package var name: String
    /// Of the place itself; empty: unknown.
    package var url: String

    /// Nowhere, unless said.
    package init(name: String = "", url: String = "") {
      self.name = name
      self.url = url
    }
  }

  /// 1…2^63-1.
  package var id: Int64
  /// As the API names it.
  package var name: String
  /// Alive, Dead or unknown.
  package var status: String
  /// What it is.
  package var species: String
  /// A closer word for the species; often empty.
  package var type: String
  /// Female, Male, Genderless or unknown.
  package var gender: String
  /// Where it is from.
  package var origin: Place
  /// Where it was seen last.
  package var location: Place
  /// Address of a picture.
  package var image: String
  /// Of the character itself.
  package var url: String
  /// When the API took it up, as a text.
  package var created: String
  /// Addresses, in order.
  package var episodes: [String]
  /// A JSON object of the fields that have no column, as upstream wrote them; nil: none.
  package var extra: String?

  /// Empty but for its id, unless said.
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
