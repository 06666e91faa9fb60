import RosterCore

// developer.wordpress.org/rest-api/using-the-rest-api/pagination

extension PublicAPI {
  static let wordpress = PublicAPI(
    file: "wordpress-posts", prefix: "/wp-json/wp/v2",
    kinds: [
      Kind(name: "posts", resources: ["post"], count: 203, fates: [3: .deleted, 9: .deleted], record: wordpressPost)
    ],
    asked: (1...3).map { "/posts?orderby=id&order=asc&per_page=100&page=\($0)" },
    proof: ["post": "count"],
    seen: [
      "SELECT title, author, sticky, extra ->> 'date', extra ->> '$.content.protected' FROM posts WHERE id = 16": [
        "Post 8 &#8220;edition&#8221; 1", "1", "0", "2026-01-01T01:00:00", "0",
      ],
      "SELECT group_concat(category) FROM post_categories WHERE post_id = 16": ["1,5"],
    ]
  ) { call, world in
    if call.key(below: "/posts/") != nil { throw Refusal(status: 401, why: "unpublished posts need a login") }
    guard call.path == "/posts" else { throw Refusal(status: 404, why: "rest_no_route") }
    try call.allow("page", "per_page", "orderby", "order")
    try call.expect("orderby", "id")
    try call.expect("order", "asc")
    let (size, page) = (
      try call.integer("per_page", or: 10, in: 1...100), try call.integer("page", or: 1, in: 1...10_000)
    )
    let posts = world.records("posts")
    let pages = (posts.count + size - 1) / size
    guard page <= pages else { throw Refusal(status: 400, why: "rest_post_invalid_page_number") }
    return .json(
      .list(posts.page((page - 1) * size, size: size)),
      headers: [.init("X-WP-Total", "\(posts.count)"), .init("X-WP-TotalPages", "\(pages)")])
  }

  private static let wordpressPost: @Sendable (Int, Int) -> String = { id, edition in
    """
    {"id":\(id * 2),"date":"2026-01-01T01:00:00","date_gmt":"2026-01-01T00:00:00",
    "guid":{"rendered":"https:\\/\\/example.com\\/?p=\(id * 2)"},"modified":"2026-01-01T01:00:00",
    "modified_gmt":"2026-01-0\(edition)T\(midnight)","slug":"post-\(id)","status":"publish","type":"post",
    "link":"https:\\/\\/example.com\\/post-\(id)\\/","title":{"rendered":"Post \(id) &#8220;edition&#8221; \(edition)"},
    "content":{"rendered":"<p>Words of \(id)<\\/p>\\n","protected":false},
    "excerpt":{"rendered":"","protected":false},"author":1,"featured_media":0,"comment_status":"open",
    "sticky":\(id % 9 == 0),"template":"","format":"standard","meta":[],"categories":[1,\(id % 3 + 3)],
    "tags":[\(id % 4 == 0 ? "9" : "")],"_links":{"self":[{"href":"https:\\/\\/example.com\\/\(id * 2)"}]}}
    """
  }
}

// pokeapi.co/docs/v2#resource-listspagination-section

extension PublicAPI {
  static let pokeapi = PublicAPI(
    file: "pokeapi", prefix: "/api/v2", hasETags: true,
    kinds: [
      Kind(
        name: "pokemon", resources: ["pokemon"], count: 450, fates: [3: .deleted, 9: .deleted],
        record: { id, edition in
          #"{"name":"mon-\#(id)","url":"https://pokeapi.co/api/v2/pokemon/\#(id + (edition - 1) * 10_000)/"}"#
        }),
      Kind(
        name: "ability", resources: ["ability"], count: 205, fates: [3: .deleted],
        record: { id, edition in
          #"{"name":"ability-\#(id)","url":"https://pokeapi.co/api/v2/ability/\#(id + (edition - 1) * 10_000)/"}"#
        }),
    ],
    asked: [
      "/pokemon?limit=200&offset=0", "/pokemon?limit=200&offset=200", "/pokemon?limit=200&offset=400",
      "/ability?limit=100", "/ability?offset=100&limit=100", "/ability?offset=200&limit=100",
    ],
    proof: ["pokemon": "count", "ability": "count"],
    seen: [
      "SELECT record_id > 0, url, extra FROM pokemon WHERE name = 'mon-7'": [
        "1", "https://pokeapi.co/api/v2/pokemon/7/", "NULL",
      ]
    ]
  ) { call, world in
    let name = String(call.path.dropFirst())
    guard world.listed[name] != nil else { throw Refusal(status: 404, why: "no such list") }
    try call.allow("limit", "offset")
    let (size, from) = (
      try call.integer("limit", or: 20, in: 1...100_000), try call.integer("offset", or: 0, in: 0...100_000)
    )
    let all = world.records(name)
    func address(_ offset: Int) -> JSONValue {
      .text("\(call.origin)/api/v2/\(name)?offset=\(offset)&limit=\(size)")
    }
    return .json(
      ("count", .integer(all.count)), ("next", from + size < all.count ? address(from + size) : .null),
      ("previous", from > 0 ? address(max(0, from - size)) : .null), ("results", .list(all.page(from, size: size))))
  }
}

