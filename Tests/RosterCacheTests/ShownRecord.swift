import FoundationEssentials

@testable import RosterCache

extension CacheReader {
  /// A record whose key has one part.
  func show(_ resource: String, key: String) throws -> RecordHistory { try show(resource, key: [key]) }

  func show(_ resource: String, key: String, at date: Date) throws -> RecordHistory {
    try show(resource, key: [key], at: date)
  }
}
