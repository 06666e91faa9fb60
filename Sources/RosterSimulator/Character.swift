/// One character as it is published: the columns of `characters`, and its episodes in order.
package struct Character: Sendable, Equatable {
  package struct Place: Sendable, Equatable {
    package var name: String
    package var url: String

    package init(name: String = "", url: String = "") {
      self.name = name
      self.url = url
    }
  }

  /// 1…2^63-1.
  package var id: Int64
  package var name: String
  package var status: String
  package var species: String
  package var type: String
  package var gender: String
  package var origin: Place
  package var location: Place
  package var image: String
  package var url: String
  package var created: String
  package var episodes: [String]
  /// A JSON object of the fields that have no column, as upstream wrote them; nil: none.
  package var extra: String?

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
