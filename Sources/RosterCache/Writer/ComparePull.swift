package import FoundationEssentials
internal import RosterDecode
internal import RosterModel

extension Cache {
  /// Compares what this sync has pulled with the snapshot, for each resource, in the order of the definitions.
  package func compare() throws -> [ResourceComparison] {
    let found = try performPull("compare the pull with the snapshot") { database, file in
      database.arm(interruption)
      defer { try? interruption.disarm() }
      return try database.transaction("BEGIN") {
        try database.execute("DELETE FROM temp.missing; DELETE FROM temp.answers")
        return try plans.indices.map { index in
          let comparison = try KeyComparison(database, file, try tables(at: index), plans[index], index)
          return try comparison.run(unless: interruption)
        }
      }
    }
    pull.compared = found
    return found
  }

  /// The missing records of the last `compare` that `keep` has not been told of, by ascending id.
  package func missing(_ resource: String, after id: Int64, limit: Int) throws -> [MissingRecord] {
    try performPull("list missing records") { database, _ in
      let index = try self.index(of: resource)
      let isText = plans[index].hasTextKeys
      return try database.rows(
        """
        SELECT record_id, key FROM temp.missing WHERE resource = ?1 AND record_id > ?2 AND NOT answered
        ORDER BY record_id LIMIT ?3
        """, Value(index), .integer(id), Value(limit)
      ) { MissingRecord(id: $0.integer(0), key: isText ? .text($0.text(1)) : .integer($0.integer(1))) }
    }
  }

  /// Keeps answers of `by_key` (P8), as pages of a number that does not count, scanned as answers: the records in them
  /// stay and are updated; one that cannot be stored keeps its last good version (P9). They hold for this sync. What
  /// nobody asked for is passed over.
  package func keep(_ answers: [ReceivedPage]) throws {
    try performPull("keep records asked for by key") { database, file in
      let places = try store(answers.map { (PageFacts($0, kind: .answer), $0.body) }, database, file)
      try database.transaction("BEGIN") {
        for (answer, place) in zip(answers, places) {
          let index = try self.index(of: answer.resource)
          try PulledTables.see(PageFacts(answer, kind: .answer), index, place, database)
          try database.run("INSERT INTO temp.answers VALUES (?1, ?2)", .integer(place), Value(index))
          try PulledTables.answer(
            index, [answer.scan.keys.bytes, answer.scan.rejectedKeys.bytes], isText: plans[index].hasTextKeys, database)
        }
      }
    }
  }

  /// Takes over an answer that an earlier sync has kept (P4), if it was received within these times: how many of its
  /// records cannot be stored. nil: there is none.
  package func takeOver(_ resource: String, answer address: String, receivedIn times: Range<Date>) throws -> Int? {
    try performPull("keep records asked for by key") { database, file in
      let index = try self.index(of: resource)
      let found = try database.first(
        "SELECT place, at FROM temp.seen WHERE resource = ?1 AND address = ?2", Value(index), .text(address)
      ) { (place: $0.integer(0), at: Date(timeIntervalSince1970: $0.real(1))) }
      guard let found, found.place >= pull.guardedBelow, times.contains(found.at) else { return nil }
      let facts = try file.facts(at: found.place)
      guard facts.kind == .answer else { return nil }
      try database.run("INSERT INTO temp.answers VALUES (?1, ?2)", .integer(found.place), Value(index))
      try PulledTables.answer(
        index, [facts.keys, facts.rejectedKeys], isText: plans[index].hasTextKeys, database)
      return facts.rejects
    }
  }

  /// How many records of each resource the last whole pull has missed (P8, `twice`).
  package func absent() throws -> [String: Int] {
    try perform("read the cache") { database in
      let counts = try database.rows(
        """
        SELECT r.name, count(*) FROM cache_unlisted u JOIN cache_resources r ON r.id = u.resource_id
        WHERE u.absent > 0 GROUP BY r.name
        """
      ) { ($0.text(0), $0.int(1)) }
      return Dictionary(uniqueKeysWithValues: counts)
    }
  }

  func tables(at index: Int) throws -> ResourceTables {
    guard schema.tables.indices.contains(index) else {
      throw Failure(.defect, step: "use a resource", subject: path, cause: "there is no definition \(index)")
    }
    return schema.tables[index]
  }
}
