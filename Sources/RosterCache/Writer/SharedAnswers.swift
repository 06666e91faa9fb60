package import RosterModel

/// An answer of upstream to one list of a child that other lists may need: their pages have the same address (P12).
package struct SharedAnswer: Sendable {
  /// Identifies the request.
  package var key: String
  /// Status and headers. Its body is empty.
  package var response: Response
  /// Digest of the body; nil for an answer without a page.
  package var digest: Int64?
  /// The validator of the request, if upstream confirmed it (304).
  package var confirmed: Validator
  /// Name of the resource whose page has the body.
  package var resource: String
  /// The list of that page.
  package var place: ListPlace
  /// Identifies that page in its list.
  package var address: String

  /// An answer to that request.
  package init(
    key: String, response: Response, digest: Int64?, confirmed: Validator, resource: String,
    place: ListPlace, address: String
  ) {
    (self.key, self.response, self.digest, self.confirmed) = (key, response, digest, confirmed)
    (self.resource, self.place, self.address) = (resource, place, address)
    self.response.body = []
    self.response.token = nil
  }
}

/// The temporary table of answers that several lists of children may need. Ordinary resources have no row.
enum SharedAnswers {
  /// place: that of the page with the body; NULL for the body of a published page, and without a body.
  static let create = """
    CREATE TABLE temp.shared(key TEXT PRIMARY KEY, status INTEGER NOT NULL, headers TEXT NOT NULL, redirected_to TEXT,
      digest INTEGER, place INTEGER, etag TEXT, last_modified TEXT) WITHOUT ROWID;
    """
  static let name = "temp.shared"

  static func forget(_ database: Database) throws { try database.run("DELETE FROM temp.shared") }

  /// No answer is stored with a cookie.
  static func text(_ headers: [Request.Header]) -> String {
    headers.filter { $0.name.lowercased() != "set-cookie" }.map { "\($0.name):\($0.value)" }.joined(separator: "\n")
  }

  static func headers(_ text: String) -> [Request.Header] {
    text.split(separator: "\n").map { line in
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      return Request.Header(String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }
  }
}

extension Cache {
  func share(_ answers: [SharedAnswer]) throws {
    guard !answers.isEmpty else { return }
    try performPull("keep answers for other lists") { database, _ in
      let insert = try database.statement(
        """
        INSERT OR REPLACE INTO temp.shared VALUES (?1, ?2, ?3, ?4, ?5,
          (SELECT place FROM temp.pulled WHERE resource = ?8 AND list = ?9 AND address = ?10 AND number IS NOT NULL
            AND ?11),
          ?6, ?7)
        """)
      for answer in answers {
        try insert.run([
          .text(answer.key), Value(answer.response.status), .text(SharedAnswers.text(answer.response.headers)),
          Value(answer.response.redirectedTo), Value(answer.digest), Value(answer.confirmed.etag),
          Value(answer.confirmed.lastModified), Value(try index(of: answer.resource)),
          .integer(answer.place.number), .text(answer.address), Value(answer.confirmed.isEmpty),
        ])
      }
    }
  }

  func sharedAnswer(
    to key: String, digest: Int64?, validator: Validator
  ) throws -> (response: Response, isBodyKnown: Bool)? {
    try performPull("read the answer to another list") { database, file in
      let found = try database.first(
        "SELECT status, headers, redirected_to, digest, place, etag, last_modified FROM temp.shared WHERE key = ?1",
        .text(key), read: SharedRow.init)
      guard let found else { return nil }
      if let place = found.place {
        var response = found.response
        response.body = Array(try file.page(at: place).body)
        return (response, false)
      }
      if found.digest == nil { return (found.response, false) }
      let isKnown = found.digest == digest && (found.confirmed.isEmpty || found.confirmed == validator)
      return isKnown ? (found.response, true) : nil
    }
  }
}

/// A row of `shared`.
private struct SharedRow {
  var response: Response
  var digest: Int64?
  var place: Int64?
  var confirmed: Validator

  init(_ row: Row) {
    response = Response(status: row.int(0), headers: SharedAnswers.headers(row.text(1)))
    response.redirectedTo = row.optionalText(2)
    (digest, place) = (row.optionalInteger(3), row.optionalInteger(4))
    confirmed = Validator(etag: row.optionalText(5), lastModified: row.optionalText(6))
  }
}
