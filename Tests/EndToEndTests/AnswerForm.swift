import FoundationEssentials
import RosterCore
import Testing

/// A form of the answers of an API, whose pages have ten records.
struct AnswerForm: Sendable, CustomTestStringConvertible {
  struct Row: Sendable {
    var id: Int
    var name: String

    var json: String { #"{"id":\#(id),"name":"\#(name)"}"# }
  }

  /// The state of the server between requests.
  struct Memory: Sendable {
    var position = 0
    var requests = 0
  }

  typealias Query = [String: String]

  let testDescription: String
  /// The address for `infer`, below base_url.
  var address = "/things"
  var query = "SELECT id, name FROM things"
  /// A row of `query`.
  var truth: @Sendable (Int, String) -> String = { "\($0) \($1)" }
  let answer: @Sendable (Query, [Row], inout Memory) -> Response

  private init(
    _ name: String, address: String = "/things", query: String = "SELECT id, name FROM things",
    truth: @escaping @Sendable (Int, String) -> String = { "\($0) \($1)" },
    answer: @escaping @Sendable (Query, [Row], inout Memory) -> Response
  ) {
    testDescription = name
    (self.address, self.query, self.truth, self.answer) = (address, query, truth, answer)
  }

  static let all: [AnswerForm] = chains + numbered + odd

  // MARK: Pages

  /// A page that begins at a position.
  private struct Page {
    let rows: ArraySlice<Row>
    let first: Int
    let total: Int

    init(_ rows: [Row], from first: Int, size: Int = 10) {
      self.rows = rows.dropFirst(first).prefix(size)
      (self.first, total) = (first, rows.count)
    }

    var end: Int { first + rows.count }
    var goesOn: Bool { end < total }
    var list: String { json(rows.map(\.json)) }
    /// The position of the next page as a text; null on the last page.
    var next: String { goesOn ? "\"c\(end)\"" : "null" }
    var pages: Int { (total + 9) / 10 }
  }

  private static func json(_ elements: [String]) -> String { "[\(elements.joined(separator: ","))]" }

  private static func ok(_ body: String, headers: [Request.Header] = []) -> Response {
    Response(status: 200, headers: [.init("Content-Type", "application/json")] + headers, body: Array(body.utf8))
  }

  /// The page that the parameter `page` names.
  private static func page(_ query: Query, _ rows: [Row], name: String = "page") -> Page {
    Page(rows, from: (max(1, query[name].flatMap(Int.init) ?? 1) - 1) * 10)
  }

  /// The page at a cursor such as `c10`.
  private static func page(_ query: Query, _ rows: [Row], cursor: String) -> Page {
    Page(rows, from: query[cursor].flatMap { Int($0.dropFirst()) } ?? 0)
  }

  // MARK: Forms

