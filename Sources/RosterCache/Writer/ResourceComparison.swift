internal import RosterDecode
internal import RosterModel

/// What was pulled of one resource, held against the snapshot: what P7, P8 and P9 decide by.
package struct ResourceComparison: Sendable, Equatable {
  package var resource: String
  /// Pages that came or are as they were.
  package var pages = 0
  /// Keys on them, each counted once.
  package var distinct = 0
  /// Keys that were met once more: drift in a list by `number` or `offset`; else the later one counts (P7).
  package var repeats = 0
  /// Records that cannot be stored.
  package var rejected = 0
  /// Of these, records that do not say whose they are.
  package var rejectedUnknown = 0
  /// By `where`.
  package var skipped = 0
  /// Records of the snapshot that are neither pulled nor rejected.
  package var missing = 0
  /// Of these, those that the whole pull before has missed too: what `removal = "twice"` would remove now.
  package var missingTwice = 0
  /// Records of the snapshot.
  package var snapshot = 0
  /// The snapshot's are those of another list, by another `path`, `key`, `records` or `where`: who is missing goes,
  /// without a guard, and nobody is asked for (P8).
  package var isOfAnotherList = false

  package init(resource: String) { self.resource = resource }
}

/// A record of the snapshot that no page lists.
package struct MissingRecord: Sendable, Equatable {
  package enum Key: Sendable, Equatable {
    case integer(Int64)
    case text(String)
  }

  package var id: Int64
  package var key: Key
}

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
      let isText = try tables(at: index(of: resource)).hasTextKey
      return try database.rows(
        """
        SELECT record_id, key FROM temp.missing WHERE resource = ?1 AND record_id > ?2 AND NOT answered
        ORDER BY record_id LIMIT ?3
        """, Value(try index(of: resource)), .integer(id), Value(limit)
      ) { MissingRecord(id: $0.integer(0), key: isText ? .text($0.text(1)) : .integer($0.integer(1))) }
    }
  }

  /// Keeps answers of `by_key` (P8), as pages of a number that does not count, scanned as answers: the records in them
  /// stay and are updated; one that cannot be stored keeps its last good version (P9). They hold for this sync. What
  /// nobody asked for is passed over.
  package func keep(_ answers: [ReceivedPage]) throws {
    try performPull("keep records asked for by key") { database, file in
      let places = try file.append(answers.map { (PageFacts($0, kind: .answer), $0.body) })
      let mark = try database.statement("UPDATE temp.missing SET answered = 1 WHERE resource = ?1 AND key = ?2")
      try database.transaction("BEGIN") {
        for (answer, place) in zip(answers, places) {
          let index = try self.index(of: answer.resource)
          try database.run("INSERT INTO temp.answers VALUES (?1, ?2)", .integer(place), Value(index))
          for list in [answer.scan.keys, answer.scan.rejectedKeys] {
            try list.bytes.forEachKey(isText: plans[index].hasTextKeys) { key in
              mark.bind(1, Int64(index))
              mark.bind(2, key)
              try mark.run()
            }
          }
        }
      }
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

extension [UInt8] {
  /// Of a `KeyList`.
  func forEachKey(isText: Bool, _ body: (RecordKey) throws -> Void) rethrows {
    try withUnsafeBufferPointer { bytes in
      var cursor = KeyCursor(bytes, isText: isText)
      while let key = cursor.next() { try body(key) }
    }
  }
}
