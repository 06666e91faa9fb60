internal import RosterJSON

extension CacheReader {
  /// The records that could not be stored, as of the last sync that was published or found nothing new.
  package struct Rejects: Sendable, Equatable {
    /// One of them.
    package struct Record: Sendable, Equatable {
      /// By which it was met first.
      package var sync: Int64
      /// The resource's name.
      package var resource: String
      /// In the order they came, from 1; 0: asked for by its key.
      package var page: Int
      /// In the page, from 0.
      package var position: Int
      /// A clause: why it could not be stored.
      package var reason: String
      /// As upstream sent it.
      package var document: String
      /// The same without white space; nil: it is no JSON that SQLite takes.
      fileprivate var json: String?

      fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
          json.member("sync_id", sync)
          json.member("resource", resource)
          json.member("page", page)
          json.member("position", position)
          json.member("reason", reason)
          json.name("document")
          if let document = self.json { json.raw(document.utf8) } else { json.value(document) }
        }
      }
    }

    /// By resource, page and position.
    package var records: [Record]
    /// Whether anything was published yet.
    package var hasSnapshot: Bool

    /// `{"rejects":[…]}`, each with the columns of the table; `document` as a value where it is JSON.
    package var json: String {
      var json = JSONWriter()
      json.object { json in
        json.name("rejects")
        json.list { json in for record in records { record.write(to: &json) } }
      }
      return json.text
    }
  }

  /// What could not be stored.
  package func rejects() throws -> Rejects {
    try read {
      let records = try database.rows(
        """
        SELECT sync_id, resource, page, position, reason, document,
          CASE WHEN json_valid(document) THEN json(document) END
        FROM rejects ORDER BY resource, page, position
        """
      ) {
        Rejects.Record(
          sync: $0.integer(0), resource: $0.text(1), page: $0.int(2), position: $0.int(3), reason: $0.text(4),
          document: $0.text(5), json: $0.optionalText(6))
      }
      return Rejects(records: records, hasSnapshot: try snapshot())
    }
  }
}
