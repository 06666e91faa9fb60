import Glibc
import RosterCache

/// How many pages the last sync that went well had; nil before the first. Throws a Failure where a cache is there and
/// cannot be read. Touches nothing: a cache without its log, which a reader would have to make, is not looked into.
package func pagesOfLastSync(cachePath path: String) throws -> Int? {
  guard ["", "-wal", "-shm"].allSatisfy({ access(path + $0, F_OK) == 0 }) else { return nil }
  return try CacheReader(path: path).pages()
}
