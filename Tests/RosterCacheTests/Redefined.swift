import RosterCore
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
  /// Publishes the pages by another definition.
  func redefine(_ resource: Resource, pages: [[String]]) async throws -> SyncRecord {
    let cache = try await define([resource])
    let report = try await cache.mirror(resource, pages: pages)
    try await expectSound([resource], closing: cache)
    return report
  }
}
