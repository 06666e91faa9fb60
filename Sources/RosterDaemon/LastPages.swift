import Glibc
import RosterCache
import RosterFiles
package import RosterModel

/// Number of requests that the lists of the last successful sync need, all together and of each resource; nil before
/// the first one. Throws a Failure if the cache exists and cannot be read. Never creates `-wal` or `-shm`.
package func requestsOfLastSync(cachePath path: String) throws -> (all: Int, costs: [String: PullCost])? {
  guard let reader = try reader(path), let requests = try reader.requests() else { return nil }
  // A cache of an earlier version does not know the requests of a resource.
  return (requests, (try? reader.pullCosts()) ?? [:])
}

private func reader(_ path: String) throws -> CacheReader? {
  guard access(path, F_OK) == 0 else { return nil }
  let isOpen = ["-wal", "-shm"].allSatisfy { access(path + $0, F_OK) == 0 }
  if isOpen { return try CacheReader(path: path) }
  // Without `-shm`, a user who may not create it cannot read a `-wal` that has content.
  guard fileSize("\(path)-wal") == 0 else {
    throw Failure(
      .cannotWrite, step: "read", subject: path, cause: "\(path)-wal has changes, and there is no \(path)-shm",
      hint: "start rosterd, which adds them to the cache")
  }
  return try CacheReader(closed: path)
}
