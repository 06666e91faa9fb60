import RosterModel

// docs.stripe.com/api/pagination, docs.stripe.com/api/customers/retrieve

extension PublicAPI {
  static let stripe = PublicAPI(
    file: "stripe-customers", prefix: "/v1", credentials: ["access_token": "rk_test_1"],
    headers: ["Authorization": "Bearer rk_test_1", "Stripe-Version": "2024-06-20"],
    kinds: [
      Kind(
        name: "customers", resources: ["customer"], count: 205, fates: [3: .deleted, 9: .unlisted],
        record: stripeCustomer)
    ],
    asked: [
      "/customers?limit=100", "/customers?limit=100&starting_after=cus_106",
      "/customers?limit=100&starting_after=cus_6",
    ],
    proof: ["customer": "end"],
    seen: [
      """
      SELECT email, name, balance, delinquent, city, country, metadata, extra ->> '$.address.line1' FROM customers
      WHERE id = 'cus_12'
      """: ["c12@example.com", "", "-12", "0", "Córdoba", "AR", #"{"plan":"gold"}"#, "Calle 12"],
      "SELECT country, metadata FROM customers WHERE id = 'cus_10'": ["", "{}"],
    ]
  ) { call, world in
    if let key = call.key(below: "/customers/"), let id = Int(key.dropFirst("cus_".count)) {
      return switch world.record("customers", id: id) {
      case nil: .json(("error", .text("resource_missing")), status: 404)
      // A deleted record is still listed.
      case (.deleted, _)?: .json(("id", .text(key)), ("object", .text("customer")), ("deleted", .boolean(true)))
      case (_, let customer)?: .json(customer)
      }
    }
    guard call.path == "/customers" else { throw Refusal(status: 404, why: "no such address") }
    try call.allow("limit", "starting_after")
    let size = try call.integer("limit", or: 10, in: 1...100)
    var rest = Array(world.records("customers").reversed())[...]
    if let after = call.parameter("starting_after") {
      guard let place = rest.firstIndex(where: { $0["id"]?.text == after }) else {
        throw Refusal(status: 400, why: "no such customer: \(after)")
      }
      rest = rest[(place + 1)...]
    }
    return .json(
      ("object", .text("list")), ("url", .text("/v1/customers")), ("has_more", .boolean(rest.count > size)),
      ("data", .list(Array(rest.prefix(size)))))
  }

  private static let stripeCustomer: @Sendable (Int, Int) -> String = { id, edition in
    let address = #"{"city":"Córdoba","country":"AR","line1":"Calle \#(id)","line2":null,"postal_code":"5000"}"#
    return """
      {"id":"cus_\(id)","object":"customer","address":\(id % 5 == 0 ? "null" : address),"balance":-\(id),
      "created":\(1_700_000_000 + id),"currency":null,"default_source":null,"delinquent":\(id % 5 == 0),
      "description":"Customer \(id) edition \(edition)","discount":null,"email":"c\(id)@example.com",
      "invoice_settings":{"custom_fields":null,"footer":null},"livemode":false,
      "metadata":\(id % 4 == 0 ? #"{"plan":"gold"}"# : "{}"),"name":\(id % 4 == 0 ? "null" : #""Name \#(id)""#),
      "phone":null,"preferred_locales":[\(id % 3 == 0 ? #""es","en""# : "")],"tax_exempt":"none"}
      """
  }
}

// developer.atlassian.com/cloud/jira/platform/rest/v2 (search/jql, project/search), JRACLOUD-92184

extension PublicAPI {
  static let jira = PublicAPI(
    file: "jira-issues", prefix: "/rest/api/2",
    credentials: ["username": "ada@example.com", "password": "ATATT1"],
    headers: ["Authorization": "Basic YWRhQGV4YW1wbGUuY29tOkFUQVRUMQ=="],
    kinds: [
      Kind(
        name: "issues", resources: ["issue"], count: 210, fates: [3: .deleted, 7: .moved, 9: .unlisted],
        record: jiraIssue),
      Kind(name: "projects", resources: ["project"], count: 45, fates: [5: .deleted], record: jiraProject),
    ],
    asked: [
      "/search/jql?jql=project%20%3D%20PROJ%20ORDER%20BY%20key%20ASC&fields=%2Anavigable&maxResults=100",
      "/search/jql?jql=project%20%3D%20PROJ%20ORDER%20BY%20key%20ASC&fields=%2Anavigable&maxResults=100"
        + "&nextPageToken=token-100",
      "/search/jql?jql=project%20%3D%20PROJ%20ORDER%20BY%20key%20ASC&fields=%2Anavigable&maxResults=100"
        + "&nextPageToken=token-200",
      // It returns 20 records although 50 are requested.
      "/project/search?orderBy=key&maxResults=50&startAt=0", "/project/search?orderBy=key&maxResults=50&startAt=20",
      "/project/search?orderBy=key&maxResults=50&startAt=40",
    ],
    proof: ["issue": "end", "project": "count"],
    seen: [
      """
      SELECT key, summary, type, status, priority, assignee, resolved, extra ->> '$.fields.customfield_10016'
      FROM issues WHERE id = '10012'
      """: ["PROJ-12", "Summary 12 edition 1", "Bug", "To Do", "", "", "NULL", "0.5"],
      "SELECT group_concat(label) FROM issue_labels JOIN issues ON record_id = issue_id WHERE key = 'PROJ-12'": [
        "l0,all"
      ],
      "SELECT key, name, is_private FROM projects WHERE id = '5007'": ["K7", "Project 7 edition 1", "0"],
    ]
  ) { call, world in
    if let key = call.key(below: "/issue/"), let id = Int(key).map({ $0 - 10_000 }) {
      try call.allow("fields")
      return switch world.record("issues", id: id) {
      case nil, (.deleted, _)?: .json(("errorMessages", .list([.text("Issue does not exist")])), status: 404)
      case (.moved, _)?:
        .json(
          ("id", .text(key)), ("key", .text("OTHER-1")),
          ("fields", .object([.init("project", .object([.init("key", .text("OTHER"))]))])))
      case (_, let issue)?: .json(issue)
      }
    }
    if let key = call.key(below: "/project/"), key != "search" {
      let found = world.record("projects", id: Int(key).map { $0 - 5000 })
      guard let found, found.fate == nil else { return .json(("errorMessages", .list([])), status: 404) }
      return .json(found.json)
    }
    if call.path == "/project/search" {
      try call.allow("startAt", "maxResults", "orderBy")
      // The requested size is reduced silently.
      let (size, from) = (
        min(try call.integer("maxResults", or: 50, in: 1...1000), 20), try call.integer("startAt", or: 0, in: 0...1000)
      )
      let projects = world.records("projects")
      return .json(
        ("self", .text("\(call.origin)/rest/api/2/project/search")), ("maxResults", .integer(size)),
        ("startAt", .integer(from)), ("total", .integer(projects.count)),
        ("isLast", .boolean(from + size >= projects.count)), ("values", .list(projects.page(from, size: size))))
    }
    guard call.path == "/search/jql" else { throw Refusal(status: 410, why: "removed: CHANGE-2046") }
    try call.allow("jql", "fields", "maxResults", "nextPageToken")
    try call.expect("jql", "project = PROJ ORDER BY key ASC")
    try call.expect("fields", "*navigable")
    let size = min(try call.integer("maxResults", or: 50, in: 1...5000), 100)
    let token = call.parameter("nextPageToken")
    guard let from = token.map({ Int($0.dropFirst("token-".count)) }) ?? 0 else {
      throw Refusal(status: 400, why: "no such token")
    }
    let issues = world.records("issues")
    let isLast = from + size >= issues.count
    // The last page has no token.
    let next = isLast ? [] : [JSONValue.Member("nextPageToken", .text("token-\(from + size)"))]
    return .json(
      .object([.init("isLast", .boolean(isLast)), .init("issues", .list(issues.page(from, size: size)))] + next))
  }