// swapi.dev/documentation

extension PublicAPI {
  static let swapi = PublicAPI(
    file: "swapi", prefix: "/api", hasETags: true,
    kinds: [
      Kind(name: "people", resources: ["person"], count: 22, fates: [3: .deleted, 9: .deleted], record: swapiPerson),
      Kind(
        name: "planets", resources: ["planet"], count: 18, fates: [3: .deleted],
        record: { id, edition in
          """
          {"name":"Planet \(id)","rotation_period":"unknown","diameter":"10465","climate":"arid","gravity":"1 standard",
          "terrain":"desert","population":"\(edition)00,000","residents":["https://swapi.dev/api/people/\(id)/"],
          "films":[],"created":"2014-12-09T13:50:49.641000Z","edited":"2014-12-20T20:58:18.411000Z",
          "url":"https://swapi.dev/api/planets/\(id)/"}
          """
        }),
    ],
    asked: (1...3).map { "/people/?page=\($0)" } + (1...2).map { "/planets/?page=\($0)" },
    proof: ["person": "count", "planet": "count"],
    seen: [
      "SELECT name, height, mass, extra ->> 'skin_color' FROM people WHERE url = 'https://swapi.dev/api/people/8/'": [
        "Person 8 edition 1", "172", "unknown", "fair",
      ],
      """
      SELECT position, f.url FROM person_films f JOIN people p ON record_id = person_id
      WHERE p.url = 'https://swapi.dev/api/people/8/' ORDER BY 1 DESC LIMIT 1
      """: ["1", "https://swapi.dev/api/films/2/"],
    ]
  ) { call, world in
    // Without the trailing / it would be a redirect.
    guard call.path.hasSuffix("/") else { throw Refusal(status: 404, why: "no / at its end") }
    let name = String(call.path.dropFirst().dropLast())
    guard world.listed[name] != nil else { throw Refusal(status: 404, why: "no such list") }
    try call.allow("page")
    let (all, page) = (world.records(name), try call.integer("page", or: 1, in: 1...1000))
    guard (page - 1) * 10 < all.count else { throw Refusal(status: 404, why: "beyond the last page") }
    func address(_ page: Int) -> JSONValue { .text("https://swapi.dev/api/\(name)/?page=\(page)") }
    return .json(
      ("count", .integer(all.count)), ("next", page * 10 < all.count ? address(page + 1) : .null),
      ("previous", page > 1 ? address(page - 1) : .null), ("results", .list(all.page((page - 1) * 10, size: 10))))
  }

  private static let swapiPerson: @Sendable (Int, Int) -> String = { id, edition in
    """
    {"name":"Person \(id) edition \(edition)","height":"172","mass":"\(id % 2 == 0 ? "unknown" : "1,358")",
    "hair_color":"n/a","skin_color":"fair","eye_color":"blue","birth_year":"19BBY","gender":"male",
    "homeworld":"https://swapi.dev/api/planets/1/","films":["https://swapi.dev/api/films/1/",
    "https://swapi.dev/api/films/2/"],"species":[],"vehicles":["https://swapi.dev/api/vehicles/14/"],"starships":[],
    "created":"2014-12-09T13:50:51.644000Z","edited":"2014-12-20T21:17:56.891000Z",
    "url":"https://swapi.dev/api/people/\(id)/"}
    """
  }
}

// developers.notion.com/reference/post-database-query, …/intro#pagination

