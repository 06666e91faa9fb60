import RosterCore

// docs.stripe.com/api/pagination, docs.stripe.com/api/customers/retrieve

extension PublicAPI {
  static let stripe = PublicAPI(
    file: "stripe-customers", prefix: "/v1", credentials: ["access_token": "rk_test_1"],
    headers: ["Authorization": "Bearer rk_test_1", "Stripe-Version": "2024-06-20"],
    kinds: [
      Kind(
        name: "customers", resources: ["customer"], count: 205, fates: [3: .deleted, 9: .unlisted], unseen: [],
        record: stripeCustomer)
    ],
    asked: [
      "/customers?limit=100", "/customers?limit=100&starting_after=cus_106",
      "/customers?limit=100&starting_after=cus_6",
    ],
    askedNext: [
      "/events?types%5B0%5D=customer.created&types%5B1%5D=customer.updated&types%5B2%5D=customer.deleted"
        + "&created%5Bgte%5D=1699999905&limit=100"
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
    if call.path == "/events" {
      try call.allow("limit", "starting_after", "types[0]", "types[1]", "types[2]", "created[gte]")
      let types = ["types[0]", "types[1]", "types[2]"].compactMap { call.parameter($0) }
      guard types == ["customer.created", "customer.updated", "customer.deleted"] else {
        throw Refusal(status: 400, why: "types: \(types)")
      }
      let since = try call.integer("created[gte]", or: 0, in: 0 ... .max)
      return try stripeList(stripeEvents(world).filter { ($0["created"]?.integer ?? 0) >= since }, call)
    }
    guard call.path == "/customers" else { throw Refusal(status: 404, why: "no such address") }
    try call.allow("limit", "starting_after")
    return try stripeList(world.records("customers").reversed(), call)
  }

  private static func stripeList(_ all: [JSONValue], _ call: Call) throws -> Response {
    let size = try call.integer("limit", or: 10, in: 1...100)
    var rest = all[...]
    if let after = call.parameter("starting_after") {
      guard let place = rest.firstIndex(where: { $0["id"]?.text == after }) else {
        throw Refusal(status: 400, why: "no such record: \(after)")
      }
      rest = rest[(place + 1)...]
    }
    return .json(
      ("object", .text("list")), ("url", .text("/v1\(call.path)")), ("has_more", .boolean(rest.count > size)),
      ("data", .list(Array(rest.prefix(size)))))
  }

  /// docs.stripe.com/api/events/list: those of the last 30 days, the newest first. An event has the customer of that
  /// time, and a customer may have several.
  private static func stripeEvents(_ world: World) -> [JSONValue] {
    var events: [JSONValue] = []
    for id in 1...207 {
      guard let found = world.record("customers", id: id),
        id > 205 || found.fate != nil || found.json["description"]?.isLater == true
      else { continue }
      for (number, type) in ["created", "updated", found.fate == .deleted ? "deleted" : "updated"].enumerated() {
        let object = JSONValue.object([
          .init("id", .text("cus_\(id)")), .init("object", .text("customer")), .init("email", .text("old@example.com")),
        ])
        events.append(
          .object([
            .init("id", .text("evt_\(id)_\(number)")), .init("object", .text("event")),
            .init("type", .text("customer.\(type)")), .init("created", .number("\(1_790_000_000 + id * 10 + number)")),
            .init("data", .object([.init("object", object)])),
          ]))
      }
    }
    return events.reversed()
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
        unseen: [.deleted, .moved, .unlisted], record: jiraIssue),
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
    askedNext: [
      "/search/jql?fields=%2Anavigable&jql=project%20%3D%20PROJ%20AND%20updated%20%3E%3D%20%222025-12-31%22"
        + "%20ORDER%20BY%20key%20ASC&maxResults=100",
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
    // JQL knows days and minutes, in the time zone of the account, and no zones.
    let jql = call.parameter("jql") ?? ""
    guard let match = jql.wholeMatch(of: /project = PROJ( AND updated >= "(\d{4}-\d\d-\d\d)")? ORDER BY key ASC/) else {
      throw Refusal(status: 400, why: "the query \(jql)")
    }
    try call.expect("fields", "*navigable")
    let size = min(try call.integer("maxResults", or: 50, in: 1...5000), 100)
    let token = call.parameter("nextPageToken")
    guard let from = token.map({ Int($0.dropFirst("token-".count)) }) ?? 0 else {
      throw Refusal(status: 400, why: "no such token")
    }
    let day = match.2.map(String.init) ?? ""
    let issues = world.records("issues").filter { $0["fields"]?["updated"]?.text ?? "" >= day }
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
    "updated":"\(edition == 1 && id <= 200 ? "2025-11-30" : "2025-12-31")T2\(edition):30:00.000-0800","resolutiondate":null,"customfield_10016":0.50}}
    """
  }

  private static let jiraProject: @Sendable (Int, Int) -> String = { id, edition in
    """
    {"id":"\(5000 + id)","key":"K\(id)","name":"Project \(id) edition \(edition)","projectTypeKey":"software",
    "style":"next-gen","isPrivate":false,"simplified":true,"avatarUrls":{"48x48":"https://x.atlassian.net/a.png"}}
    """
  }
}

// developer.zendesk.com/api-reference/ticketing/ticket-management/incremental_exports, …/tickets/tickets#show-ticket

extension PublicAPI {
  static let zendesk = PublicAPI(
    file: "zendesk-tickets", prefix: "/api/v2",
    credentials: ["username": "ada@example.com/token", "password": "zd1"],
    headers: ["Authorization": "Basic YWRhQGV4YW1wbGUuY29tL3Rva2VuOnpkMQ=="], hasETags: true,
    kinds: [
      Kind(
        name: "tickets", resources: ["ticket"], count: 2050, fates: [3: .deleted, 203: .deleted], unseen: [],
        record: zendeskTicket)
    ],
    asked: [
      "/incremental/tickets/cursor.json?start_time=1&per_page=1000",
      "/incremental/tickets/cursor.json?cursor=MTU3-1767226600-1000&per_page=1000",
      "/incremental/tickets/cursor.json?cursor=MTU3-1767227600-2000&per_page=1000",
    ],
    askedNext: ["/incremental/tickets/cursor.json?cursor=MTU3-1767227650-2050&per_page=1000"],
    proof: ["ticket": "end"],
    seen: [
      "SELECT subject, channel, assignee_id, has_incidents, due_at, extra ->> '$.via.source.rel' FROM tickets WHERE id = 8":
        ["Ticket 8 edition 1", "email", "NULL", "0", "NULL", "NULL"],
      "SELECT group_concat(id || value, ' ') FROM ticket_custom_fields WHERE ticket_id = 8": [
        #"1"v8" 2true 3["x",1.0]"#
      ],
    ]
  ) { call, world in
    if let key = call.key(below: "/tickets/") {
      guard let found = world.record("tickets", id: Int(key)), found.fate != .deleted else {
        return .json(("error", .text("RecordNotFound")), status: 404)
      }
      return .json(("ticket", found.json))
    }
    guard call.path == "/incremental/tickets/cursor.json" else { throw Refusal(status: 404, why: "no such address") }
    try call.allow("start_time", "cursor", "per_page")
    guard (call.parameter("start_time") == nil) != (call.parameter("cursor") == nil) else {
      throw Refusal(status: 400, why: "start_time or cursor")
    }
    let size = try call.integer("per_page", or: 1000, in: 1...1000)
    var after: (time: Int64, id: Int64) = (Int64(try call.integer("start_time", or: 0, in: 0 ... .max)), -1)
    if let cursor = call.parameter("cursor") {
      let parts = cursor.split(separator: "-").dropFirst().compactMap { Int64($0) }
      guard parts.count == 2 else { throw Refusal(status: 400, why: "no such cursor") }
      after = (parts[0], parts[1])
    }
    // Tickets are listed in the order of their last write, which is not that of `updated_at`. A deleted one is listed
    // for 30 days.
    let deleted = world.deleted("tickets").values.map { $0.replacing("status", with: .text("deleted")) }
    let rest = (world.records("tickets") + deleted).map {
      ($0["generated_timestamp"]?.integer ?? 0, $0["id"]?.integer ?? 0, $0)
    }
    .filter { ($0.0, $0.1) > after }.sorted { ($0.0, $0.1) < ($1.0, $1.1) }
    let page = rest.prefix(size)
    // The last page has a cursor, too.
    if let last = page.last { after = (last.0, last.1) }
    let cursor = "MTU3-\(after.time)-\(after.id)"
    let address = "\(call.origin)/api/v2/incremental/tickets/cursor.json?cursor=\(cursor)&per_page=\(size)"
    return .json(
      ("tickets", .list(page.map(\.2))), ("after_url", .text(address)), ("after_cursor", .text(cursor)),
      ("before_url", .null), ("before_cursor", .null), ("end_of_stream", .boolean(rest.count <= size)))
  }

  private static let zendeskTicket: @Sendable (Int, Int) -> String = { id, edition in
    """
    {"url":"https://example.zendesk.com/api/v2/tickets/\(id).json","id":\(id),"external_id":null,
    "via":{"channel":"email","source":{"from":{"address":"a@example.com"},"rel":null}},
    "created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T\(midnight)Z","type":null,
    "generated_timestamp":\(1_767_225_600 + (edition - 1) * 86_400 + id),
    "subject":"Ticket \(id) edition \(edition)","raw_subject":"{{x}}","description":"Hello \(id)","priority":"normal",
    "status":"open","recipient":null,"requester_id":20978392,"assignee_id":\(id % 2 == 0 ? "null" : "7"),
    "group_id":98738,"organization_id":null,"has_incidents":false,"due_at":null,"tags":["t\(id % 3)","sync"],
    "custom_fields":[{"id":1,"value":"v\(id)"},{"id":2,"value":true},{"id":3,"value":["x",1.0]}],
    "satisfaction_rating":{"id":1,"score":"good"},"follower_ids":[]}
    """
  }
}

extension JSONValue {
  /// True for a text of the second edition.
  fileprivate var isLater: Bool { text?.hasSuffix("edition 2") == true }

  /// Another value of one member.
  fileprivate func replacing(_ name: String, with value: JSONValue) -> JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(members.map { $0.name == name ? .init(name, value) : $0 })
  }
}
