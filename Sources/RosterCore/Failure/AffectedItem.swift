/// An item that a trouble is about, which the user should look at next.
package struct AffectedItem: Codable, Sendable, Equatable {
  /// The kinds of items.
  package enum Kind: String, Codable, Sendable, CaseIterable {
    case page, record, resource, address, file, header, setting
  }

  /// The kind of item.
  package var kind: Kind
  /// The name of the item: the address of a page, the key of a record, the name of a resource or header. For other
  /// kinds it is an address, a path, or a key of the configuration.
  package var name: String
  /// Name of the resource of a page or record; nil for other kinds.
  package var resource: String?
  /// The parent of a rejected record of a child, such as `item 2`; nil otherwise.
  package var parent: String?
  /// Number of the page, or of the page that lists the record, counted from 1 in the order of arrival.
  package var page: Int?
  /// Position of a rejected record in its page, counted from 0.
  package var position: Int?
  /// The problem of this item, if several items have different ones.
  package var reason: String?
  /// The body of a POST to the address, without credentials; nil for a GET and other kinds.
  package var body: String?

  private init(_ kind: Kind, name: String) {
    self.kind = kind
    self.name = name
  }

  /// A page of a list, by its address; token parameters are no part of it.
  package static func page(_ number: Int, of resource: String, url: String, body: String? = nil) -> AffectedItem {
    var page = AffectedItem(.page, name: url)
    page.resource = resource
    page.page = number
    page.body = body
    return page
  }

  /// A record with its key; nil if its key cannot be read.
  package static func record(
    _ key: String?, of resource: String, page: Int? = nil, position: Int? = nil, reason: String? = nil
  ) -> AffectedItem {
    var record = AffectedItem(.record, name: key ?? "")
    record.resource = resource
    record.page = page
    record.position = position
    record.reason = reason
    return record
  }

  /// A resource with its name in `[resource.NAME]`.
  package static func resource(_ name: String) -> AffectedItem { AffectedItem(.resource, name: name) }
  /// An address of something other than a page.
  package static func address(_ url: String, body: String? = nil) -> AffectedItem {
    var address = AffectedItem(.address, name: url)
    address.body = body
    return address
  }

  /// A file with its path.
  package static func file(_ path: String) -> AffectedItem { AffectedItem(.file, name: path) }
  /// A header of an answer.
  package static func header(_ name: String) -> AffectedItem { AffectedItem(.header, name: name) }
  /// A key of the configuration.
  package static func setting(_ key: String) -> AffectedItem { AffectedItem(.setting, name: key) }

  /// The URL or path that a failure names as its subject; nil if the subject is neither.
  init?(subject: String) {
    if subject.hasPrefix("/") {
      self.init(.file, name: subject)
    } else if subject.contains("://") {
      self.init(.address, name: subject)
    } else {
      return nil
    }
  }
}
