import Glibc
import RosterCache
import RosterFiles

/// Number of pages of the last successful sync; nil before the first one. Throws a Failure if the cache exists and
/// cannot be read. Never creates `-wal` or `-shm`.
package func pagesOfLastSync(cachePath path: String) throws -> Int? {
  guard access(path, F_OK) == 0 else { return nil }
  let isOpen = ["-wal", "-shm"].allSatisfy { access(path + $0, F_OK) == 0 }
  if isOpen { return try CacheReader(path: path).pages() }
  // Without `-shm`, a user who may not create it cannot read a `-wal` that has content.
  return fileSize("\(path)-wal") == 0 ? try CacheReader(closed: path).pages() : nil
}
