import RosterCore

// docs.github.com/en/rest/issues/issues, …/using-pagination-in-the-rest-api

extension PublicAPI {
  static let github = PublicAPI(
    file: "github-issues", credentials: ["access_token": "github_pat_1"],
    headers: [
      "Authorization": "Bearer github_pat_1", "Accept": "application/vnd.github+json",
      "X-GitHub-Api-Version": "2022-11-28",
    ],
    hasETags: true,
    kinds: [
      Kind(
        name: "issues", resources: ["issue", "pull"], count: 230, fates: [3: .deleted, 7: .moved],
        unseen: [.deleted, .moved], record: githubIssue)
    ],
    // The two resources share each page request.
    asked: [
      "/repos/octocat/hello-world/issues?state=all&sort=created&direction=asc&per_page=100",
      "/repositories/1296269/issues?state=all&sort=created&direction=asc&per_page=100&after=Y3Vyc29yOjEwMA%3D%3D&page=2",
      "/repositories/1296269/issues?state=all&sort=created&direction=asc&per_page=100&after=Y3Vyc29yOjIwMA%3D%3D&page=3",
    ],
    askedNext: [
      "/repos/octocat/hello-world/issues?state=all&sort=created&direction=asc&since=2026-01-01T13%3A45%3A00Z&per_page=100"
    ],
    proof: ["issue": "end", "pull": "end"],
    seen: [
      """
      SELECT number, title, body, state, author, milestone, comments, reactions, locked, closed_at, extra ->> 'node_id'
      FROM issues WHERE number = 11
      """: ["11", "Issue 11 \"ünïcode\" 🛸", "", "closed", "", "", "3", "11", "0", "2026-01-02T00:00:00Z", "I_11"],
      "SELECT number, draft, merged_at, extra ->> '$.pull_request.url' FROM pulls WHERE number = 10": [
        "10", "1", "NULL", "https://api.github.com/repos/octocat/hello-world/pulls/10",
      ],
      "SELECT group_concat(name || color, ' ') FROM issue_labels WHERE issue_id = 4": ["bugf29513 wontfixffffff"],
      "SELECT count(*) FROM pulls": ["46"],
    ]
  ) { call, world in
    guard call["User-Agent"] != nil else { throw Refusal(status: 403, why: "no User-Agent") }
    let home = "/repos/octocat/hello-world/issues"
    if let number = call.key(below: home + "/") {
      switch world.record("issues", id: Int(number)) {
      case nil: return .json(("message", .text("Not Found")), status: 404)
      case (.moved, _)?:
        let location = "\(call.origin)/repositories/2/issues/77"
        return .json(("message", .text("Moved Permanently")), status: 301, headers: [.init("Location", location)])
      case (.some, _)?: return .json(("message", .text("This issue was deleted")), status: 410)
      case (nil, let issue)?: return .json(issue)
      }
    }
    if call.path == "/repositories/2/issues/77" {
      return .json(
        ("number", .integer(77)), ("title", .text("Moved")),
        ("repository_url", .text("https://api.github.com/repos/octocat/other")))
    }
    try call.allow("state", "sort", "direction", "per_page", "page", "after", "since")
    try call.expect("state", "all")
    try call.expect("sort", "created")
    try call.expect("direction", "asc")
    let (size, page) = (
      min(try call.integer("per_page", or: 30, in: 1...1000), 100), try call.integer("page", or: 1, in: 1...1000)
    )
    // Only addresses that upstream has given are accepted, not constructed ones.
    let from = (page - 1) * size
    guard (page == 1 ? home : "/repositories/1296269/issues") == call.path,
      call.parameter("after") == (page == 1 ? nil : githubCursor[from])
    else { throw Refusal(status: 404, why: "an address that is not in any answer") }
    let since = call.parameter("since") ?? ""
    let issues = world.records("issues").filter { since <= $0["updated_at"]?.text ?? "" }
    let query = "state=all&sort=created&direction=asc&per_page=\(size)"
    let cursor = (githubCursor[from + size] ?? "").replacing("=", with: "%3D")
    let address = "\(call.origin)/repositories/1296269/issues?\(query)"
    let next = "<\(address)&after=\(cursor)&page=\(page + 1)>; rel=\"next\""
    let first = "<\(address)&page=1>; rel=\"first\""
    return .json(
      .list(issues.page(from, size: size)),
      headers: [.init("Link", from + size < issues.count ? "\(next), \(first)" : first)])
  }

  /// An opaque cursor: the base64 of `cursor:N`.
  private static let githubCursor = [100: "Y3Vyc29yOjEwMA==", 200: "Y3Vyc29yOjIwMA=="]

