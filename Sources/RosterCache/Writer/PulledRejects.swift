internal import RosterDecode
internal import RosterModel

extension Cache {
  func rejected(_ resource: String, limit: Int) throws -> [RejectedRecord] {
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
    _ pulled: inout PulledRecords, resource: String, limit: Int, found: inout [RejectedRecord]
  ) throws {
    while found.count < limit, try pulled.nextPage() != nil {
      while found.count < limit, let step = try pulled.next() {
        guard case .rejected = step else { continue }
        let reject = pulled.decoder.reject
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
