import RosterModel
import Testing

@testable import RosterCache

/// The built-in resource without the column gender, with one for `rank`.
let ranked = changed {
  $0.columns.removeAll { $0.name == "gender" }
  $0.columns.append(.init("rank", at: at("rank"), .integer))
}

/// Three, of whom the first has a rank.
let someRanked = [person(1, more: #","rank":7,"home":{"moons":1.50e2}"#), person(2), person(3)]

/// The built-in resource with a change.
func changed(_ change: (inout Resource) -> Void) -> Resource {
  var resource = Resource.character
  change(&resource)
  return resource
}

extension Folder {
  /// Opens the cache as these definitions have it, and closes it again.
  func redefine(_ resources: Resource...) async throws {
    await (try define(resources)).close()
    try expectSound(resources)
  }
}
