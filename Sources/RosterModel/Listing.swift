/// A question to upstream that leads to pages of records, and how these pages are read.
package struct Listing: Sendable, Equatable {
  /// Below base_url, with a leading `/`.
  package var path: String
  /// Sent with every page, in this order.
  package var query: [Resource.Parameter]
  /// Method of each page request.
  package var method: Resource.Method
  /// The JSON of every POST; an object.
  package var body: JSONValue
  /// Place of the list of records in an answer.
  package var records: JSONPointer
  /// Place of a record's key. A column of the resource is at the same place, and its type is the key's.
  package var key: JSONPointer
  /// How one page follows another.
  package var pages: Resource.Pages

  /// The question at that path.
  package init(
    path: String, query: [Resource.Parameter], method: Resource.Method, body: JSONValue, records: JSONPointer,
    key: JSONPointer, pages: Resource.Pages
  ) {
    self.path = path
    self.query = query
    self.method = method
    self.body = body
    self.records = records
    self.key = key
    self.pages = pages
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
