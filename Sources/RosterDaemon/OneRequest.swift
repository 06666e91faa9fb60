import FoundationEssentials
package import RosterCore
import RosterDecode
import RosterFetch

/// `rosterd infer`: a single request for a page, without a daemon, a session or a retry.
package enum OneRequest {
  /// Redirects within the origin are followed. `headers` are sent together with User-Agent and Accept, which they may
  /// replace.
  /// - Parameter caFile: a PEM bundle whose certificates replace the system's roots.
  /// - Throws: a Failure that does not repeat the query of the address: 77 for 401 and 403; 69 if upstream does
  ///   not answer or refuses requests for now (also a 403 with no remaining requests); 65 for any other status except
  ///   200, and 206 with a Content-Range; 64 for an unreadable `caFile`.
  package static func answer(
    from url: String, headers: [Request.Header], proxies: ProxyRules, systemRoots: RootPlaces, caFile: String? = nil
  ) async throws -> Response {
    let roots = try caFile.map { TrustedRoots.bundle(try bundle(at: $0)) } ?? .system(SystemRoots(systemRoots))
    let transport = HTTPTransport(HTTPTransport.Settings(connections: 1, roots: roots, proxies: proxies))
    let send = Interceptor.chain([.headers(headers), .redirects, .resend], to: transport.send)
    do {
      let response = try await send(Request(.get, url))
      if let refusal = refusal(response) { throw refusal }
      await transport.shutdown()
      return response
    } catch {
      await transport.shutdown()
      guard let fault = error as? Failure, fault.exchange != nil else { throw error }
      var failure = fault.ofStep("ask", subject: url.queryMasked)
      failure.hint = hint(fault) ?? fault.hint
      throw failure
    }
  }

  private static func bundle(at path: String) throws(Failure) -> CABundle {
    do { return try CABundle(path: path) } catch {
      throw Failure(.usage, step: "read --ca-file", subject: path, cause: error.cause, hint: error.hint)
    }
  }

  /// nil if the response is a usable answer.
  private static func refusal(_ response: Response) -> Failure? {
    let status = response.status
    // PostgREST answers 206 with the total in Content-Range.
    if status == 200 || status == 206 && response["Content-Range"] != nil { return nil }
    let kind: Failure.Kind =
      switch status {
      case _ where response.isRateLimit: .unreachable
      case 401, 403: .refused
      case 408, 500...599: .unreachable
      default: .badAnswer
      }
    return Failure(
      kind, cause: "upstream answered \(status)\(response.pauseClause(now: Date()))", reason: .status(status))
  }

  /// The hints of a sync refer to its configuration, which does not exist yet here. nil to keep the fault's own hint.
  private static func hint(_ fault: Failure) -> String? {
    switch (fault.kind, fault.reason) {
    case _ where fault.exchange?.isOfProxy == true: nil
    case (.refused, _): "give the credential that upstream requires, as in --header \"Authorization: Bearer …\""
    case (_, .status(204)):
      "204 means that the list has no records: give the address of one that has some; a sync needs no line for 204"
    case (_, .status(405)): "if upstream requires a POST, pass the answer of one to rosterd infer - on standard input"
    case (.unreachable, .status): "try again later"
    case (_, .status): "give the address of a list from the API's documentation"
    case (_, .tooLarge): "ask for fewer records a page"
    case (.badAnswer, nil): "give the address that the redirect leads to"
    case (.unreachable, nil): nil
    default: "see whether the address is right and its server up"
    }
  }
}

/// `rosterd infer`: the records of one answer that a sync by the definition would reject.
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
      _ = try Paging(resource, baseURL: baseURL).facts(in: scan, of: response, page: 1)
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