  private static let githubIssue: @Sendable (Int, Int) -> String = { id, edition in
    let isPull = id % 5 == 0
    let place = "https://api.github.com/repos/octocat/hello-world"
    let labels = (0..<id % 3 + (edition - 1)).map {
      [
        #"{"id":1,"name":"wontfix","color":"ffffff","default":true}"#,
        #"{"id":2,"name":"bug","color":"f29513","default":false,"description":null}"#,
      ][$0 % 2]
    }
    let labelled =
      id == 4 && edition == 1
      ? #"{"id":2,"name":"bug","color":"f29513","default":false},{"id":1,"name":"wontfix","color":"ffffff"}"#
      : labels.joined(separator: ",")
    let title = id == 11 ? #"Issue 11 \"ünïcode\" \ud83d\udef8"# : "Issue \(id) edition \(edition)"
    return """
      {"url":"\(place)/issues/\(id)","repository_url":"\(place)","id":\(90_000_000_000 + id),"node_id":"I_\(id)",
      "html_url":"https://github.com/octocat/hello-world/issues/\(id)","number":\(id),"title":"\(title)",
      "user":\(id == 11 ? "null" : #"{"login":"octocat","id":1,"site_admin":false}"#),"labels":[\(labelled)],
      "state":"\(id % 11 == 0 ? "closed" : "open")","state_reason":null,"locked":\(id % 13 == 0),
      "assignees":[\(id % 4 == 0 ? #"{"login":"hubot","id":2}"# : "")],
      "milestone":\(id % 6 == 0 ? #"{"title":"v1.0","number":1,"creator":null}"# : "null"),"comments":\(id % 4),
      "created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-0\(edition)T\(10 + id / 60):\(id % 60 < 10 ? "0" : "")\(id % 60):00Z",
      "closed_at":\(id % 11 == 0 ? #""2026-01-02T00:00:00Z""# : "null"),"author_association":"MEMBER",
      \(isPull ? #""draft":\#(id % 2 == 0),"pull_request":{"url":"\#(place)/pulls/\#(id)","merged_at":null},"# : "")
      "body":\(id % 11 == 0 ? "null" : #""Body of \#(id)\n\twith `code`""#),
      "reactions":{"url":"\(place)/issues/\(id)/reactions","total_count":\(id),"+1":1},"score":1.50}
      """
  }
}

// docs.gitlab.com/api/projects, docs.gitlab.com/api/rest/#keyset-based-pagination

extension PublicAPI {
  static let gitlab = PublicAPI(
    file: "gitlab-projects", prefix: "/api/v4", credentials: ["access_token": "glpat-1"],
    headers: ["PRIVATE-TOKEN": "glpat-1"], hasETags: true,
    kinds: [
      Kind(
        name: "projects", resources: ["project"], count: 201, fates: [3: .deleted, 150: .deleted],
        record: gitlabProject)
    ],
    asked: [
      "/projects?membership=true&pagination=keyset&order_by=id&sort=asc&per_page=100",
      "/projects?id_after=1000&membership=true&order_by=id&pagination=keyset&per_page=100&sort=asc",
      "/projects?id_after=2000&membership=true&order_by=id&pagination=keyset&per_page=100&sort=asc",
    ],
    proof: ["project": "end"],
    seen: [
      """
      SELECT id, path, description, namespace, archived, stars, extra ->> '$.namespace.kind' FROM projects
      WHERE id = 120
      """: ["120", "group/sub/p12", "", "group/sub", "0", "12", "group"],
      "SELECT group_concat(topic, ' ') FROM project_topics WHERE project_id = 120": ["api sync"],
    ]
  ) { call, world in
    guard call.path == "/projects" else { throw Refusal(status: 404, why: "no such address") }
    guard call["Authorization"] == nil else { throw Refusal(status: 401, why: "two ways to be known") }
    try call.allow("membership", "pagination", "order_by", "sort", "per_page", "id_after")
    try call.expect("membership", "true")
    try call.expect("pagination", "keyset", or: 405)
    // Keyset pages exist only in the order of ids.
    try call.expect("order_by", "id", or: 405)
    try call.expect("sort", "asc")
    let size = min(try call.integer("per_page", or: 20, in: 1...1000), 100)
    let after = try call.integer("id_after", or: 0, in: 0 ... .max)
    let rest = world.records("projects").filter { ($0["id"]?.integer ?? 0) > after }
    let page = rest.page(0, size: size)
    // No X-Total, because there may be more than 10,000 records.
    guard rest.count > size, let last = page.last?["id"]?.integer else { return .json(.list(page)) }
    let query = "membership=true&order_by=id&pagination=keyset&per_page=\(size)&sort=asc"
    let link = "<\(call.origin)/api/v4/projects?id_after=\(last)&\(query)>; rel=\"next\""
    return .json(.list(page), headers: [.init("Link", link)])
  }

