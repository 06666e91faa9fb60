import RosterCore
import Synchronization
import Testing

/// Next links that lack parameters of the first request.
@Suite struct NextLinkTests {
  /// Records 1 to 9, of which the odd ones are active. The default size of a page is 2.
  private struct Server: Sendable {
    /// The parameters of the link of a page, by the parameters of its request and the position of the next page.
    var link: @Sendable (_ asked: [String: String], _ next: Int) -> String
    var isHeader = false
    /// Names without which a request is refused, or with which it is.
    var refuses: Set<String> = []

    func answer(_ target: String) -> Response {
      let pairs = target.split(separator: "?").dropFirst().first?.split(separator: "&") ?? []
      let asked = Dictionary(pairs.map { $0.split(separator: "=").map(String.init) }.map { ($0[0], $0[1]) }) { $1 }
      if asked["opaque"] != nil, !refuses.isDisjoint(with: asked.keys) { return Response(status: 400) }
      let isFiltered = asked["status"] == "active" || asked["opaque"] != nil
      let all = isFiltered ? [1, 3, 5, 7, 9] : Array(1...9)
      let size = asked["size"].flatMap { Int($0) } ?? 2
      let page = asked["page"].flatMap { Int($0) }.map { ($0 - 1) * size }
      let first = page ?? asked["skip"].flatMap { Int($0) } ?? asked["opaque"].flatMap { Int($0.dropFirst()) } ?? 0
      let shown = all.dropFirst(first).prefix(size)
      let next =
        first + size < all.count
        ? "/items?" + link(asked, page == nil && asked["skip"] != nil ? first + size : first / size + 2) : nil
      let records = shown.map { #"{"id":\#($0)}"# }.joined(separator: ",")
      let member = isHeader ? "" : #","next":\#(next.map { "\"\($0)\"" } ?? "null")"#
      let header = isHeader ? next.map { [Request.Header("Link", "<\($0)>; rel=\"next\"")] } ?? [] : []
      return Response(json: #"{"data":[\#(records)]\#(member)}"#, headers: [Shelf.date] + header)
    }
  }

  private static func resource(isHeader: Bool = false, size: Int? = nil) -> Resource {
    var resource = WrittenList(kind: isHeader ? .link : .next, pages: []).resource
    resource.listing.query = [.init("status", .text("active"))]
    resource.pages.size = size.map { .init($0, param: .query("size")) }
    return resource
  }

  @Test(
    "19: a next link that names only the position of a page is completed by the parameters of the definition",
    arguments: [false, true])
  func completed(isHeader: Bool) async throws {
    let links: [@Sendable ([String: String], Int) -> String] = [
      { _, next in "page=\(next)" }, { asked, next in "page=\(next)&size=\(asked["size"] ?? "2")" },
      { asked, next in "size=\(asked["size"] ?? "2")&skip=\(asked["skip"] == nil ? 2 : next)" },
    ]
    for link in links {
      let (bench, server) = (try SyncBench([:]), Server(link: link, isHeader: isHeader))
      bench.shelf.answer { _, target in server.answer(target) }
      for round in 0...1 {
        #expect(try await bench.sync([Self.resource(isHeader: isHeader)], after: Double(round)).exit == 0)
      }
      #expect(try bench.ask("SELECT id FROM items ORDER BY id") == ["1", "3", "5", "7", "9"])
    }
  }

  @Test("19: a link may leave out the first segment of the path, or base_url's", arguments: ["/v1/items", "/items"])
  func shortened(path: String) async throws {
    var resource = WrittenList(kind: .next, pages: []).resource
    resource.listing.path = path
    let bench = try SyncBench(
      answers: [
        path: #"{"data":[{"id":1},{"id":2}],"next":"/items?page=2"}"#, "\(path)?page=2": #"{"data":[{"id":3}]}"#,
      ])
    #expect(try await bench.sync([resource]).added == 3)
    #expect(bench.asked() == [path, "\(path)?page=2"])
    // Another list is another list.
    bench.serve([path: #"{"data":[{"id":1}],"next":"/other?page=2"}"#, "/other?page=2": #"{"data":[{"id":2}]}"#])
    #expect(try await bench.sync([resource], after: 60).error == nil)
    #expect(bench.asked() == [path, "/other?page=2"])
  }

  @Test(
    "19: a list by Link fails if other headers lead to a next page and Link is missing",
    arguments: [["X-Next-Page": "2"], ["X-Total-Pages": "3"], ["X-Has-More": "true"]])
  func missingLink(headers: [String: String]) async throws {
    let resource = WrittenList(kind: .link, pages: []).resource
    let bench = try SyncBench([:])
    func serve(_ headers: [Request.Header], last: [Request.Header]) {
      bench.shelf.answer { _, target in
        let isLast = target.contains("page=2")
        return Response(
          json: #"{"data":[{"id":\#(isLast ? 2 : 1)}]}"#, headers: [Shelf.date] + (isLast ? last : headers))
      }
    }
    let others = headers.map { Request.Header($0, $1) }
    serve(others, last: [])
    let record = try await bench.sync([resource])
    #expect(record.exit == 65 && record.error?.contains("other headers lead to a next page") == true, "\(record)")
    let total = Request.Header("X-Total-Pages", "2")
    serve(others + [.init("Link", "</items?page=2>; rel=\"next\"")], last: [total, .init("X-Next-Page", "")])
    #expect(try await bench.sync([resource], after: 60).added == 2)
  }

  @Test("19: a page goes on after the last record that has the value, also if the last one has none")
  func lastWithoutValue() async throws {
    let resource = WrittenList(kind: .after, pages: []).resource
    for odd in ["null", #"{"id":null}"#, #"{"name":"x"}"#] {
      let bench = try SyncBench([:])
      bench.shelf.answer { _, target in
        let after = target.split(separator: "=").dropFirst().first.flatMap { Int($0) } ?? 0
        let ids = (1...5).filter { $0 > after }.prefix(2).map { #"{"id":\#($0)}"# }
        let records = after == 0 ? ids + [odd] : Array(ids)
        return Response(json: #"{"data":[\#(records.joined(separator: ","))]}"#, headers: [Shelf.date])
      }
      #expect(try await bench.sync([resource]).added == 5)
    }
  }

  @Test("19: so is a link without the size of the first page")
  func size() async throws {
    let (bench, server) = (try SyncBench([:]), Server(link: { _, next in "status=active&page=\(next)" }))
    bench.shelf.answer { _, target in server.answer(target) }
    #expect(try await bench.sync([Self.resource(size: 3)]).exit == 0)
    #expect(try bench.ask("SELECT id FROM items ORDER BY id") == ["1", "3", "5", "7", "9"])
    #expect(bench.asked() == ["/items?status=active&size=3", "/items?status=active&page=2&size=3"])
  }

  @Test("19: a link with any other value is complete, since upstream may refuse the rest there")
  func opaque() async throws {
    let server = Server(link: { asked, next in "opaque=x\((next - 1) * 2)&page=\(next)" }, refuses: ["status", "size"])
    let bench = try SyncBench([:])
    bench.shelf.answer { _, target in server.answer(target.replacing(/&page=\d+/, with: "")) }
    #expect(try await bench.sync([Self.resource()]).exit == 0)
    #expect(bench.asked().dropFirst().allSatisfy { $0.hasPrefix("/items?opaque=x") && !$0.contains("status") })
  }
}
