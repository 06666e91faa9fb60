import RosterDecode
import RosterFetch
package import RosterModel

/// `rosterd infer`: what a sync would not take of one answer by a definition.
package enum AnswerTrial {
  /// A refused answer, or the number of its records that cannot be stored.
  package enum Finding: Sendable, Equatable {
    case refused(reason: String)
    case rejected(Int, reason: String)
  }

  /// nil if a sync takes the whole answer as the first page of a list.
  package static func finding(_ resource: Resource, baseURL: String, in response: Response) -> Finding? {
    do {
      var decoder = RecordDecoder(try RecordPlan(resource))
      let scan = try decoder.scan(page: response.body)
      _ = try Paging(resource, baseURL: baseURL).facts(in: scan, of: response, isFirst: true)
      guard scan.rejects > 0 else { return nil }
      return .rejected(scan.rejects, reason: try reason(in: response.body, at: scan.recordsAt, by: &decoder))
    } catch {
      return .refused(reason: "\(error)")
    }
  }

  /// The reason of the first record that cannot be stored.
  private static func reason(
    in body: [UInt8], at start: Int, by decoder: inout RecordDecoder
  ) throws -> String {
    try body.withUnsafeBufferPointer { bytes in
      try decoder.begin(bytes, at: start)
      while let step = try decoder.next() {
        switch step {
        case .record: continue
        case .rejected: return "\(decoder.reject.reason)"
        }
      }
      return "records cannot be stored"
    }
  }
}