  private static let gitlabProject: @Sendable (Int, Int) -> String = { id, edition in
    """
    {"id":\(id * 10),"description":\(id % 4 == 0 ? "null" : #""About \#(id)""#),"name":"P \(id) v\(edition)",
    "path":"p\(id)","path_with_namespace":"group/sub/p\(id)","created_at":"2026-01-01T00:00:00.000Z",
    "default_branch":\(id % 9 == 0 ? "null" : #""main""#),"tag_list":[],"topics":["api"\(id % 2 == 0 ? #","sync""# : "")],
    "web_url":"https://gitlab.com/group/sub/p\(id)","forks_count":0,"star_count":\(id),
    "last_activity_at":"2026-01-0\(edition)T\(midnight).000Z","archived":\(id % 7 == 0),"visibility":"private",
    "namespace":{"id":5,"name":"Sub","path":"sub","kind":"group","full_path":"group/sub","parent_id":null},
    "open_issues_count":\(edition),"permissions":{"project_access":null,"group_access":{"access_level":50}}}
    """
  }
}

// docs.gitlab.com/api/issues/#list-project-issues, docs.gitlab.com/api/rest/#offset-based-pagination

extension PublicAPI {
  static let gitlabIssues = PublicAPI(
    file: "gitlab-issues", prefix: "/api/v4", credentials: ["access_token": "glpat-1"],
    headers: ["PRIVATE-TOKEN": "glpat-1"], hasETags: true,
    kinds: [
      Kind(
        name: "issues", resources: ["issue"], count: 205, fates: [3: .deleted, 150: .deleted], unseen: [.deleted],
        record: gitlabIssue)
    ],
    asked: [
      "/projects/278964/issues?scope=all&order_by=created_at&sort=asc&per_page=100",
      "/projects/278964/issues?id=278964&order_by=created_at&page=2&per_page=100&scope=all&sort=asc",
      "/projects/278964/issues?id=278964&order_by=created_at&page=3&per_page=100&scope=all&sort=asc",
    ],
    // The notation of the records, and 5 minutes before the latest.
    askedNext: [
      "/projects/278964/issues?scope=all&order_by=created_at&sort=asc&updated_after=2026-01-01T13%3A20%3A00.176Z&per_page=100"
    ],
    proof: ["issue": "end"],
    seen: [
      """
      SELECT id, title, description, state, author, comments, due_date, extra ->> '$.task_completion_status.count'
      FROM issues WHERE iid = 8
      """: ["9008", "Issue 8 edition 1", "", "opened", "ada", "1", "NULL", "0"],
      "SELECT group_concat(label, ' ') FROM issue_labels WHERE issue_id = 8": ["bug p0"],
    ]
  ) { call, world in
    let home = "/projects/278964/issues"
    if let iid = call.key(below: home + "/") {
      guard let found = world.record("issues", id: Int(iid)), found.fate == nil else {
        return .json(("message", .text("404 Not found")), status: 404)
      }
      return .json(found.json)
    }
    guard call.path == home else { throw Refusal(status: 404, why: "no such address") }
    try call.allow("scope", "order_by", "sort", "per_page", "page", "id", "updated_after")
    // Without it, only the issues of the token's user are listed.
    try call.expect("scope", "all")
    try call.expect("order_by", "created_at")
    try call.expect("sort", "asc")
    let size = min(try call.integer("per_page", or: 20, in: 1...1000), 100)
    let page = try call.integer("page", or: 1, in: 1...500)
    let after = call.parameter("updated_after")
    if let after, after.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/) == nil {
      throw Refusal(status: 400, why: "updated_after is invalid")
    }
    // On or after that time.
    let issues = world.records("issues").filter { after ?? "" <= $0["updated_at"]?.text ?? "" }
    let own = after.map { "&updated_after=\($0.replacing(":", with: "%3A"))" } ?? ""
    let query = "id=278964&order_by=created_at&page=\(page + 1)&per_page=\(size)&scope=all&sort=asc\(own)"
    let next = "<\(call.origin)/api/v4\(home)?\(query)>; rel=\"next\", "
    let first = "<\(call.origin)/api/v4\(home)?page=1>; rel=\"first\""
    return .json(
      .list(issues.page((page - 1) * size, size: size)),
      headers: [.init("Link", page * size < issues.count ? next + first : first)])
  }

  private static let gitlabIssue: @Sendable (Int, Int) -> String = { id, edition in
    let minutes = id % 60 < 10 ? "0\(id % 60)" : "\(id % 60)"
    return """
      {"id":\(9000 + id),"iid":\(id),"project_id":278964,"title":"Issue \(id) edition \(edition)",
      "description":\(id % 4 == 0 ? "null" : #""About \#(id)""#),"state":"opened","issue_type":"issue",
      "created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-0\(edition)T1\(id / 60):\(minutes):00.176Z",
      "closed_at":null,"labels":["bug"\(id % 2 == 0 ? #","p0""# : "")],"milestone":null,"due_date":null,
      "author":{"id":1,"username":"ada","name":"Ada"},"assignees":[\(id % 3 == 0 ? #"{"id":2,"username":"bob"}"# : "")],
      "user_notes_count":\(edition),"upvotes":0,"downvotes":0,"confidential":false,
      "web_url":"https://gitlab.com/group/p/-/issues/\(id)","task_completion_status":{"count":0,"completed_count":0}}
      """
  }
}