extension PublicAPI {
  static let notion = PublicAPI(
    file: "notion-pages", prefix: "/v1", credentials: ["access_token": "ntn_1"],
    headers: ["Authorization": "Bearer ntn_1", "Notion-Version": "2022-06-28"],
    kinds: [
      Kind(
        name: "pages", resources: ["page"], count: 204, fates: [3: .deleted, 7: .moved, 9: .unlisted],
        unseen: [.deleted, .moved, .unlisted], record: { id, edition in notionPage(id, edition: edition) })
    ],
    asked: ["", #","start_cursor":"\#(notionID(101))""#, #","start_cursor":"\#(notionID(201))""#].map {
      "POST /databases/\(notionDatabase)/query "
        + #"{"sorts":[{"timestamp":"created_time","direction":"ascending"}],"page_size":100\#($0)}"#
    },
    askedNext: [
      "POST /databases/\(notionDatabase)/query "
        + #"{"sorts":[{"timestamp":"created_time","direction":"ascending"}],"filter":{"timestamp":"last_edited_time","#
        + #""last_edited_time":{"on_or_after":"2026-01-01T10:25:00.000Z"}},"page_size":100}"#
    ],
    proof: ["page": "end"],
    seen: [
      """
      SELECT title, properties ->> '$.Status.select.name', created_by, public_url, extra ->> '$.created_by.object',
        extra ->> '$.properties' FROM pages WHERE id = '\(notionID(8))'
      """: ["Page 8 edition 1", "Open", "u1", "NULL", "user", "NULL"],
      "SELECT title, public_url FROM pages WHERE id = '\(notionID(10))'": ["", "NULL"],
    ]
  ) { call, world in
    if let key = call.key(below: "/pages/") {
      guard !call.isPost else { throw Refusal(status: 400, why: "a page is asked for by GET") }
      let found = world.record("pages", id: Int(key.suffix(12)))
      guard let found, case .object(let members) = found.json else { return .json(("code", .text("x")), status: 404) }
      switch found.fate {
      case .deleted:
        return .json(.object(members.filter { $0.name != "archived" } + [.init("archived", .boolean(true))]))
      case .moved:
        let parent = JSONValue.object([.init("database_id", .text("11111111-ae52-4b48-9fdf-e71f5945d1af"))])
        return .json(.object(members.filter { $0.name != "parent" } + [.init("parent", parent)]))
      case .unlisted, nil: return .json(found.json)
      }
    }
    guard call.isPost, call.path == "/databases/\(notionDatabase)/query", call["Content-Type"] == "application/json",
      case .object(let body) = call.body
    else { throw Refusal(status: 400, why: "no such address, or not JSON") }
    try call.allow()
    for name in body.map(\.name) where !["start_cursor", "page_size", "sorts", "filter"].contains(name) {
      throw Refusal(status: 400, why: "\(name) in the body")
    }
    let size = call.body["page_size"]?.integer ?? 100
    guard (1...100).contains(size) else { throw Refusal(status: 400, why: "page_size") }
    var pages = world.records("pages")
    if let filter = call.body["filter"] {
      guard filter["timestamp"]?.text == "last_edited_time",
        let since = filter["last_edited_time"]?["on_or_after"]?.text
      else { throw Refusal(status: 400, why: "the filter") }
      pages.removeAll { $0["last_edited_time"]?.text ?? "" < since }
    }
    var from = 0
    // The cursor is the id of the next page; it must not be null or empty.
    if let cursor = call.body["start_cursor"] {
      guard let place = pages.firstIndex(where: { $0["id"] == cursor }) else {
        throw Refusal(status: 400, why: "no such cursor")
      }
      from = place
    }
    let next = from + Int(size)
    return .json(
      ("object", .text("list")), ("results", .list(pages.page(from, size: Int(size)))),
      ("next_cursor", next < pages.count ? pages[next]["id"] ?? .null : .null),
      ("has_more", .boolean(next < pages.count)), ("type", .text("page_or_database")))
  }

  private static let notionDatabase = "897e5a76-ae52-4b48-9fdf-e71f5945d1af"

  private static func notionID(_ id: Int) -> String {
    "59833787-2cf9-4fdf-8782-" + String(repeating: "0", count: 12 - "\(id)".count) + "\(id)"
  }

  private static func notionPage(_ id: Int, edition: Int) -> String {
    let text = #"{"type":"text","text":{"content":"x","link":null},"plain_text":"Page \#(id) edition \#(edition)"}"#
    return """
      {"object":"page","id":"\(notionID(id))","created_time":"2026-01-01T00:00:00.000Z",
      "last_edited_time":"2026-01-0\(edition)T10:\(id > 200 ? 30 : 10):00.000Z","created_by":{"object":"user","id":"u1"},
      "last_edited_by":{"object":"user","id":"u2"},"cover":null,"icon":null,
      "parent":{"type":"database_id","database_id":"\(notionDatabase)"},"archived":false,"in_trash":false,
      "properties":{"Name":{"id":"title","type":"title","title":[\(id % 5 == 0 ? "" : text)]},
      "Status":{"id":"a%3D","type":"select","select":{"name":"Open","color":"red"}},
      "Estimate":{"id":"b","type":"number","number":\(id).50}},"url":"https://www.notion.so/\(id)","public_url":null}
      """
  }
}

// rickandmortyapi.com/documentation

