package import FoundationEssentials

/// The time before which upstream wants no page request, kept over restarts (P11). In the staging file, because it belongs to an upstream
/// as what is staged does; lost with it, which costs upstream one request.
extension Cache {
  package func heldUntil() throws -> Date? {
    try perform("read the staging file") { database in
      try database.first("SELECT held_until FROM staging.info WHERE held_until IS NOT NULL") {
        Date(timeIntervalSince1970: $0.real(0))
      }
    }
  }

  package func hold(until time: Date) throws {
    try perform("write the staging file") { database in
      _ = try database.run("UPDATE staging.info SET held_until = ?1", .real(time.timeIntervalSince1970))
    }
  }
}