  private static let jiraIssue: @Sendable (Int, Int) -> String = { id, edition in
    """
    {"expand":"operations","id":"\(10_000 + id)","self":"https://x.atlassian.net/rest/api/2/issue/\(10_000 + id)",
    "key":"PROJ-\(id)","fields":{"summary":"Summary \(id) edition \(edition)","description":"h2. About \(id)",
    "issuetype":{"id":"1","name":"Bug","subtask":false},"project":{"id":"5000","key":"PROJ","name":"The project"},
    "status":{"name":"To Do","statusCategory":{"key":"new"}},"priority":null,
    "assignee":\(id % 3 == 0 ? "null" : #"{"accountId":"a","displayName":"Ada"}"#),
    "reporter":{"accountId":"b","displayName":"Bob"},"labels":["l\(id % 2)","all"],
    "components":[\(id % 2 == 0 ? #"{"id":"1","name":"core"}"# : "")],"created":"2026-01-01T00:00:00.000+0000",
    "updated":"2026-01-0\(edition)T\(midnight).000+0000","resolutiondate":null,"customfield_10016":0.50}}
    """
  }

  private static let jiraProject: @Sendable (Int, Int) -> String = { id, edition in
    """
    {"id":"\(5000 + id)","key":"K\(id)","name":"Project \(id) edition \(edition)","projectTypeKey":"software",
    "style":"next-gen","isPrivate":false,"simplified":true,"avatarUrls":{"48x48":"https://x.atlassian.net/a.png"}}
    """
  }
}

// developer.zendesk.com/api-reference/introduction/pagination

extension PublicAPI {
  static let zendesk = PublicAPI(
    file: "zendesk-tickets", prefix: "/api/v2",
    credentials: ["username": "ada@example.com/token", "password": "zd1"],
    headers: ["Authorization": "Basic YWRhQGV4YW1wbGUuY29tL3Rva2VuOnpkMQ=="], hasETags: true,
    kinds: [
      Kind(
        name: "tickets", resources: ["ticket"], count: 203, fates: [3: .deleted, 203: .deleted], record: zendeskTicket)
    ],
    asked: [
      "/tickets?page%5Bsize%5D=100", "/tickets?page%5Bsize%5D=100&page%5Bafter%5D=eyJvIjoi100%3D%3D",
      "/tickets?page%5Bsize%5D=100&page%5Bafter%5D=eyJvIjoi200%3D%3D",
    ],
    proof: ["ticket": "end"],
    seen: [
      "SELECT subject, channel, assignee_id, has_incidents, due_at, extra ->> '$.via.source.rel' FROM tickets WHERE id = 8":
        ["Ticket 8 edition 1", "email", "NULL", "0", "NULL", "NULL"],
      "SELECT group_concat(id || value, ' ') FROM ticket_custom_fields WHERE ticket_id = 8": [
        #"1"v8" 2true 3["x",1.0]"#
      ],
    ]
  ) { call, world in
    guard call.path == "/tickets" else { throw Refusal(status: 404, why: "no such address") }
    try call.allow("page[size]", "page[after]")
    // Without a size, pages are selected by offset.
    guard call.parameter("page[size]") != nil else { throw Refusal(status: 400, why: "pages by offset") }
    let size = try call.integer("page[size]", or: 100, in: 1...100)
    let cursor = call.parameter("page[after]")
    let digits = cursor.map { $0.dropFirst("eyJvIjoi".count).dropLast("==".count) }
    guard let from = digits.map({ Int($0) }) ?? 0 else { throw Refusal(status: 400, why: "no such cursor") }
    let tickets = world.records("tickets")
    let page = tickets.page(from, size: size)
    // The last page has a cursor, too.
    let after = JSONValue.text("eyJvIjoi\(from + page.count)==")
    return .json(
      ("tickets", .list(page)),
      (
        "meta",
        .object([
          .init("has_more", .boolean(from + size < tickets.count)), .init("after_cursor", after),
          .init("before_cursor", .null),
        ])
      ),
      (
        "links",
        .object([.init("next", .text("https://example.zendesk.com/api/v2/tickets.json")), .init("prev", .null)])
      ))
  }

  private static let zendeskTicket: @Sendable (Int, Int) -> String = { id, edition in
    """
    {"url":"https://example.zendesk.com/api/v2/tickets/\(id).json","id":\(id),"external_id":null,
    "via":{"channel":"email","source":{"from":{"address":"a@example.com"},"rel":null}},
    "created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-0\(edition)T\(midnight)Z","type":null,
    "subject":"Ticket \(id) edition \(edition)","raw_subject":"{{x}}","description":"Hello \(id)","priority":"normal",
    "status":"open","recipient":null,"requester_id":20978392,"assignee_id":\(id % 2 == 0 ? "null" : "7"),
    "group_id":98738,"organization_id":null,"has_incidents":false,"due_at":null,"tags":["t\(id % 3)","sync"],
    "custom_fields":[{"id":1,"value":"v\(id)"},{"id":2,"value":true},{"id":3,"value":["x",1.0]}],
    "satisfaction_rating":{"id":1,"score":"good"},"follower_ids":[]}
    """
  }
}
