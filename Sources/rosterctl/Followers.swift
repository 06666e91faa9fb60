import RosterConfiguration
import RosterFiles
import RosterModel

/// Lines for people about the services that copy this cache elsewhere; empty if no such service runs. The path of a
/// follower may be a link.
func followerLines(of cache: DaemonStatus.Cache) -> String {
  FollowerFile.all().filter { resolved($0.cache) == resolved(cache.path) }.map { follower in
    let place = "\(follower.schema) of \(follower.server)"
    if let error = follower.error { return "   follower  \(place): \(error.printable)\n" }
    let behind = cache.snapshot.map { $0 != follower.snapshot } ?? false
    let state = behind ? "has snapshot \(follower.snapshot), the newest is not copied yet" : "has this snapshot"
    return "   follower  \(place) \(state)\n"
  }.joined()
}
