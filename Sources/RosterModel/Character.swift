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

/// A record of a page that cannot be stored (P9).
package struct Reject: Sendable, Equatable {
  /// Its place among the page's results, from 0.
  package var position: Int
  /// nil where the record does not say.
  package var id: Int64?
  /// One sentence for the operator: which field, what it is, what is allowed.
  package var reason: String
  /// The record as upstream sent it.
  package var document: String

  package init(position: Int, id: Int64?, reason: String, document: String) {
    self.position = position
    self.id = id
    self.reason = reason
    self.document = document
  }
}

/// What the decoder makes of one body.
package struct Page: Sendable, Equatable {
  /// `info.count`: the characters upstream has in all.
  package var count: Int
  /// `info.pages`.
  package var pages: Int
  package var characters: [Character]
  package var rejects: [Reject]

  package init(count: Int, pages: Int, characters: [Character], rejects: [Reject] = []) {
    self.count = count
    self.pages = pages
    self.characters = characters
    self.rejects = rejects
  }
}

/// What upstream gave to ask with whether a page has changed (RFC 9110 §8.8).
package struct Validator: Sendable, Equatable {
  package var etag: String?
  /// Only where it is at least 1 s older than the answer's Date (RFC 9110 §8.8.2.2).
  package var lastModified: String?

  package init(etag: String? = nil, lastModified: String? = nil) {
    self.etag = etag
    self.lastModified = lastModified
  }

  package var isEmpty: Bool { etag == nil && lastModified == nil }
}
