/// Something that a trouble is about: what a person looks at next.
package struct Concern: Codable, Sendable, Equatable {
  /// What sort of thing it is.
  package enum Kind: String, Codable, Sendable, CaseIterable {
    case page, record, resource, address, file, header, setting
  }

  /// What sort of thing it is.
  package var kind: Kind
  /// A page's or another address, a record's key, a resource's name, a path, a header, a key of the configuration.
  package var name: String
  /// Of a page or a record: the resource's name; left out elsewhere.
  package var resource: String?
  /// Of a page, or of a record that a page lists: from 1, in the order in which they came.
  package var page: Int?
  /// Of a rejected record: from 0 in its page.
  package var position: Int?
  /// What is the matter with this one of several.
  package var reason: String?
  /// The address without the keys of records and other values of upstream's; nil if `name` has none of them.
  package var keyless: String?

  /// The same without the keys of records; nil if it is a record (S11.3).
  package var withoutKeys: Concern? {
    if kind == .record { return nil }
    var concern = self
    (concern.name, concern.keyless) = (keyless ?? name, nil)
    return concern
  }

  private init(_ kind: Kind, _ name: String) {
    self.kind = kind
    self.name = name
  }

  /// A page of a list, by its address; token parameters are no part of it.
  package static func page(_ number: Int, of resource: String, _ url: String, keyless: String? = nil) -> Concern {
    var page = Concern(.page, url)
    page.resource = resource
    page.page = number
    page.keyless = keyless
    return page
  }

  /// A record by its key; nil: it has none that can be read.
  package static func record(
    _ key: String?, of resource: String, page: Int? = nil, position: Int? = nil, reason: String? = nil
  ) -> Concern {
    var record = Concern(.record, key ?? "")
    record.resource = resource
    record.page = page
    record.position = position
    record.reason = reason
    return record
  }

  /// As `[resource.NAME]` has it.
  package static func resource(_ name: String) -> Concern { Concern(.resource, name) }
  /// An address that is no page's.
  package static func address(_ url: String, keyless: String? = nil) -> Concern {
    var address = Concern(.address, url)
    address.keyless = keyless
    return address
  }

  /// By its path.
  package static func file(_ path: String) -> Concern { Concern(.file, path) }
  /// Of an answer.
  package static func header(_ name: String) -> Concern { Concern(.header, name) }
  /// A key of the configuration.
  package static func setting(_ key: String) -> Concern { Concern(.setting, key) }

  /// What a failure was tried on: a URL or a path; nil: neither.
  init?(subject: String) {
    if subject.hasPrefix("/") {
      self.init(.file, subject)
    } else if subject.contains("://") {
      self.init(.address, subject)
    } else {
      return nil
    }
  }
}
