package import RosterCore

/// The result for one answer: a definition, and notes for its reader.
package struct InferredDefinition: Sendable, Equatable {
  /// The address or name of the answer's source; nil if unknown.
  package var source: String?
  /// Number of records in the answer.
  package var records: Int
  /// The value for `upstream.base_url`; a placeholder if the source is unknown.
  package var baseURL: String
  /// The values for `upstream.headers`, without secrets.
  package var headers: [Request.Header]
  /// The value for `upstream.tls.ca_file`; nil if the system's roots suffice.
  package var caFile: String?
  /// True if the next page's address is on another origin, so that it must be requested from base_url's origin.
  package var isRebased = false
  /// The inferred definition.
  package var resource: Resource
  /// The notes in the order in which they were made.
  package var notes: [Note]

  /// Its table, and those of its lists.
  var tables: [String] { [resource.table] + resource.lists.map(\.table) }
}

/// A comment of a definition.
package struct Note: Sendable, Equatable {
  /// The lines of a definition that a note can be about.
  package enum Place: Sendable, Equatable {
    /// The whole address of the request.
    case address
    case baseURL, links, headers, auth
    /// The table of the page style.
    case pages
    case path, query, method, records, noRecords, key, table, condition, search, byKey, since, each
    case style, param, first, start, size, at, more, last, count, beyond
    case columns
    case column(String)
    case list(String)
    /// Other resources, whose lists are those of single records.
    case children
  }

  /// The line that it is about.
  package var place: Place
  /// True if a single answer cannot show the fact.
  package var isUnseen: Bool
  /// Suggested lines of TOML; may be empty.
  package var lines: [String]
  /// A clause.
  package var text: String

  /// A note about a fact that the answer does not show.
  static func unseen(_ place: Place, text: String, lines: String...) -> Note {
    Note(place: place, isUnseen: true, lines: lines, text: text)
  }

  static func remark(_ place: Place, text: String, lines: String...) -> Note {
    Note(place: place, isUnseen: false, lines: lines, text: text)
  }
}