  private static let chains: [AnswerForm] = [
    AnswerForm("a Link header") { query, rows, _ in
      let page = page(query, rows)
      let next = Request.Header("Link", "</api/things?page=\(page.end / 10 + 1)>; rel=\"next\"")
      return ok(page.list, headers: page.goesOn ? [next] : [])
    },
    AnswerForm("the next address in the body", query: "SELECT id, attributes_name FROM things") { query, rows, _ in
      let page = page(query, rows, name: "page[number]")
      let next = page.goesOn ? "\"/api/things?page[number]=\(page.end / 10 + 1)\"" : "null"
      let list = page.rows.map { #"{"type":"item","id":"\#($0.id)","attributes":{"name":"\#($0.name)"}}"# }
      return ok(#"{"data":\#(json(list)),"links":{"next":\#(next)}}"#)
    },
    AnswerForm("a cursor and a flag") { query, rows, _ in
      let page = page(query, rows, cursor: "cursor")
      return ok(#"{"results":\#(page.list),"next_cursor":\#(page.next),"has_more":\#(page.goesOn)}"#)
    },
    AnswerForm("Protocol Buffers: neither empty lists nor empty tokens, and empty pages") { query, rows, _ in
      // The page is cut by numbers, so that removed records leave an empty page.
      let first = query["pageToken"].flatMap(Int.init) ?? 0
      let page = rows.filter { ($0.id - 1) / 10 == first / 10 }
      var members = page.isEmpty ? [] : [#""items":\#(json(page.map(\.json)))"#]
      if rows.contains(where: { $0.id > first + 10 }) { members.append("\"nextPageToken\":\"\(first + 10)\"") }
      return ok("{\(members.joined(separator: ","))}")
    },
    AnswerForm("a scroll whose cursor stays the same", address: "/things/scroll") { query, rows, memory in
      if query["scroll_param"] == nil { memory.position = 0 }
      let page = Page(rows, from: memory.position)
      memory.position += 10
      return ok(#"{"type":"list","data":\#(page.list),"scroll_param":"60bb-9f98"}"#)
    },
    AnswerForm("a search that may be incomplete, and is so at times") { query, rows, memory in
      memory.requests += 1
      if memory.requests.isMultiple(of: 3) {
        return ok(#"{"total_count":\#(rows.count),"incomplete_results":true,"items":[]}"#)
      }
      let page = page(query, rows)
      let next = Request.Header("Link", "</api/things?page=\(page.end / 10 + 1)>; rel=\"next\"")
      return ok(
        #"{"total_count":\#(rows.count),"incomplete_results":false,"items":\#(page.list)}"#,
        headers: page.goesOn ? [next] : [])
    },
  ]

  private static let numbered: [AnswerForm] = [
    AnswerForm("numbers of pages and records") { query, rows, _ in
      let page = page(query, rows)
      return ok(
        #"{"items":\#(page.list),"page":\#(page.first / 10 + 1),"total_pages":\#(page.pages),"total":\#(rows.count)}"#)
    },
    AnswerForm("totals as texts") { query, rows, _ in
      let page = page(query, rows)
      return ok(#"{"items":\#(page.list),"totalPages":"\#(page.pages)","total":"\#(rows.count)"}"#)
    },
    AnswerForm("totals with a fraction") { query, rows, _ in
      let page = page(query, rows)
      return ok(#"{"items":\#(page.list),"totalPages":\#(page.pages).0,"total":\#(rows.count).0}"#)
    },
    AnswerForm("a flag of 1 and 0") { query, rows, _ in
      let page = page(query, rows)
      return ok(#"{"items":\#(page.list),"hasMore":\#(page.goesOn ? 1 : 0)}"#)
    },
    AnswerForm("a flag as a text") { query, rows, _ in
      let page = page(query, rows)
      return ok(#"{"items":\#(page.list),"hasMore":"\#(page.goesOn)"}"#)
    },
    AnswerForm("a position of 1 for the first record", address: "/things?startIndex=1&count=10") { query, rows, _ in
      let page = Page(
        rows, from: (query["startIndex"].flatMap(Int.init) ?? 1) - 1, size: query["count"].flatMap(Int.init) ?? 10)
      return ok(
        """
        {"totalResults":\(rows.count),"startIndex":\(page.first + 1),"itemsPerPage":10,"Resources":\(page.list)}
        """)
    },
    AnswerForm("a capped total", address: "/things?limit=10&offset=0") { query, rows, _ in
      let page = Page(rows, from: query["offset"].flatMap(Int.init) ?? 0)
      return ok(#"{"items":\#(page.list),"total":\#(min(20, rows.count)),"limit":10,"offset":\#(page.first)}"#)
    },
    AnswerForm("a total that is the length of its page", address: "/things?limit=10&offset=0") { query, rows, _ in
      let page = Page(rows, from: query["offset"].flatMap(Int.init) ?? 0)
      return ok(#"{"items":\#(page.list),"meta":{"total":\#(page.rows.count)}}"#)
    },
    AnswerForm("204 without records", address: "/things?page=1") { query, rows, _ in
      let page = page(query, rows)
      if page.rows.isEmpty { return Response(status: 204) }
      return ok(#"{"data":\#(page.list),"info":{"page":\#(page.first / 10 + 1),"more_records":\#(page.goesOn)}}"#)
    },
    AnswerForm("the last page again after the end", address: "/things?page=1&per_page=10") { query, rows, _ in
      let asked = page(query, rows)
      let page = asked.rows.isEmpty ? Page(rows, from: max(0, (rows.count - 1) / 10 * 10)) : asked
      return ok(page.list)
    },
  ]

  /// A record that only its first two fields together tell apart.
  @Sendable private static func pair(_ number: Int, _ name: String) -> String {
    "n\(number / 2) \(number.isMultiple(of: 2) ? "A" : "MX") \(name.prefix(3))"
  }

  private static let odd: [AnswerForm] = [
    AnswerForm(
      "converted from XML: one record comes without a list, and none as a text"
    ) { _, rows, _ in
      let items = rows.map(\.json)
      let list = items.count == 1 ? items[0] : json(items)
      return ok(rows.isEmpty ? #"{"response":{"things":""}}"# : #"{"response":{"things":{"thing":\#(list)}}}"#)
    },
    AnswerForm("a map of records") { _, rows, _ in
      let members = rows.map { #""k\#($0.id)":{"id":\#($0.id),"name":"\#($0.name)"}"# }
      return ok(#"{"items":{\#(members.joined(separator: ","))}}"#)
    },
    AnswerForm(
      "records that only two fields together tell apart", address: "/rrsets",
      query: "SELECT name, type, comment FROM rrsets",
      truth: pair,
      answer: { _, rows, _ in
        let list = rows.map { row in
          let parts = pair(row.id, row.name).split(separator: " ")
          return #"{"name":"\#(parts[0])","type":"\#(parts[1])","comment":"\#(parts[2])"}"#
        }
        return ok(#"{"rrsets":\#(json(list))}"#)
      }),
    AnswerForm(
      "keys of 0 and below", truth: { "\($0 - 5) \($1)" },
      answer: { _, rows, _ in ok(json(rows.map { #"{"id":\#($0.id - 5),"name":"\#($0.name)"}"# })) }),
    AnswerForm("a list that calls itself failed at times") { query, rows, memory in
      memory.requests += 1
      if memory.requests.isMultiple(of: 4) { return ok(#"{"success":false,"data":[],"hasMore":false}"#) }
      let page = page(query, rows)
      return ok(#"{"success":true,"data":\#(page.list),"hasMore":\#(page.goesOn)}"#)
    },
  ]
}
