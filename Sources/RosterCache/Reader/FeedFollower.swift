package import RosterModel

/// Follows the feed of the cache that has a name, over publishes, restarts of the daemon and files that are put in its
/// place. It waits for nothing: whoever asks decides how often.
package struct FeedFollower {
  /// How far it has come.
  package private(set) var position: FeedPosition

  /// The cache's.
  package let path: String
  private let resource: String?
  private var reader: CacheReader?
  private var files = FileIdentity.Parts()
  /// `PRAGMA data_version` before the last reading, which found no more; nil: there may be more.
  private var version: Int64?

  /// - Parameter resource: nil: all.
  package init(path: String, from position: FeedPosition, resource: String?) {
    self.path = path
    self.position = position
    self.resource = resource
  }

  /// The next changes, at most `limit`; empty: there is nothing new. Throws `Failure`: 65 where everything is to be
  /// read anew, 1 for a resource that the cache does not know, 73 for a cache that cannot be read now.
  package mutating func next(limit: Int = 1000) throws -> [CacheReader.Change] {
    let reader = try current()
    let now = try reader.dataVersion()
    if now == version { return [] }
    switch try reader.feed(position, resource: resource, limit: limit) {
    case .readAnew(let why):
      throw Failure(
        .badAnswer, step: "go on with the changes", subject: path, cause: why,
        hint: "read everything anew, and follow from the largest id of changes")
    case .page(let page):
      position = FeedPosition(feed: page.feed, seen: page.last)
      version = page.isWhole ? now : nil
      return page.changes
    }
  }

  /// Columns that tell people one record of a resource from another, the key first; none where it is not pulled any
  /// more.
  package func telling(_ resource: String) -> [Resource.Column] { (try? reader?.telling(resource)) ?? [] }

  /// Whether anything was published yet.
  package func hasSnapshot() throws -> Bool { try reader?.hasSnapshot() ?? false }

  /// Of the files that have the name now. Where one of them is missing, somebody is about to make it anew.
  private mutating func current() throws -> CacheReader {
    let found = FileIdentity.Parts(path)
    if let reader, found == files || !found.isWhole { return reader }
    // First: SQLite's locks on a file go where another descriptor of it is closed.
    reader = nil
    version = nil
    let opened = try CacheReader(path: path)
    (reader, files) = (opened, found)
    return opened
  }
}

extension CacheReader {
  /// Another number as soon as another connection has written (sqlite.org/pragma.html#pragma_data_version).
  func dataVersion() throws -> Int64 {
    try read { try database.first("PRAGMA data_version") { $0.integer(0) } ?? 0 }
  }

  fileprivate func telling(_ resource: String) throws -> [Resource.Column] {
    try read { try tables(resource).telling }
  }
}
