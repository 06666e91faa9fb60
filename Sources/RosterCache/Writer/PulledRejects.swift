internal import RosterDecode
internal import RosterModel

extension Cache {
  func rejected(_ resource: String, limit: Int) throws -> [RejectedRecord] {
    try performPull("list rejected records") { database, file in
      let index = try self.index(of: resource)
      var found: [RejectedRecord] = []
      let (descent, only) = (descent(database, file: file), try only(at: index, database))
      try descent.forEachList(of: index, only, while: { found.count < limit }) { scope, compared in
        guard var pulled = try PulledRecords(.pages, of: plans[index], scope, compared, database, file, interruption)
        else { return }
        try collect(&pulled, resource: resource, limit: limit, found: &found)
      }
      return found
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
