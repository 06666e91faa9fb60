package import RosterModel

/// Follows the feed of the cache at a path, across publishes, restarts of the daemon and replaced files. It never
/// waits: the caller decides how often to ask.
package struct FeedFollower {
  /// The position after the last change that was returned.
  package private(set) var position: FeedPosition

  /// Path of the cache.
  package let path: String
  private let resource: String?
  private var reader: CacheReader?
  private var files = FileIdentity.Parts()
  /// `PRAGMA data_version` before the last reading, if that reading reached the end; nil if there may be more changes.
  private var version: Int64?

  /// - Parameter resource: nil follows all resources.
  package init(path: String, from position: FeedPosition, resource: String?) {
    self.path = path
    self.position = position
    self.resource = resource
  }

  /// The next changes, at most `limit`; empty if there are no new ones. Throws `Failure`: 65 if everything must be read
  /// again, 1 for an unknown resource, 73 for a cache that cannot be read now.
  package mutating func next(limit: Int = 1000) throws -> [RecordChange] {
    let reader = try current()
    let now = try reader.dataVersion()
    if now == version { return [] }
    switch try reader.feed(position, resource: resource, limit: limit) {
    case .readAnew(let why):
      throw Failure(
        .badAnswer, step: "go on with the changes", subject: path, cause: why,
        hint: "read everything again, and follow from the largest id of changes")
    case .page(let page):
      position = FeedPosition(feed: page.feed, seen: page.last)
      version = page.isWhole ? now : nil
      return page.changes
    }
  }

  /// Columns that help people to recognise a record, the key first; empty if the resource is not pulled any more.
  package func telling(_ resource: String) -> [Resource.Column] { (try? reader?.telling(resource)) ?? [] }

  /// The parents of changed children, such as `item 2`, by the ids of the changes.
  package func parents(of changes: [RecordChange]) -> [Int64: String] {
    (try? reader?.parents(of: changes)) ?? [:]
  }

  /// True if a snapshot was published.
  package func hasSnapshot() throws -> Bool { try reader?.hasSnapshot() ?? false }

  /// The reader of the files that have the names now. If a file is missing, its writer is about to create it again.
  private mutating func current() throws -> CacheReader {
    let found = FileIdentity.Parts(path)
    if let reader, found == files || !found.isWhole { return reader }
    // The old reader is closed first: closing any other descriptor of a file releases SQLite's locks on it.
    reader = nil
    version = nil
    let opened = try CacheReader(path: path)
    (reader, files) = (opened, found)
    return opened
  }
}

extension CacheReader {
  /// A number that changes as soon as another connection has written (sqlite.org/pragma.html#pragma_data_version).
  package func dataVersion() throws -> Int64 {
    try read { try database.first("PRAGMA data_version") { $0.integer(0) } ?? 0 }
  }

  fileprivate func telling(_ resource: String) throws -> [Resource.Column] {
    try read { try tables(resource).telling }
  }
}
