/// A record that could not be stored, with the reason.
package struct RejectedRecord: Codable, Sendable, Equatable {
  /// The sync that found it first.
  package var sync: Int64
  /// The resource's name.
  package var resource: String
  /// Record id of its parent; nil without a parent.
  package var parentID: Int64?
  /// The parent for people, such as `item 2`; nil without a parent.
  package var parent: String?
  /// Number of its page, from 1. It is 0 for a record of an incremental pull, or one that was requested by its key. It
  /// is negative for an incremental answer that calls itself partial.
  package var page: Int
  /// Position in the page, counted from 0. It is negative for a fault of the answer itself, such as a partial one.
  package var position: Int
  /// nil if the record has no readable key.
  package var key: String?
  /// The reason as a clause.
  package var reason: String
  /// The record as upstream sent it.
  package var document: String

  /// Makes a row of `rejects`, with the record's key.
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

  /// The record as an item of an explanation.
  package var concern: AffectedItem {
    var record = AffectedItem.record(
      key, of: resource, page: page > 0 ? page : nil, position: page > 0 && !isAnswer ? position : nil, reason: reason)
    record.parent = parent
    return record
  }

  /// True if the row is about an answer and not about one of its records.
  package var isAnswer: Bool { position < 0 }

  /// The position counted from 1, as a phrase: `record 3`, `record 3 on page 2`, `page 2`.
  package var place: String {
    isAnswer ? "page \(abs(page))" : "record \(position + 1)" + (page > 1 ? " on page \(page)" : "")
  }
}

/// A list of a child that could not be pulled.
package struct FailedList: Sendable, Equatable {
  /// Name of the child.
  package var resource: String
  /// Name of its parent resource.
  package var parent: String
  /// Keys of the ancestors, outermost first, separated by spaces.
  package var keys: String
  /// True if the parent record disappeared in the meantime; false if the list has failed.
  package var hasVanished: Bool
  /// The reason, as one sentence.
  package var reason: String

  /// Makes the description of a list.
  package init(of resource: String, parent: String, keys: String, hasVanished: Bool, reason: String) {
    self.resource = resource
    self.parent = parent
    self.keys = keys
    self.hasVanished = hasVanished
    self.reason = reason
  }

  /// The parent record, for `explain`.
  package var concern: AffectedItem { .record(keys, of: parent, reason: reason) }
}
