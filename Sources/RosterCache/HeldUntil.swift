import FoundationEssentials
package import RosterCore

/// The time before which upstream wants no page request, kept over restarts. It belongs to one upstream. Losing
/// it costs upstream one request.
extension Cache {
  /// The time that an earlier process stored; nil if it stored no time for this upstream.
  package func retryAfterHold() throws -> RetryAfterHold? {
    try perform("read the cache") { database in
      try database.first(
        "SELECT held_at, held_until FROM main.cache_identity WHERE held_by = ?1 AND held_until IS NOT NULL",
        .text(upstream)
      ) { RetryAfterHold(setAt: $0.date(0), until: $0.date(1)) }
    }
  }

  /// Stores the time for the next process.
  package func keep(_ hold: RetryAfterHold) throws {
    _ = try perform("write the cache") { database in
      try database.run(
        "UPDATE main.cache_identity SET held_by = ?1, held_at = ?2, held_until = ?3", .text(upstream),
        Value(hold.setAt), Value(hold.until))
    }
  }
}