extension PublicAPI {
  static let rickandmorty = PublicAPI(
    // Not at /api, where the simulator has its own characters.
    file: "rickandmorty", prefix: "/public/api", hasETags: true,
    kinds: [
      Kind(
        name: "character", resources: ["character"], count: 65, fates: [3: .deleted, 9: .deleted, 21: .unlisted],
        record: mortyCharacter),
      Kind(
        name: "location", resources: ["location"], count: 45, fates: [3: .deleted],
        record: { id, edition in
          """
          {"id":\(id),"name":"Place \(id) (\(edition))","type":"\(id % 4 == 0 ? "" : "Moon")",
          "dimension":"Dimension C-\(id)","residents":[\(mortyPlaces("character", ids: 0..<id % 3))],
          "url":"\(mortyPlace("location", id: id))","created":"2017-11-10T12:42:04.162Z"}
          """
        }),
      Kind(
        name: "episode", resources: ["episode"], count: 51, fates: [7: .unlisted],
        record: { id, edition in
          """
          {"id":\(id),"name":"Episode \(id) of \(edition)","air_date":"May \(id), 2014","episode":"S01E\(id)",
          "characters":[\(mortyPlaces("character", ids: id - 1..<id + edition))],"url":"\(mortyPlace("episode", id: id))",
          "created":"2017-11-10T12:56:33.798Z"}
          """
        }),
    ],
    asked: [("character", 4), ("location", 3), ("episode", 3)].flatMap { name, pages in
      (1...pages).map { "/\(name)?page=\($0)" }
    },
    proof: ["character": "count", "location": "count", "episode": "count"],
    seen: [
      "SELECT name, status, origin_name, origin_url, location_name, extra FROM characters WHERE id = 7": [
        "Rick 7 \"edition\" 1", "Alive", "Place 8", mortyPlace("location", id: 8), "unknown", "NULL",
      ],
      "SELECT group_concat(position || url, ' ') FROM character_episodes WHERE character_id = 7": [
        "0\(mortyPlace("episode", id: 7)) 1\(mortyPlace("episode", id: 8))"
      ],
      "SELECT name, type, dimension FROM locations WHERE id = 8": ["Place 8 (1)", "", "Dimension C-8"],
      "SELECT air_date, episode FROM episodes WHERE id = 28": ["May 28, 2014", "S01E28"],
    ]
  ) { call, world in
    let name = String(call.path.dropFirst().prefix { $0 != "/" })
    guard world.listed[name] != nil else { throw Refusal(status: 404, why: "no such endpoint") }
    if let keys = call.key(below: "/\(name)/") {
      try call.allow()
      let ids = keys.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
      guard !ids.contains(nil) else { throw Refusal(status: 500, why: "Hey! you must provide an id") }
      let found = ids.compactMap { world.record(name, id: $0) }.filter { $0.fate != .deleted }.map(\.json)
      // A request for a single id is answered with an object, and a missing record with 404.
      if ids.count > 1 { return .json(.list(found)) }
      return found.first.map { .json($0) } ?? .json(("error", .text("\(name) not found")), status: 404)
    }
    try call.allow("page")
    let (all, page) = (world.records(name), try call.integer("page", or: 1, in: 1...1000))
    let pages = (all.count + 19) / 20
    guard page <= pages else { return .json(("error", .text("There is nothing here")), status: 404) }
    func link(_ page: Int) -> JSONValue {
      (1...pages).contains(page) ? .text("https://rickandmortyapi.com/api/\(name)?page=\(page)") : .null
    }
    let info: [JSONValue.Member] = [
      .init("count", .integer(all.count)), .init("pages", .integer(pages)), .init("next", link(page + 1)),
      .init("prev", link(page - 1)),
    ]
    return .json(("info", .object(info)), ("results", .list(all.page((page - 1) * 20, size: 20))))
  }

  private static let mortyCharacter: @Sendable (Int, Int) -> String = { id, edition in
    // Fields that were added to the API later.
    let origin =
      edition == 2
      ? #"{"name":"Place \#(id)","url":"","since":1.50},"nickname":"R\#(id)""#
      : #"{"name":"Place \#(id + 1)","url":"\#(mortyPlace("location", id: id + 1))"}"#
    return """
      {"id":\(id),"name":"Rick \(id) \\"edition\\" \(edition)","status":"\(id % 5 == 0 ? "Dead" : "Alive")",
      "species":"Human","type":"\(id % 4 == 0 ? "Clone" : "")","gender":"Male",
      "origin":\(origin),
      "location":{"name":"unknown","url":""},"image":"\(mortyPlace("character/avatar", id: id)).jpeg",
      "episode":[\(mortyPlaces("episode", ids: id..<id + 3 - edition))],"url":"\(mortyPlace("character", id: id))",
      "created":"2017-11-04T18:48:46.250Z"}
      """
  }

  private static func mortyPlace(_ name: String, id: Int) -> String {
    "https://rickandmortyapi.com/api/\(name)/\(id)"
  }

  private static func mortyPlaces(_ name: String, ids: Range<Int>) -> String {
    ids.map { "\"\(mortyPlace(name, id: $0))\"" }.joined(separator: ",")
  }
}
