internal import RosterDecode
package import RosterModel

extension Cache {
  /// The first records that cannot be stored, from the pages of the last `compare`. Long records are shortened.
  package func rejected(_ resource: String, limit: Int) throws -> [RejectedRecord] {
    try performPull("list rejected records") { database, file in
      let index = try self.index(of: resource)
      var found: [RejectedRecord] = []
      for (scope, compared) in try scopes(at: index, database) where found.count < limit {
        var pulled = try PulledRecords(.pages, of: plans[index], scope, compared, database, file, interruption)
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
      return found
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
