/// A question to upstream that leads to pages of records, and how these pages are read.
package struct Listing: Sendable, Equatable {
  /// Below base_url, with a leading `/`.
  package var path: String
  /// Sent with every page, in this order.
  package var query: [Resource.Parameter]
  /// Sent with every page, before those of `upstream.headers`.
  package var headers: [Request.Header] = []
  /// Names of parameters whose values are sent as written, as far as a query may have them.
  package var raw: [String] = []
  /// Method of each page request.
  package var method: Resource.Method
  /// How the body of a POST is written.
  package var format = BodyFormat.json
  /// The JSON of every POST; an object.
  package var body: JSONValue
  /// Place of the list of records in an answer.
  package var records: JSONPointer
  /// Form of the records there.
  package var shape = Resource.Shape.objects
  /// Place of the names of a row's values in an answer; empty if rows have no names.
  package var rowNames = JSONPointer()
  /// Place of a record's key. A column of the resource is at the same place, and its type is the key's.
  package var key: JSONPointer
  /// The further places of a composite key; empty if the key is one value.
  package var otherKeys: [JSONPointer] = []
  /// How one page follows another.
  package var pages: Resource.Pages
}

extension Listing {
  /// `raw`; nil, for a key without a line, if the list is empty.
  package var givenRaw: [String]? {
    get { raw.isEmpty ? nil : raw }
    set { raw = newValue ?? [] }
  }

  /// `format`, as a key that has no line for JSON.
  package var givenFormat: BodyFormat? {
    get { format == .json ? nil : format }
    set { format = newValue ?? .json }
  }

  /// `headers`; nil, for a key without a line, if the list is empty.
  package var givenHeaders: [Request.Header]? {
    get { headers.isEmpty ? nil : headers }
    set { headers = newValue ?? [] }
  }

  /// Every place of the key.
  package var keyPlaces: [JSONPointer] {
    get { [key] + otherKeys }
    set { (key, otherKeys) = (newValue.first ?? JSONPointer(), Array(newValue.dropFirst())) }
  }
}

extension Resource {
  /// `path` of the listing.
  package var path: String {
    get { listing.path }
    set { listing.path = newValue }
  }
  /// `query` of the listing.
  package var query: [Parameter] {
    get { listing.query }
    set { listing.query = newValue }
  }
  /// `method` of the listing.
  package var method: Method {
    get { listing.method }
    set { listing.method = newValue }
  }
  /// `body` of the listing.
  package var body: JSONValue {
    get { listing.body }
    set { listing.body = newValue }
  }
  /// `records` of the listing.
  package var records: JSONPointer {
    get { listing.records }
    set { listing.records = newValue }
  }
  /// `shape` of the listing.
  package var shape: Shape {
    get { listing.shape }
    set { listing.shape = newValue }
  }
  /// `rowNames` of the listing.
  package var rowNames: JSONPointer {
    get { listing.rowNames }
    set { listing.rowNames = newValue }
  }
  /// `otherKeys` of the listing.
  package var otherKeys: [JSONPointer] {
    get { listing.otherKeys }
    set { listing.otherKeys = newValue }
  }
  /// `key` of the listing.
  package var key: JSONPointer {
    get { listing.key }
    set { listing.key = newValue }
  }
  /// `pages` of the listing.
  package var pages: Pages {
    get { listing.pages }
    set { listing.pages = newValue }
  }
}

/// `upstream.links`: the treatment of a next-page address whose origin differs from base_url's.
package enum NextLinks: String, Sendable, CaseIterable {
  /// The sync fails (65).
  case sameOrigin = "same_origin"
  /// The path and query are requested from base_url's origin.
  case rebase
}
