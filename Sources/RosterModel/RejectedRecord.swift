/// A record that could not be stored, and why (P9).
package struct RejectedRecord: Codable, Sendable, Equatable {
  /// The sync that met it first.
  package var sync: Int64
  /// The resource's name.
  package var resource: String
  /// Number of its page, from 1; 0 for a record that was requested by its key.
  package var page: Int
  /// Place in the page, from 0.
  package var position: Int
  /// nil if the record has none that can be read.
  package var key: String?
  /// A clause.
  package var reason: String
  /// The record as upstream sent it.
  package var document: String

  /// A row of `rejects`, with the record's key.
  package init(
    sync: Int64, resource: String, page: Int, position: Int, key: String? = nil, reason: String, document: String
  ) {
    self.sync = sync
    self.resource = resource
    self.page = page
    self.position = position
    self.key = key
    self.reason = reason
    self.document = document
  }

  /// The record as an explanation names it.
  package var concern: Concern {
    .record(key, of: resource, page: page > 0 ? page : nil, position: page > 0 ? position : nil, reason: reason)
  }

  /// Its place as people count, a phrase: `record 3`, `record 3 on page 2`.
  package var place: String { "record \(position + 1)" + (page > 1 ? " on page \(page)" : "") }
}
