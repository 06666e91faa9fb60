import FoundationEssentials
package import RosterModel

/// The time before which upstream wants no page request, kept over restarts (P11). In the staging file, because it belongs to an upstream
/// as what is staged does; lost with it, which costs upstream one request.
extension Cache {
  package func retryAfterHold() throws -> RetryAfterHold? {
    try perform("read the staging file") { database in
      try database.first("SELECT held_at, held_until FROM staging.info WHERE held_until IS NOT NULL") {
        RetryAfterHold(
          setAt: Date(timeIntervalSince1970: $0.real(0)), until: Date(timeIntervalSince1970: $0.real(1)))
      }
    }
  }

  package func keep(_ hold: RetryAfterHold) throws {
    try perform("write the staging file") { database in
      _ = try database.run(
        "UPDATE staging.info SET held_at = ?1, held_until = ?2", .real(hold.setAt.timeIntervalSince1970),
        .real(hold.until.timeIntervalSince1970))
    }
  }
}
