import FoundationEssentials
package import RosterModel

/// Asks upstream for one page, or for characters by id, and brings what it answered, decoded.
package struct PageFetcher: Sendable {
  package enum Answer: Sendable, Equatable {
    case page(PulledPage)
    /// 304: what is held is what upstream has.
    case notModified
    /// 404: the page that was announced is not there (P7).
    case vanished
  }

  /// Turns bytes into values; throws what says why they are not what was asked for. Runs inside the retry: a malformed body is asked for again.
  package struct Decoders: Sendable {
    package var page: @Sendable ([UInt8]) throws -> Page
    package var characters: @Sendable ([UInt8]) throws -> (characters: [Character], rejects: [Reject])

    package init(
      page: @escaping @Sendable ([UInt8]) throws -> Page,
      characters: @escaping @Sendable ([UInt8]) throws -> (characters: [Character], rejects: [Reject])
    ) {
      self.page = page
      self.characters = characters
    }
  }

  private let baseURL: String
  private let send: Send
  private let retry: Retry
  private let decoders: Decoders
  private let clock: WallClock
  private let report: Report

  /// - Parameter send: the chain that ends at the transport.
  package init(
    baseURL: String, send: @escaping Send, retry: Retry, decoders: Decoders, clock: WallClock, report: @escaping Report
  ) {
    self.baseURL = baseURL
    self.send = send
    self.retry = retry
    self.decoders = decoders
    self.clock = clock
    self.report = report
  }

  /// Throws a Failure, or CancellationError.
  package func fetch(page number: Int, held: Validator?, sync: Int64, tally: Tally) async throws -> Answer {
    let request = Request(.get, "\(baseURL)/character?page=\(number)", headers: held?.conditions ?? [])
    return try await Cause.$page.withValue(number) {
      try await attempts(request, step: "pull page \(number)", page: number, sync: sync, tally: tally) { response in
        try answer(response, number: number, conditional: !request.headers.isEmpty)
      }
    }
  }

  /// Asks for the characters themselves (P8): those that upstream has, and those that it has in a form that cannot be stored.
  package func fetch(
    characters ids: [Int64], sync: Int64, tally: Tally
  ) async throws -> (characters: [Character], rejects: [Reject]) {
    let list = ids.map(String.init).joined(separator: ",")
    let request = Request(.get, "\(baseURL)/character/\(list)")
    return try await attempts(request, step: "ask for characters", page: nil, sync: sync, tally: tally) { response in
      if response.status == 404 { return ([], []) }
      try expect(200, response)
      let body = response.json
      let isList = body.first { !$0.isJSONSpace } == UInt8(ascii: "[")
      guard isList == (ids.count > 1) else {
        throw malformed(ids.count > 1 ? "expected a list" : "expected one object")
      }
      let answer = try decoded { try decoders.characters(body) }
      // An object of somebody else, or an error dressed as a character, tells nothing of the one that was asked for.
      let found = answer.characters.map(\.id) + answer.rejects.compactMap(\.id)
      if !isList, found != ids { throw malformed("expected character \(list)") }
      return answer
    }
  }

  private func attempts<Value: Sendable>(
    _ request: Request, step: String, page: Int?, sync: Int64, tally: Tally, _ read: (Response) throws -> Value
  ) async throws -> Value {
    do {
      return try await retry.run { failure, attempt, delay in
        tally.update { $0.retries += 1 }
        report(
          Event(
            .pageRetried, sync: sync, page: page, attempt: attempt, reason: failure.reason?.label,
            delaySeconds: delay.seconds, error: failure.cause))
      } _: {
        let response = try await Cause.$sync.withValue(sync) { try await send(request) }
        return try read(response)
      }
    } catch var failure as Failure {
      // A token request that failed is told as what it is.
      guard failure.subject.isEmpty || failure.subject == request.url else { throw failure }
      failure.step = step
      failure.subject = request.url
      throw failure
    }
  }

  private func answer(_ response: Response, number: Int, conditional: Bool) throws -> Answer {
    if response.status == 304, conditional { return .notModified }
    if response.status == 404, number > 1 { return .vanished }
    try expect(200, response)
    let page = try decoded { try decoders.page(response.json) }
    // Or a few characters on a million announced pages would be a million requests (P7).
    guard page.pages <= max(1, page.count) else {
      throw malformed("\(page.count) characters do not fill \(page.pages) pages")
    }
    return .page(PulledPage(number: number, page: page, validator: Validator(response), receivedAt: clock.now()))
  }

  private func expect(_ status: Int, _ response: Response) throws {
    if response.status == status { return }
    let passing = RetryTable.passing.contains(response.status)
    let retryAfter = passing ? response.retryAfter(now: clock.now()) : nil
    let wish = retryAfter.map { ", and wants no request for \(Int($0.seconds.rounded(.up))) s (Retry-After)" } ?? ""
    throw Failure(
      passing ? .unreachable : .badAnswer, step: "", subject: "",
      cause: "upstream answered \(response.status)\(wish)",
      hint: passing ? "see whether upstream is healthy" : "check upstream.base_url",
      reason: .status(response.status), retryAfter: retryAfter)
  }

  private func decoded<Value>(_ decode: () throws -> Value) throws -> Value {
    do { return try decode() } catch { throw malformed("\(error)") }
  }

  private func malformed(_ why: String) -> Failure {
    Failure(
      .badAnswer, step: "", subject: "", cause: "the answer is not what the API promises: \(why)",
      hint: "check that upstream.base_url is the API's and not a web page's", reason: .malformed)
  }
}

extension Response {
  /// The body without a byte order mark, which a reader of JSON may ignore (RFC 8259 §8.1).
  fileprivate var json: [UInt8] {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    return body.starts(with: mark) ? Array(body.dropFirst(mark.count)) : body
  }
}

extension UInt8 {
  fileprivate var isJSONSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}

extension Validator {
  /// RFC 9110 §13.1: If-None-Match wins where both are there.
  fileprivate var conditions: [Request.Header] {
    if let etag { return [Request.Header("If-None-Match", etag)] }
    return lastModified.map { [Request.Header("If-Modified-Since", $0)] } ?? []
  }

  /// Last-Modified counts where it is at least a second older than Date: within one second a page can change twice (RFC 9110 §8.8.2.2).
  fileprivate init(_ response: Response) {
    self.init(etag: response["ETag"].flatMap { $0.isEntityTag ? $0 : nil })
    guard let text = response["Last-Modified"], let changed = Date(httpDate: text),
      let sent = response["Date"].flatMap(Date.init(httpDate:)), sent.timeIntervalSince(changed) >= 1
    else { return }
    lastModified = text
  }
}

extension String {
  /// `[W/]"…"` of RFC 9110 §8.8.3. U+FFFD stands where bytes were no UTF-8: those cannot be sent back.
  fileprivate var isEntityTag: Bool {
    let quoted = hasPrefix("W/") ? dropFirst(2) : self[...]
    guard quoted.utf8.count >= 2, quoted.hasPrefix("\""), quoted.hasSuffix("\"") else { return false }
    return quoted.unicodeScalars.dropFirst().dropLast().allSatisfy {
      $0 == "!" || ("#"..."~").contains($0) || ($0 >= "\u{80}" && $0 != "\u{FFFD}")
    }
  }
}
