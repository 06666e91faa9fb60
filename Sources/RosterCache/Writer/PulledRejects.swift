package import RosterCore
internal import RosterDecode

extension Cache {
  /// The first records that cannot be stored, from the pages of the last `compare`. Long records are shortened.
  package func rejected(_ resource: String, limit: Int) throws -> [RejectedRecord] {
    try performPull("list rejected records") { database, file in
      let index = try self.index(of: resource)
      var found: [RejectedRecord] = []
      let data = data(database, file: file)
      try data.forEachList(of: index, while: { found.count < limit }) { scope, compared in
        guard var pulled = try PulledRecords(.pages, of: scope, compared, in: data) else { return }
        let known = found.count
        try collect(&pulled, resource: resource, limit: limit, found: &found)
        try name(&found[known...], parentOf: scope, of: plans[index].resource, in: database)
      }
      return found
    }
  }

  /// The first rejected record of unknown key on the pages of the last `compare`.
  package func firstOfUnknownKey(_ resource: String) throws -> RejectedRecord? {
    try performPull("list rejected records") { database, file in
      let index = try self.index(of: resource)
      var found: [RejectedRecord] = []
      let data = data(database, file: file)
      try data.forEachList(of: index, while: { found.isEmpty }) { scope, compared in
        guard compared.rejectedUnknown > 0 else { return }
        if var pulled = try PulledRecords(.pages, of: scope, compared, in: data) {
          try collect(&pulled, resource: resource, limit: 1, isUnknown: true, found: &found)
        }
        if found.isEmpty { found = try unchanged(resource, of: scope, compared, in: database) }
        try name(&found[...], parentOf: scope, of: plans[index].resource, in: database)
      }
      return found.first
    }
  }

  /// The first rejected record of unknown key on the unchanged pages of a list, as a list of at most one.
  private func unchanged(
    _ resource: String, of scope: ListScope, _ compared: ResourceComparison, in database: Database
  ) throws -> [RejectedRecord] {
    // The rejects of an incremental pull have no page.
    try database.rows(
      """
      SELECT r.sync_id, s.number, r.position, r.reason, r.document
      FROM temp.same s CROSS JOIN main.cache_pages p ON p.id = s.page
      CROSS JOIN main.rejects r ON r.resource = ?5 AND r.parent_id = ?4
        AND r.page = \(compared.isIncremental ? "0" : "p.number") AND r.key IS NULL
      WHERE s.resource = ?1 AND s.list = ?2 AND p.unknown > 0 ORDER BY s.number, r.position LIMIT 1
      """, in: scope, .text(resource)
    ) {
      RejectedRecord(
        sync: $0.integer(0), resource: resource, page: $0.int(1), position: $0.int(2), reason: $0.text(3),
        document: $0.text(4))
    }
  }

  /// Adds the parent of a list to its records.
  private func name(
    _ records: inout ArraySlice<RejectedRecord>, parentOf scope: ListScope, of resource: Resource, in database: Database
  ) throws {
    guard let each = resource.each, !records.isEmpty else { return }
    let keys = try database.first(
      "SELECT \(Family.keys(inPath: "l.path")) FROM temp.lists l WHERE l.list = ?1", .integer(scope.number)
    ) { $0.text(0) }
    for index in records.indices {
      records[index].parentID = scope.parent
      records[index].parent = keys.map { "\(each.parent) \($0)" }
    }
  }

  private func collect(
    _ pulled: inout PulledRecords, resource: String, limit: Int, isUnknown: Bool = false, found: inout [RejectedRecord]
  ) throws {
    while found.count < limit, try pulled.nextPage() != nil {
      while found.count < limit, let step = try pulled.next() {
        guard case .rejected = step else { continue }
        let reject = pulled.decoder.reject
        if isUnknown, reject.key != nil { continue }
        found.append(
          RejectedRecord(
            sync: begun, resource: resource, page: pulled.number, position: reject.position,
            key: reject.key?.shown, reason: reject.reason,
            document: String(decoding: reject.document.prefix(Self.maxDocument), as: UTF8.self)))
      }
    }
  }

  /// Limit in bytes: ten documents, with escapes, fit what `TroubleFile` reads.
  private static let maxDocument = 8 << 10
}

extension RecordKey {
  fileprivate var shown: String {
    switch self {
    case .integer(let number): String(number)
    case .text(let text): String(decoding: text, as: UTF8.self)
    }
  }
}
