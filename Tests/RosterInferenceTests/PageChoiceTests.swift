import RosterCore
import RosterDecode
import RosterFetch
import Testing

@testable import RosterDefinition

private func pointer(_ text: String) -> JSONPointer { JSONPointer(text) ?? JSONPointer() }
private func body(_ text: String) -> Resource.AnswerPlace { .body(pointer(text)) }

@Suite struct PageChoiceTests {
  /// The part of an answer besides its two records, and the expected page style.
  struct Case: Sendable, CustomStringConvertible {
    var name: String
    var facts: String
    var query = ""
    var headers: [Request.Header] = []
    var pages: Resource.Pages
    var unseen: [Note.Place]

    var description: String { name }
  }

  static let cases: [Case] = [
    .init(
      name: "Laravel",
      facts: #""current_page":1,"last_page":3,"next_page_url":"https://a.example/x?page=2","per_page":2,"total":5"#,
      pages: .init(.number(last: body("/last_page")), count: body("/total")), unseen: []),
    .init(
      name: "Spring, from page 0", facts: #""page":{"size":2,"number":0,"totalElements":5,"totalPages":3}"#,
      pages: .init(.number(first: 0, last: body("/page/totalPages")), count: body("/page/totalElements")),
      unseen: [.param]),
    .init(
      name: "Kaminari", facts: #""meta":{"current_page":1,"next_page":2,"prev_page":null,"total_count":5}"#,
      pages: .init(.number(), count: body("/meta/total_count")), unseen: [.param, .size]),
    .init(
      name: "Slack", facts: #""ok":true,"response_metadata":{"next_cursor":"dGVhbTpDMDYxRkE1UEI="}"#,
      pages: .init(.cursor(param: .query("cursor"), at: body("/response_metadata/next_cursor"))),
      unseen: [.param, .size, .count]),
    .init(
      name: "Google", facts: #""kind":"drive#fileList","nextPageToken":"abc","incompleteSearch":false"#,
      query: "pageSize=2",
      pages: .init(
        .cursor(param: .query("pageToken"), at: body("/nextPageToken")), size: .init(2, param: .query("pageSize"))),
      unseen: [.param, .count]),
    .init(
      name: "Jira by token", facts: #""nextPageToken":"abc","isLast":false"#,
      pages: .init(.cursor(param: .query("nextPageToken"), at: body("/nextPageToken"))),
      unseen: [.param, .size, .count]),
    .init(
      name: "GraphQL", facts: #""pageInfo":{"endCursor":"Y3Vy","hasNextPage":true},"totalCount":9"#,
      pages: .init(
        .cursor(param: .query("after"), at: body("/pageInfo/endCursor")), more: body("/pageInfo/hasNextPage"),
        count: body("/totalCount")), unseen: [.param, .size]),
    .init(
      name: "Facebook: the last page has a cursor too",
      facts: #""paging":{"cursors":{"before":"a","after":"b"},"next":"https://a.example/x?limit=2&after=b"}"#,
      query: "limit=2", pages: .init(.next(at: body("/paging/next")), size: .init(2, param: .query("limit"))),
      unseen: [.count]),
    .init(
      name: "Asana: the size has the value of the cursor",
      facts: #""next_page":{"offset":"2","uri":"https://a.example/x?limit=2&offset=2"}"#, query: "limit=2",
      pages: .init(
        .cursor(param: .query("offset"), at: body("/next_page/offset")), size: .init(2, param: .query("limit"))),
      unseen: [.count]),
    .init(
      name: "Airtable", facts: #""offset":"itr/rec""#,
      pages: .init(.cursor(param: .query("offset"), at: body("/offset"))), unseen: [.param, .size, .count]),
    .init(
      name: "a cursor that is null on the last page", facts: #""next_cursor":null,"has_more":false"#,
      query: "cursor=abc",
      pages: .init(.cursor(param: .query("cursor"), at: body("/next_cursor")), more: body("/has_more")),
      unseen: [.size, .count]),
    .init(
      name: "OData",
      facts: #""@odata.context":"x","@odata.nextLink":"https://a.example/x?$skiptoken=2","@odata.count":9"#,
      pages: .init(.next(at: body("/@odata.nextLink")), count: body("/@odata.count")), unseen: [.size]),
    .init(
      name: "HAL", facts: #""_links":{"self":{"href":"/x"},"next":{"href":"/x?page=2"}}"#,
      pages: .init(.next(at: body("/_links/next/href"))), unseen: [.size, .count]),
    .init(
      name: "JSON:API by number",
      facts: #""links":{"next":"https://a.example/x?page%5Bnumber%5D=2&page%5Bsize%5D=2"},"meta":{"totalPages":3}"#,
      pages: .init(.number(param: .query("page[number]"), last: body("/meta/totalPages"))), unseen: [.count]),
    .init(
      name: "an address of the next page that is null", facts: #""count":2,"next":null,"previous":null"#,
      pages: .init(.next(at: body("/next"))), unseen: [.size, .count]),
    .init(
      name: "a key and an address of the next page that are null", facts: #""count":2,"next":null,"next_url":null"#,
      pages: .init(.next(at: body("/next_url"))), unseen: [.size, .count]),
    .init(
      name: "a count that is only the page's", facts: #""count":2,"next":"/x?after=b""#,
      pages: .init(.next(at: body("/next"))), unseen: [.size, .count]),
    .init(
      name: "a total that is only the page's", facts: #""total":2,"next":"/x?after=b""#,
      pages: .init(.next(at: body("/next"))), unseen: [.size, .count]),
    .init(
      name: "dummyjson", facts: #""total":194,"skip":0,"limit":2"#,
      pages: .init(.offset(param: .query("skip")), count: body("/total")), unseen: [.param]),
    .init(
      name: "SCIM, from 1", facts: #""totalResults":9,"itemsPerPage":2,"startIndex":1"#,
      pages: .init(.offset(param: .query("startIndex"), first: 1), count: body("/totalResults")), unseen: [.param]),
    .init(
      name: "FHIR",
      facts: ##""total":57,"link":[{"relation":"self","url":"/x"},{"relation":"next","url":"/x?state=a9f3"}]"##,
      pages: .init(
        .next(
          at: .entry(
            .init(
              list: JSONPointer(segments: ["link"]),
              conditions: [.init(JSONPointer(segments: ["relation"]), .equal(.text("next")))],
              value: JSONPointer(segments: ["url"])))), count: body("/total")), unseen: [.size]),
    .init(
      name: "PayPal", facts: ##""links":[{"href":"/x?t=2","rel":"next"},{"href":"/x","rel":"self"}]"##,
      pages: .init(
        .next(
          at: .entry(
            .init(
              list: JSONPointer(segments: ["links"]),
              conditions: [.init(JSONPointer(segments: ["rel"]), .equal(.text("next")))],
              value: JSONPointer(segments: ["href"]))))), unseen: [.size, .count]),
    .init(
      name: "X", facts: #""meta":{"result_count":2,"newest_id":"2","oldest_id":"1","next_token":"7140d"}"#,
      pages: .init(.cursor(param: .query("next_token"), at: body("/meta/next_token"))),
      unseen: [.param, .size, .count]),
    .init(
      name: "Open Library", facts: #""numFound":629,"start":0,"numFoundExact":true,"num_found":629,"offset":null"#,
      pages: .init(.offset(param: .query("offset")), count: body("/numFound")), unseen: [.param, .size]),
    .init(
      name: "Okta", facts: #""ok":true"#, query: "limit=2",
      headers: [.init("Link", "<https://a.example/x?after=00u1&limit=2>; rel=\"next\"")],
      pages: .init(.link, size: .init(2, param: .query("limit"))), unseen: [.count]),
    .init(
      name: "YouTube's search",
      facts: #""nextPageToken":"CAIQAA","pageInfo":{"totalResults":1000000,"resultsPerPage":2}"#,
      pages: .init(.cursor(param: .query("pageToken"), at: body("/nextPageToken"))), unseen: [.param, .count]),
    .init(
      name: "Heroku", facts: #""ok":true"#, headers: [.init("Next-Range", "]id 2..; max=2")], pages: .init(.one),
      unseen: []),
    .init(
      name: "ClinicalTrials.gov", facts: #""nextPageToken":"ZVNj7o""#, query: "pageSize=2",
      pages: .init(
        .cursor(param: .query("pageToken"), at: body("/nextPageToken")), size: .init(2, param: .query("pageSize"))),
      unseen: [.param, .count]),
    .init(
      name: "offset in the address alone", facts: #""ok":true"#, query: "offset=40&limit=2",
      pages: .init(.offset(param: .query("offset")), size: .init(2, param: .query("limit"))), unseen: [.count]),
    .init(
      name: "Stack Exchange", facts: #""has_more":true,"quota_max":300,"quota_remaining":299"#,
      query: "page=1&pagesize=2",
      pages: .init(.number(), size: .init(2, param: .query("pagesize")), more: body("/has_more")), unseen: [.count]),
    .init(
      name: "a flag alone", facts: #""hasMore":true"#, pages: .init(.number(), more: body("/hasMore")),
      unseen: [.param, .size, .count]),
    .init(
      name: "Elasticsearch's total", facts: #""hits":{"total":{"value":9,"relation":"eq"}}"#, query: "from=0&size=2",
      pages: .init(
        .offset(param: .query("from")), size: .init(2, param: .query("size")), count: body("/hits/total/value")),
      unseen: []),
    .init(
      name: "a total alone", facts: #""total":9"#, pages: .init(.number(), count: body("/total")),
      unseen: [.param, .style, .size]),
    .init(
      name: "json-server", facts: #""a":1"#,
      headers: [.init("X-Total-Count", "9"), .init("link", "<http://a.example/x?_page=2>; rel=\"next\"")],
      pages: .init(.link, count: .header("X-Total-Count")), unseen: [.size]),
    .init(
      name: "GitLab by offset, whose totals vanish", facts: #""a":1"#,
      headers: [
        .init("X-Total", "9"), .init("X-Total-Pages", "5"), .init("Link", "<https://a.example/x?page=2>; rel=\"next\""),
      ], pages: .init(.link), unseen: [.size, .count]),
    .init(
      name: "GitLab, all on one page", facts: #""a":1"#,
      headers: [
        .init("X-Gitlab-Meta", "{}"), .init("X-Total", "2"), .init("X-Total-Pages", "1"), .init("X-Next-Page", ""),
      ], pages: .init(.link), unseen: [.style, .size, .count]),
    .init(
      name: "pages announced by headers, without links", facts: #""a":1"#,
      headers: [.init("X-Total", "9"), .init("x-total-pages", "5"), .init("X-Next-Page", "2")],
      pages: .init(.number(last: .header("x-total-pages")), count: .header("X-Total")), unseen: [.param, .size]),
    .init(
      name: "the next page's number in a header", facts: #""a":1"#, query: "p=1&per_page=2",
      headers: [.init("X-Next-Page", "2")],
      pages: .init(.number(param: .query("p")), size: .init(2, param: .query("per_page"))), unseen: [.count]),
    .init(
      name: "no number of a next page in a header, as on the last one", facts: #""a":1"#,
      headers: [.init("X-Next-Page", "")], pages: .init(.number()), unseen: [.param, .size, .count]),
    .init(
      name: "a total in a header that is only the page's", facts: #""a":1"#,
      headers: [.init("X-Total", "2"), .init("X-Next-Page", "2")], pages: .init(.number()),
      unseen: [.param, .size, .count]),
    .init(
      name: "GitHub, all on one page", facts: #""a":1"#, headers: [.init("X-GitHub-Media-Type", "github.v3")],
      pages: .init(.link), unseen: [.style, .size, .count]),
    .init(
      name: "Kinto, an address in a header", facts: #""a":1"#, query: "_limit=2",
      headers: [
        .init("Next-Page", "https://a.example/x?_limit=2&_token=eyJsYXN0X29iamVjdCI6"), .init("Total-Records", "9"),
      ],
      pages: .init(
        .next(at: .header("Next-Page")), size: .init(2, param: .query("_limit")), count: .header("Total-Records")),
      unseen: []),
    .init(
      name: "Eve, an address without a leading /", facts: #""_links":{"next":{"href":"x?max_results=2&page=2"}}"#,
      headers: [.init("X-Total-Count", "9")],
      pages: .init(.number(), count: .header("X-Total-Count")), unseen: []),
    .init(
      name: "Django REST framework's second page", facts: #""count":9,"next":"https://a.example/x?page=3""#,
      query: "page=2", pages: .init(.number(), count: body("/count")), unseen: [.size]),
    .init(
      name: "an address that leaves out a page", facts: #""count":9,"next":"https://a.example/x?page=4""#,
      query: "page=2", pages: .init(.next(at: body("/next")), count: body("/count")), unseen: [.size]),
    .init(
      name: "PostgREST", facts: #""a":1"#, query: "limit=2", headers: [.init("Content-Range", "0-1/9")],
      pages: .init(
        .offset(param: .query("offset")), size: .init(2, param: .query("limit")), count: .header("Content-Range")),
      unseen: [.style]),
    .init(
      name: "PostgREST without a limit", facts: #""a":1"#, headers: [.init("Content-Range", "0-1/9")],
      pages: .init(.offset(param: .query("offset")), count: .header("Content-Range")), unseen: [.style, .size]),
    .init(
      name: "PostgREST without a total", facts: #""a":1"#, query: "limit=2&offset=2",
      headers: [.init("Content-Range", "2-3/*")],
      pages: .init(.offset(param: .query("offset")), size: .init(2, param: .query("limit"))), unseen: [.count]),
    .init(
      name: "an address that is not relative to its page",
      facts: #""_links":{"next":{"href":"people/1/x?page=2"}},"_meta":{"total":9}"#,
      pages: .init(.number(), count: body("/_meta/total")), unseen: [.size]),
    .init(
      name: "MediaWiki", facts: #""continue":{"gapcontinue":"B","continue":"gapcontinue||"}"#,
      query: "gapcontinue=A&continue=gapcontinue%7C%7C",
      pages: .init(.cursor(param: .everyMember, at: body("/continue"))),
      unseen: [.size, .count]),
    .init(
      name: "MediaWiki, all on one page", facts: #""batchcomplete":"""#,
      pages: .init(.cursor(param: .everyMember, at: body("/continue"))),
      unseen: [.style, .size, .count]),
    .init(
      name: "Kubernetes", facts: #""metadata":{"continue":"abc"}"#, query: "limit=2",
      pages: .init(
        .cursor(param: .query("continue"), at: body("/metadata/continue")), size: .init(2, param: .query("limit"))),
      unseen: [.param, .count]),
    .init(
      name: "OpenAlex, whose cursor starts with *", facts: #""meta":{"count":9,"next_cursor":"IlsxNjA"}"#,
      query: "cursor=*",
      pages: .init(
        .cursor(param: .query("cursor"), start: "*", at: body("/meta/next_cursor")), count: body("/meta/count")),
      unseen: [.size]),
    .init(
      name: "Solr",
      facts: #""response":{"numFound":9,"start":0},"nextCursorMark":"AoE="#
        + #"","responseHeader":{"status":0,"QTime":1}"#, query: "cursorMark=*&rows=2",
      pages: .init(
        .cursor(param: .query("cursorMark"), start: "*", at: body("/nextCursorMark")),
        size: .init(2, param: .query("rows")), count: body("/response/numFound")), unseen: []),
    .init(
      name: "a total under a name of its own", facts: #""filtered_table_rows_count":350,"next_url":"/x?_next=2""#,
      pages: .init(.next(at: body("/next_url")), count: body("/filtered_table_rows_count")), unseen: [.size]),
    .init(
      name: "a number that may be the total", facts: #""anzahl":77,"took_ms":12,"status":200,"next":"/x?after=b""#,
      pages: .init(.next(at: body("/next"))), unseen: [.size, .count]),
    .init(
      name: "json-server by _limit alone", facts: #""a":1"#, query: "_limit=2",
      headers: [.init("X-Total-Count", "9")],
      pages: .init(
        .offset(param: .query("_start")), size: .init(2, param: .query("_limit")), count: .header("X-Total-Count")),
      unseen: [.style]),
    .init(
      name: "JSON:API by page[size] alone", facts: #""meta":{"total":9}"#, query: "page%5Bsize%5D=2",
      pages: .init(
        .number(param: .query("page[number]")), size: .init(2, param: .query("page[size]")),
        count: body("/meta/total")),
      unseen: [.param, .style]),
    .init(
      name: "a size alone", facts: #""a":1"#, query: "_limit=2",
      pages: .init(.one, size: .init(2, param: .query("_limit"))), unseen: [.pages]),
    .init(
      name: "OpenAlex by page, whose cursor is null", facts: #""meta":{"count":9,"page":1,"next_cursor":null}"#,
      query: "page=1&per-page=2",
      pages: .init(.number(), size: .init(2, param: .query("per-page")), count: body("/meta/count")), unseen: []),
    .init(
      name: "a cursor that is null on the last page, with a total", facts: #""total":2,"next_cursor":null"#,
      pages: .init(.cursor(param: .query("cursor"), at: body("/next_cursor"))), unseen: [.param, .size, .count]),
    .init(
      name: "Buildbot, whose total is the page's length", facts: #""meta":{"total":2}"#, query: "limit=2&offset=0",
      pages: .init(.offset(param: .query("offset")), size: .init(2, param: .query("limit"))), unseen: [.count]),
    .init(
      name: "a total at the limit of a search server", facts: #""hits":{"total":{"value":10000,"relation":"gte"}}"#,
      query: "from=0&size=2",
      pages: .init(.offset(param: .query("from")), size: .init(2, param: .query("size"))), unseen: [.count]),
    .init(
      name: "a total of 1000 alone", facts: #""total":1000"#, pages: .init(.number()),
      unseen: [.param, .style, .size, .count]),
    .init(
      name: "a limited total with an address of the next page", facts: #""total":1000,"next":"/x?page=2""#,
      query: "page=1", pages: .init(.next(at: body("/next"))), unseen: [.size, .count]),
    .init(
      name: "Synapse's rooms", facts: #""offset":0,"next_batch":2,"total_rooms":20"#,
      pages: .init(.cursor(param: .query("from"), at: body("/next_batch"))), unseen: [.param, .size, .count]),
    .init(
      name: "Synapse's users, with the parameter in the address", facts: #""next_token":"2","total":20"#,
      query: "from=0&limit=2",
      pages: .init(
        .cursor(param: .query("from"), at: body("/next_token")), size: .init(2, param: .query("limit")),
        count: body("/total")), unseen: []),
    .init(
      name: "Nova, an address in a list of one link",
      facts: #""things_links":[{"rel":"next","href":"https://a.example/x?limit=2&marker=b"}]"#,
      pages: .init(.next(at: body("/things_links/0/href"))), unseen: [.count]),
    .init(
      name: "a list of one link without a relation", facts: #""links":[{"uri":"/x?offset=2"}]"#,
      pages: .init(.next(at: body("/links/0/uri"))), unseen: [.size, .count]),
    .init(
      name: "Mailman, whose answers have a start and whose address has a page",
      facts: #""start":0,"total_size":20"#, query: "count=2&page=1",
      pages: .init(.number(), size: .init(2, param: .query("count")), count: body("/total_size")), unseen: []),
    .init(
      name: "an offset in the address, and a number of pages in the answer", facts: #""pages":3,"total":5"#,
      query: "offset=0&limit=2",
      pages: .init(
        .offset(param: .query("offset")), size: .init(2, param: .query("limit")), count: body("/total")), unseen: []),
    .init(
      name: "Strapi", facts: #""meta":{"pagination":{"page":1,"pageSize":2,"pageCount":3,"total":5}}"#,
      query: "pagination%5Bpage%5D=1&pagination%5BpageSize%5D=2",
      pages: .init(
        .number(param: .query("pagination[page]"), last: body("/meta/pagination/pageCount")),
        size: .init(2, param: .query("pagination[pageSize]")), count: body("/meta/pagination/total")), unseen: []),
    .init(
      name: "Magento", facts: #""search_criteria":{"page_size":2,"current_page":1},"total_count":5"#,
      query: "searchCriteria%5BpageSize%5D=2&searchCriteria%5BcurrentPage%5D=1",
      pages: .init(
        .number(param: .query("searchCriteria[currentPage]")),
        size: .init(2, param: .query("searchCriteria[pageSize]")), count: body("/total_count")), unseen: []),
    .init(
      name: "Elasticsearch by size alone", facts: #""hits":{"total":{"value":9,"relation":"eq"}}"#, query: "size=2",
      pages: .init(
        .offset(param: .query("from")), size: .init(2, param: .query("size")), count: body("/hits/total/value")),
      unseen: [.style]),
    .init(
      name: "Intercom, whose next page is an object",
      facts: #""total_count":9,"pages":{"page":1,"per_page":2,"total_pages":5,"next":{"page":2,"starting_after":"W"}}"#,
      query: "per_page=2",
      pages: .init(
        .cursor(param: .query("starting_after"), at: body("/pages/next/starting_after")),
        size: .init(2, param: .query("per_page")), count: body("/total_count")), unseen: [.param]),
    .init(
      name: "Keycloak", facts: #""a":1"#, query: "first=0&max=2",
      pages: .init(.offset(param: .query("first")), size: .init(2, param: .query("max"))), unseen: [.count]),
    .init(
      name: "nothing", facts: #""a":1"#, pages: .init(.one), unseen: [.style]),
  ]

  @Test(
    "The page style and its keys follow from an answer, its headers and its address", arguments: PageChoiceTests.cases
  )
  func style(of tried: Case) throws {
    let sample = Sample(
      name: "", url: "https://a.example/x?\(tried.query)", headers: tried.headers,
      body: "{\"data\":[{\"id\":1},{\"id\":2}],\(tried.facts)}")
    let finding = try sample.finding()
    #expect(finding.resource.pages == tried.pages)
    let always: [Note.Place] = [.key, .byKey, .since]
    let unseen = finding.notes.filter { $0.isUnseen && !always.contains($0.place) }.map(\.place)
    #expect(unseen == tried.unseen)
    #expect(finding.resource.query.isEmpty)
  }

  @Test("Confluence's address is relative to the API's root, so that its offset is taken instead")
  func relativeToRoot() throws {
    let sample = Sample(
      name: "", url: "https://a.example/wiki/rest/api/content",
      body: #"{"results":[{"id":"1"},{"id":"2"}],"_links":{"next":"/rest/api/content?limit=2&start=2"}}"#)
    #expect(try sample.finding().resource.pages.style == .offset(param: .query("start")))
  }

  @Test(
    "A page number at the end of the path becomes a placeholder, and a pull starts at the first page",
    arguments: [("/league/standings/page/1", 1), ("/league/standings/page/3", 1), ("/league/standings/p/0", 0)])
  func pageInPath(path: String, first: Int) throws {
    let found = try Sample(name: "", url: "https://a.example\(path)", body: #"[{"id":1},{"id":2}]"#).finding()
    #expect(found.resource.path == String(path.dropLast()) + "{page}" && found.resource.name == "standing")
    #expect(found.resource.pages.style == .number(param: .path, first: first))
    #expect(!found.toml.contains("param ="))
  }

  @Test("A size that upstream has lowered is not asked for again, because upstream may skip the difference")
  func loweredSize() throws {
    for (next, size) in [("\"/x?start=100&limit=100\"", 2), ("null", 100)] {
      let sample = Sample(
        name: "", url: "https://a.example/x?limit=100", body: #"{"data":[{"id":1},{"id":2}],"next":\#(next)}"#)
      #expect(try sample.finding().resource.pages.size == .init(size, param: .query("limit")))
    }
  }

  @Test("Records in several lists of one object are named, because a definition reads one list")
  func mapOfLists() throws {
    let lists = (1...3).map { #""2026-01-0\#($0)":[{"id":\#($0)}]"# }.joined(separator: ",")
    let toml = try Sample(name: "", url: "https://a.example/feed", body: "{\"days\":{\(lists)}}").finding().toml
    #expect(toml.contains("the records are in 3 lists, one for each member of /days"))
    #expect(!toml.contains("param ="))
  }

  @Test("A page and a size whose product exceeds Int stop nothing")
  func hugePage() throws {
    let sample = Sample(
      name: "", url: "https://a.example/x?page=\(Int.max)&limit=\(Int.max)",
      body: #"{"data":[{"id":1}],"total":5,"next_cursor":null}"#)
    #expect(try sample.finding().resource.records == pointer("/data"))
  }

  @Test("An offset whose sum with the records exceeds Int stops nothing")
  func hugeOffset() throws {
    let sample = Sample(
      name: "", url: "https://a.example/x?offset=\(Int.max)",
      body: #"{"count":100,"next":"https://a.example/x?offset=5","results":[{"id":2}]}"#)
    #expect(try sample.finding().resource.pages.style == .next(at: body("/next")))
  }

  @Test("A page size that a definition cannot have stays in the query", arguments: [2_000_000_000, 2_000_000_001])
  func hugeSize(size: Int) throws {
    let sample = Sample(
      name: "", url: "https://a.example/x?page=1&per_page=\(size)", body: #"{"data":[{"id":1}],"total":5}"#)
    let found = try sample.finding().resource
    let isPossible = size <= Resource.Size.max
    #expect(found.pages.size == (isPossible ? Resource.Size(size, param: .query("per_page")) : nil))
    #expect(found.query == (isPossible ? [] : [.init("per_page", .integer(Int64(size)))]))
  }

  @Test("A parameter in the brackets of a condition is no page")
  func condition() throws {
    let sample = Sample(name: "", url: "https://a.example/x?filter%5Bstart%5D=5", body: #"[{"id":1}]"#)
    let found = try sample.finding().resource
    #expect(found.pages.style == .one && found.query == [.init("filter[start]", .integer(5))])
  }

  @Test(
    "If the records may be a full page without a sign of others, a comment before the table of the pages says so",
    arguments: [(10, "", true), (7, "", false), (7, "?n=7", true), (7, "?n=8", false), (1, "?project=1", false)])
  func fullPage(records: Int, query: String, isFull: Bool) throws {
    let body = (1...records).map { "{\"id\":\($0)}" }.joined(separator: ",")
    let toml = try Sample(name: "", url: "https://a.example/x\(query)", body: "[\(body)]").finding().toml
    #expect(toml.contains("# not seen: whether more records exist: \(records) may be a full page") == isFull)
    #expect(toml.contains("(PAGES.md), else remove `size`\n[resource.") == isFull)
  }

  @Test(
    "A position in the given address is left out, whatever its name is, so that a pull starts at the first page",
    arguments: [
      (#""offset":"itr20/rec20""#, "pageSize=2&offset=itr10%2Frec10&view=a", "", "view"),
      (#""next":"https://a.example/x?max_id=30&kind=a""#, "max_id=40&kind=a", "", "kind"),
      ("", "sysparm_offset=10&kind=a", "<https://a.example/x?kind=a&sysparm_offset=20>; rel=\"next\"", "kind"),
      (
        #""next":"https://a.example/x?from_day=2026-01-01T00:00:00Z&page=2""#, "from_day=2026-01-01", "", "from_day"
      ),
    ])
  func positionLeftOut(facts: String, query: String, link: String, kept: String) throws {
    let body = "{\(facts)\(facts.isEmpty ? "" : ",")\"results\":[{\"id\":1},{\"id\":2}]}"
    let headers = link.isEmpty ? [] : [Request.Header("Link", link)]
    let found = try Sample(name: "", url: "https://a.example/x?\(query)", headers: headers, body: body).finding()
    #expect(found.resource.query.map(\.name) == [kept])
    #expect(kept == "from_day" || found.toml.contains("in the given address is left out: a pull starts at the first"))
  }

  @Test("A start value of a cursor stays in the query if the style follows addresses")
  func startOfAddresses() throws {
    let sample = Sample(
      name: "", url: "https://a.example/x?cursor=*&page=1", body: #"{"data":[{"id":1}],"next":"/x?cursor=abc"}"#)
    let found = try sample.finding().resource
    #expect(found.pages.style == .next(at: body("/next")) && found.query == [.init("cursor", .text("*"))])
  }

  /// Records with an id as a text, and a time in seconds that two of them share.
  private static func trades(_ times: [Int]) -> String {
    times.enumerated().map { #"{"id":"t\#($0)","ts":\#($1)}"# }.joined(separator: ",")
  }

  @Test(
    "55: a parameter whose value precedes those of a field by which the records are sorted asks for the next page",
    arguments: [
      ("since_ts=1700000000", trades([1_700_000_001, 1_700_000_001, 1_700_000_003, 1_700_000_004, 1_700_000_005]), ""),
      ("from=1700000001&limit=3", trades([1_700_000_001, 1_700_000_001, 1_700_000_003]), ""),
      ("max_ts=1700000009&limit=3", trades([1_700_000_008, 1_700_000_004, 1_700_000_001]), ""),
      ("since_ts=1700000000", trades([1_700_000_001, 1_700_000_003]), #","has_more":true"#),
    ])
  func startOfTime(query: String, records: String, facts: String) throws {
    let sample = Sample(name: "", url: "https://a.example/trades?\(query)", body: #"{"data":[\#(records)]\#(facts)}"#)
    let found = try sample.finding().resource
    let name = String(query.prefix { $0 != "=" })
    #expect(found.pages.style == .after(param: .query(name), at: pointer("/ts")))
    #expect(found.query.map(\.name) == [name])
    // Records that share a value may begin the next page again.
    #expect(found.pages.short == facts.isEmpty && (found.pages.size == nil) != facts.isEmpty)
  }

  @Test(
    "55: the key is asked for if a parameter precedes it, and a position in the middle of the list is left out",
    arguments: [
      ("since_id=0&limit=3", #"{"id":1,"n":2},{"id":2,"n":3},{"id":5,"n":4}"#, ["since_id"], false),
      ("after=9&limit=3", #"{"id":"10"},{"id":"11"},{"id":"120"}"#, [], false),
      ("from_id=b&limit=3", #"{"id":"b"},{"id":"c"},{"id":"d"}"#, ["from_id"], true),
    ])
  func startOfKeys(query: String, records: String, kept: [String], isShort: Bool) throws {
    let found = try Sample(name: "", url: "https://a.example/things?\(query)", body: "[\(records)]").finding().resource
    let name = String(query.prefix { $0 != "=" })
    #expect(found.pages.style == .after(param: .query(name), at: pointer("/id")))
    #expect(found.query.map(\.name) == kept)
    #expect(found.pages.size == .init(3, param: .query("limit")) && found.pages.short == isShort)
  }

  @Test(
    "55: without such a parameter, `after` is a comment, if the records are sorted",
    arguments: ["", "start_ts=1700000000&end_ts=1700009999", "project=1", "since=2026-01-01", "since_ts=1700000002"])
  func sortedAlone(query: String) throws {
    let times = (1...5).map { 1_700_000_000 + $0 / 2 }
    let sample = Sample(
      name: "", url: "https://a.example/trades?\(query)", body: "[\(Self.trades(times.map { $0 + 1 }))]")
    let found = try sample.finding()
    #expect(found.resource.pages.style == .one)
    #expect(found.toml.contains("# style = \"after\"\n# param = \"after\"\n"))
    let unsorted = Sample(
      name: "", url: "https://a.example/trades?\(query)",
      body: #"[{"id":3},{"id":1},{"id":2},{"id":5},{"id":4}]"#)
    #expect(try !unsorted.finding().toml.contains("after"))
  }

  @Test("Each number above the number of records, which may be the total, is proposed with its value")
  func possibleTotals() throws {
    let sample = Sample(
      name: "", url: "https://a.example/x", headers: [.init("X-Matches", "12"), .init("Content-Length", "900")],
      body: #"{"data":[{"id":1}],"next":"/x?p=2","info":{"n":7,"took":30,"time":1795459357},"code":200}"#)
    let notes = try sample.finding().notes.filter { $0.place == .count && !$0.lines.isEmpty }
    #expect(notes.map(\.lines) == [["count = \"/info/n\""], ["count = \"header:X-Matches\""]])
    #expect(notes.first?.text.contains("7") == true && notes.last?.text.contains("12") == true)
  }

  /// The next request of a real pull after the examined answer.
  @Test(
    "infer's definition continues a pull from the same answer as the API's documentation says",
    arguments: [
      (Sample.rickAndMorty, "42 announced"), (.pokeAPI, "651 announced"), (.swapi, "41 announced"),
      (.gitHub, "/repositories/1300192/issues?state=all&per_page=2&page=2"),
      (.gitLab, "/projects?id_after=3&order_by=id&pagination=keyset&per_page=2&sort=asc"),
      (.stripe, "/customers?limit=2&starting_after=cus_NffrFeUfNV2Hic"), (.jira, "146 announced"),
      (.zendesk, "/tickets.json?page%5Bsize%5D=2&page%5Bafter%5D=eyJvIjoibmljZV9pZCIsInYiOiJhUUVBQUFBQUFBQUEifQ%3D%3D"),
      (.wordPress, "59 announced"), (.notion, "/records?start_cursor=59833787-2cf9-4fdf-8782-e53db20768a7"),
    ])
  func leadsOn(sample: Sample, to next: String) throws {
    let finding = try sample.finding()
    let paging = Paging(finding.resource, baseURL: finding.baseURL)
    var decoder = RecordDecoder(try RecordPlan(finding.resource))
    let bytes = Array(sample.body.utf8)
    let scan = try decoder.scan(page: bytes)
    #expect(scan.records == finding.records && scan.rejects == 0)
    let facts = try paging.facts(
      in: scan, of: Response(status: 200, headers: sample.headers, body: bytes), page: 1)
    switch try paging.next(after: paging.first(), facts) {
    case .announced(let pages): #expect("\(pages) announced" == next)
    case .page(let page): #expect(page.address == next)
    case .end: Issue.record("the list ends")
    }
  }
}
