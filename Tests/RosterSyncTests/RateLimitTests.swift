import FoundationEssentials
import RosterCore
import Synchronization
import Testing

/// Syncs whose upstream limits the rate of requests, in one of the many ways to say so.
struct RateLimitTests {
  private static let item = Resource(
    name: "item", path: "/items", records: at("data"), table: "items", pages: .init(.number(), more: .body(at("more"))),
    columns: [.init("id", at: at("id"), .integer)])

  /// Bodies with which upstreams limit the rate by a status that has other meanings.
  private static let words = [
    (400, #"{"error_name":"throttle_violation","error_message":"more requests available in 2 seconds"}"#),
    (400, #"{"__type":"ThrottlingException","message":"Rate exceeded"}"#),
    (400, #"{"error":{"code":"SSS_REQUEST_LIMIT_EXCEEDED"}}"#), (403, #"[{"errorCode":"REQUEST_LIMIT_EXCEEDED"}]"#),
  ]

  @Test(
    "25: a body that says so makes a rate limit of 400 and 403", arguments: words)
  func saidInBody(status: Int, body: String) async throws {
    var bench = try SyncBench([:])
    bench.maxRetries = 2
    Self.serve(Response(status: status, headers: [Shelf.date], body: Array(body.utf8)), in: bench)
    #expect(try await bench.sync([Self.item]).added == 2)
  }

  @Test("25: an answer that calls itself failed is asked for again after its Retry-After")
  func failedWithRetryAfter() async throws {
    var bench = try SyncBench([:])
    bench.maxRetries = 2
    let body = #"{"data":[],"error":{"code":"maxlag","info":"Waiting for a server"}}"#
    Self.serve(
      Response(status: 200, headers: Self.headers("Retry-After: 12"), body: Array(body.utf8)), in: bench)
    #expect(try await bench.sync([Self.item]).added == 2)
    #expect(bench.longestNap.seconds >= 11.5)
  }

  @Test("25: an answer with status 200 that speaks of a rate limit is asked for again after the pause that it names")
  func limitWithStatus200() async throws {
    for headers in ["X-RateLimit-Reset: 1750000012|X-RateLimit-Remaining: 0", ""] {
      var bench = try SyncBench([:])
      bench.maxRetries = 2
      let body =
        #"{"data":[],"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded, try again in 12 seconds"}]}"#
      let refusal = Response(
        status: 200, headers: headers.isEmpty ? [Shelf.date] : Self.headers(headers), body: Array(body.utf8))
      Self.serve(refusal, in: bench)
      #expect(try await bench.sync([Self.item]).added == 2)
      #expect(bench.longestNap.seconds >= 11.5)
    }
  }

  /// Two pages, of which the second one is refused once.
  private static func serve(_ refusal: Response, beside headers: [Request.Header] = [], in bench: SyncBench) {
    let isRefused = Mutex(true)
    bench.shelf.answer { _, target in
      if target == "/items?page=1" {
        return Response(json: #"{"data":[{"id":1}],"more":true}"#, headers: [Shelf.date] + headers)
      }
      let wasRefused = isRefused.withLock { flag in
        defer { flag = false }
        return flag
      }
      return wasRefused ? refusal : Response(json: #"{"data":[{"id":2}],"more":false}"#, headers: [Shelf.date])
    }
  }

  /// Headers of a refusal at `Shelf.date`, which is 1750000000, and the seconds that they ask for.
  private static let dialects: [(headers: String, seconds: Double)] = [
    ("Retry-After: 12", 12), ("Retry-After: 11.5", 12), ("Retry-After: 5, 12", 12),
    ("Retry-After: Sun, 15 Jun 2025 15:06:52 GMT", 12), ("X-RateLimit-Reset: 1750000012|X-RateLimit-Remaining: 0", 12),
    ("X-Rate-Limit-Reset: 1750000012", 12), ("X-RateLimit-Reset: 1750000012000", 12),
    ("X-RateLimit-Reset: 2025-06-15T15:06:52Z", 12), ("RateLimit: \"default\";r=0;t=12", 12),
    ("RateLimit-Reset: 12", 12), ("Retry-After: 3|X-RateLimit-Reset: 12", 3),
  ]

  private static func headers(_ text: String) -> [Request.Header] {
    [Shelf.date]
      + text.split(separator: "|").map { header in
        let parts = header.split(separator: ": ", maxSplits: 1)
        return Request.Header(String(parts[0]), String(parts[1]))
      }
  }

  @Test(
    "25: the sync waits for the time that a refused page names, and not longer", arguments: dialects)
  func waits(headers: String, seconds: Double) async throws {
    for status in [429, 403] {
      // A 403 is a rate limit only if it says so.
      if status == 403, !headers.contains("Retry-After"), !headers.contains("r=0") { continue }
      var bench = try SyncBench([:])
      bench.maxRetries = 2
      Self.serve(Response(status: status, headers: Self.headers(headers)), in: bench)
      let record = try await bench.sync([Self.item])
      #expect(record.error == nil && record.added == 2, "\(record)")
      let wait = bench.longestNap.seconds
      #expect(wait >= seconds - 0.5 && wait <= seconds + 3, "\(status) \(headers): \(wait)")
    }
  }

  @Test(
    "25: no permitted request left on an answer with records is no pause",
    arguments: [
      "X-RateLimit-Remaining: 0|X-RateLimit-Reset: 1750000060", "RateLimit: \"default\";r=0;t=60", "Retry-After: 60",
    ])
  func answered(headers: String) async throws {
    var bench = try SyncBench([:])
    bench.maxRetries = 2
    let last = Response(json: #"{"data":[{"id":2}],"more":false}"#, headers: [Shelf.date])
    Self.serve(last, beside: Self.headers(headers), in: bench)
    #expect(try await bench.sync([Self.item]).added == 2)
    #expect(bench.longestNap < .seconds(1))
  }
}
