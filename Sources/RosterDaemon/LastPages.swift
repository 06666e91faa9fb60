import Glibc
import RosterCache
import RosterFiles

/// How many pages the last sync that went well had; nil before the first. Throws a Failure where a cache is there and
/// cannot be read. Touches nothing: the log and its index, which a reader would have to make, it does without.
package func pagesOfLastSync(cachePath path: String) throws -> Int? {
  guard access(path, F_OK) == 0 else { return nil }
  let isOpen = ["-wal", "-shm"].allSatisfy { access(path + $0, F_OK) == 0 }
  if isOpen { return try CacheReader(path: path).pages() }
  // A log without its index can be read by nobody who may not make one.
  return fileSize("\(path)-wal") == 0 ? try CacheReader(closed: path).pages() : nil
}
