package import RosterModel

/// What one answer tells: a definition, and what its reader should know of it.
package struct Finding: Sendable, Equatable {
  /// Where the answer came from; nil: nobody said.
  package var source: String?
  /// How many records it had.
  package var records: Int
  /// `upstream.base_url`; a placeholder where nobody said where the answer came from.
  package var baseURL: String
  /// `upstream.headers`, those that hold no secret.
  package var headers: [Request.Header]
  /// The next page's address is on another origin: it is asked of base_url's.
  package var isRebased = false
  /// The definition.
  package var resource: Resource
  /// In the order in which they were made.
  package var notes: [Note]

  /// Its table, and those of its lists.
  var tables: [String] { [resource.table] + resource.lists.map(\.table) }

  /// What could not be seen, at a place.
  package func unseen(_ place: Note.Place) -> [String] {
    notes.filter { $0.place == place && $0.isUnseen }.map(\.text)
  }
}

/// A comment of a definition.
package struct Note: Sendable, Equatable {
  /// The line that it is about.
  package enum Place: Sendable, Equatable {
    case baseURL, links, headers, auth
    case path, query, method, records, key, table, condition, search, byKey
    case style, param, first, start, size, at, more, last, count, beyond
    /// All of them.
    case columns
    case column(String)
    case list(String)
  }

  /// The line that it is about.
  package var place: Place
  /// One answer cannot tell it.
  package var isUnseen: Bool
  /// Lines of TOML that could stand there; empty: none.
  package var lines: [String]
  /// A clause.
  package var text: String

  /// That something could not be seen.
  static func unseen(_ place: Place, _ text: String, lines: String...) -> Note {
    Note(place: place, isUnseen: true, lines: lines, text: text)
  }

  static func remark(_ place: Place, _ text: String, lines: String...) -> Note {
    Note(place: place, isUnseen: false, lines: lines, text: text)
  }
}
