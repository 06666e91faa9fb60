import RosterCore

@testable import RosterDefinition

/// Answers in the documented shapes of ten public APIs, shortened to two or three records. Each names its source.
struct Sample: Sendable, CustomStringConvertible {
  var name: String
  /// nil if the list is requested by POST, so that its answer comes on standard input.
  var url: String?
  var headers: [Request.Header] = []
  var body: String

  var description: String { name }

  func answer(_ given: [Request.Header] = []) throws -> ListAnswer {
    try ListAnswer(
      Array(body.utf8), headers: headers, asked: try url.map { .init(try ListAddress($0), headers: given) })
  }

  func finding(_ given: [Request.Header] = []) throws -> InferredDefinition { try Inference.finding(answer(given)) }
}

extension Sample {
  static let all: [Sample] = [rickAndMorty, pokeAPI, swapi, gitHub, gitLab, stripe, jira, zendesk, wordPress, notion]

  /// rickandmortyapi.com/documentation
  static let rickAndMorty = Sample(
    name: "Rick and Morty", url: "https://rickandmortyapi.com/api/character",
    body: """
      {"info":{"count":826,"pages":42,"next":"https://rickandmortyapi.com/api/character?page=2","prev":null},"results":[
      {"id":1,"name":"Rick Sanchez","status":"Alive","species":"Human","type":"","gender":"Male",
       "origin":{"name":"Earth (C-137)","url":"https://rickandmortyapi.com/api/location/1"},
       "location":{"name":"Citadel of Ricks","url":"https://rickandmortyapi.com/api/location/3"},
       "image":"https://rickandmortyapi.com/api/character/avatar/1.jpeg",
       "episode":["https://rickandmortyapi.com/api/episode/1","https://rickandmortyapi.com/api/episode/2"],
       "url":"https://rickandmortyapi.com/api/character/1","created":"2017-11-04T18:48:46.250Z"},
      {"id":2,"name":"Morty Smith","status":"Alive","species":"Human","type":"","gender":"Male",
       "origin":{"name":"unknown","url":""},
       "location":{"name":"Citadel of Ricks","url":"https://rickandmortyapi.com/api/location/3"},
       "image":"https://rickandmortyapi.com/api/character/avatar/2.jpeg",
       "episode":["https://rickandmortyapi.com/api/episode/1"],
       "url":"https://rickandmortyapi.com/api/character/2","created":"2017-11-04T18:50:21.651Z"}]}
      """)

  /// pokeapi.co/docs/v2
  static let pokeAPI = Sample(
    name: "PokeAPI", url: "https://pokeapi.co/api/v2/pokemon?limit=2",
    body: """
      {"count":1302,"next":"https://pokeapi.co/api/v2/pokemon?offset=2&limit=2","previous":null,"results":[
      {"name":"bulbasaur","url":"https://pokeapi.co/api/v2/pokemon/1/"},
      {"name":"ivysaur","url":"https://pokeapi.co/api/v2/pokemon/2/"}]}
      """)

  /// swapi.dev/documentation
  static let swapi = Sample(
    name: "SWAPI", url: "https://swapi.dev/api/people/",
    body: """
      {"count":82,"next":"https://swapi.dev/api/people/?page=2","previous":null,"results":[
      {"name":"Luke Skywalker","height":"172","mass":"77","hair_color":"blond","gender":"male",
       "homeworld":"https://swapi.dev/api/planets/1/",
       "films":["https://swapi.dev/api/films/1/","https://swapi.dev/api/films/2/"],"species":[],
       "vehicles":["https://swapi.dev/api/vehicles/14/"],"created":"2014-12-09T13:50:51.644000Z",
       "url":"https://swapi.dev/api/people/1/"},
      {"name":"C-3PO","height":"167","mass":"75","hair_color":"n/a","gender":"n/a",
       "homeworld":"https://swapi.dev/api/planets/1/","films":["https://swapi.dev/api/films/1/"],"species":[],
       "vehicles":[],"created":"2014-12-10T15:10:51.357000Z","url":"https://swapi.dev/api/people/2/"}]}
      """)

  /// docs.github.com/en/rest/issues/issues
  static let gitHub = Sample(
    name: "GitHub issues", url: "https://api.github.com/repos/octocat/hello/issues?state=all&per_page=2",
    headers: [
      .init("Content-Type", "application/json; charset=utf-8"), .init("X-GitHub-Media-Type", "github.v3; format=json"),
      .init("X-RateLimit-Remaining", "58"),
      .init(
        "Link",
        #"<https://api.github.com/repositories/1300192/issues?state=all&per_page=2&page=2>; rel="next", "#
          + #"<https://api.github.com/repositories/1300192/issues?state=all&per_page=2&page=7>; rel="last""#),
    ],
    body: """
      [{"url":"https://api.github.com/repos/octocat/hello/issues/1347","repository_url":"https://api.github.com/repos/octocat/hello",
       "html_url":"https://github.com/octocat/hello/issues/1347","id":1,"node_id":"MDU6SXNzdWUx","number":1347,"title":"Found a bug",
       "user":\(octocat),
       "labels":[{"id":208045946,"node_id":"MDU6TGFiZWwy","url":"https://api.github.com/repos/octocat/hello/labels/bug",
         "name":"bug","description":"Something is not working","color":"f29513","default":true}],
       "state":"open","locked":true,"assignee":\(octocat),"assignees":[\(octocat)],"milestone":null,"comments":0,
       "created_at":"2011-04-22T13:33:48Z","updated_at":"2011-04-22T13:33:48Z","closed_at":null,
       "author_association":"COLLABORATOR","active_lock_reason":"too heated","body":"I have a problem with this.",
       "reactions":{"url":"https://api.github.com/repos/octocat/hello/issues/1347/reactions","total_count":1,"+1":1,"-1":0,
         "laugh":0,"hooray":0,"confused":0,"heart":0,"rocket":0,"eyes":0},"state_reason":null},
      {"url":"https://api.github.com/repos/octocat/hello/issues/1348","repository_url":"https://api.github.com/repos/octocat/hello",
       "html_url":"https://github.com/octocat/hello/pull/1348","id":2,"node_id":"MDU6SXNzdWUy","number":1348,"title":"Mends it",
       "user":\(octocat),"labels":[],"state":"open","locked":false,"assignee":null,"assignees":[],"milestone":null,"comments":3,
       "created_at":"2011-04-23T13:33:48Z","updated_at":"2011-04-24T13:33:48Z","closed_at":null,"author_association":"NONE",
       "active_lock_reason":null,"draft":false,
       "pull_request":{"url":"https://api.github.com/repos/octocat/hello/pulls/1348",
         "html_url":"https://github.com/octocat/hello/pull/1348","diff_url":"https://github.com/octocat/hello/pull/1348.diff",
         "patch_url":"https://github.com/octocat/hello/pull/1348.patch","merged_at":null},
       "body":null,
       "reactions":{"url":"https://api.github.com/repos/octocat/hello/issues/1348/reactions","total_count":0,"+1":0,"-1":0,
         "laugh":0,"hooray":0,"confused":0,"heart":0,"rocket":0,"eyes":0},"state_reason":null}]
      """)

  private static let octocat = """
    {"login":"octocat","id":1,"node_id":"MDQ6VXNlcjE=","avatar_url":"https://github.com/images/error/octocat_happy.gif",
     "gravatar_id":"","url":"https://api.github.com/users/octocat","html_url":"https://github.com/octocat",
     "followers_url":"https://api.github.com/users/octocat/followers","repos_url":"https://api.github.com/users/octocat/repos",
     "type":"User","user_view_type":"public","starred_at":"2020-07-09T00:17:55Z","name":"The Octocat","site_admin":false}
    """

  /// docs.gitlab.com/api/projects and docs.gitlab.com/api/rest#keyset-based-pagination
  static let gitLab = Sample(
    name: "GitLab projects",
    url: "https://gitlab.com/api/v4/projects?pagination=keyset&order_by=id&sort=asc&per_page=2",
    headers: [
      .init("X-Gitlab-Meta", #"{"correlation_id":"01","version":"1"}"#), .init("X-Per-Page", "2"),
      .init(
        "Link",
        "<https://gitlab.com/api/v4/projects?id_after=3&order_by=id&pagination=keyset&per_page=2&sort=asc>; rel=\"next\""
      ),
    ],
    body: """
      [{"id":2,"description":null,"name":"diaspora-client","name_with_namespace":"Diaspora / Diaspora Client",
       "path":"diaspora-client","path_with_namespace":"diaspora/diaspora-client","created_at":"2013-09-30T13:46:02Z",
       "default_branch":"main","tag_list":["example","disapora client"],"topics":["example","disapora client"],
       "ssh_url_to_repo":"git@gitlab.example.com:diaspora/diaspora-client.git",
       "web_url":"https://gitlab.example.com/diaspora/diaspora-client","avatar_url":null,"forks_count":0,"star_count":0,
       "last_activity_at":"2013-09-30T13:46:02Z","visibility":"public",
       "namespace":{"id":3,"name":"Diaspora","path":"diaspora","kind":"group","full_path":"diaspora","parent_id":null,
         "avatar_url":null,"web_url":"https://gitlab.example.com/diaspora"}},
      {"id":3,"description":"Brightbox","name":"brightbox","name_with_namespace":"Brightbox / Brightbox",
       "path":"brightbox","path_with_namespace":"brightbox/brightbox","created_at":"2014-09-30T13:46:02Z",
       "default_branch":"main","tag_list":[],"topics":[],
       "ssh_url_to_repo":"git@gitlab.example.com:brightbox/brightbox.git",
       "web_url":"https://gitlab.example.com/brightbox/brightbox","avatar_url":null,"forks_count":1,"star_count":9,
       "last_activity_at":"2015-09-30T13:46:02Z","visibility":"private",
       "namespace":{"id":4,"name":"Brightbox","path":"brightbox","kind":"group","full_path":"brightbox","parent_id":null,
         "avatar_url":null,"web_url":"https://gitlab.example.com/brightbox"}}]
      """)

  /// docs.stripe.com/api/customers/list
  static let stripe = Sample(
    name: "Stripe", url: "https://api.stripe.com/v1/customers?limit=2",
    headers: [.init("Stripe-Version", "2025-10-29.clover"), .init("Request-Id", "req_1")],
    body: """
      {"object":"list","url":"/v1/customers","has_more":true,"data":[
      {"id":"cus_NffrFeUfNV2Hib","object":"customer","address":null,"balance":0,"created":1680893993,"currency":null,
       "default_source":null,"delinquent":false,"description":null,"email":"jennyrosen@example.com",
       "invoice_prefix":"0759376C","livemode":false,"metadata":{},"name":"Jenny Rosen","phone":null,
       "preferred_locales":["en"],"shipping":null,"tax_exempt":"none"},
      {"id":"cus_NffrFeUfNV2Hic","object":"customer",
       "address":{"city":"Graz","country":"AT","line1":"Hauptplatz 1","line2":null,"postal_code":"8010","state":""},
       "balance":-1000,"created":1680893990,"currency":"eur","default_source":null,"delinquent":false,"description":null,
       "email":null,"invoice_prefix":"0759376D","livemode":false,"metadata":{"order":"6735"},"name":"Kai Fu","phone":null,
       "preferred_locales":[],"shipping":null,"tax_exempt":"none"}]}
      """)

  /// developer.atlassian.com/cloud/jira/platform/rest/v3: /project/search and its like, with `issues` of /search.
  static let jira = Sample(
    name: "Jira", url: "https://example.atlassian.net/rest/api/3/search?jql=project%20%3D%20ABC%20order%20by%20id",
    body: """
      {"expand":"schema,names","startAt":0,"maxResults":2,"total":291,"isLast":false,"issues":[
      {"expand":"operations","id":"10068","self":"https://example.atlassian.net/rest/api/3/issue/10068","key":"ABC-1",
       "fields":{"summary":"Main order flow broken","created":"2024-01-01T10:00:00.000+0000","customfield_10001":null,
         "status":{"self":"https://example.atlassian.net/rest/api/3/status/3","description":"","iconUrl":
           "https://example.atlassian.net/images/icons/inprogress.png","name":"In Progress","id":"3",
           "statusCategory":{"self":"https://example.atlassian.net/rest/api/3/statuscategory/4","id":4,"key":"indeterminate"}},
         "assignee":null,"labels":["bug","urgent"],"customfield_10010":3.5,"timespent":null,
         "priority":{"self":"https://example.atlassian.net/rest/api/3/priority/2","name":"High","id":"2"}}},
      {"expand":"operations","id":"10067","self":"https://example.atlassian.net/rest/api/3/issue/10067","key":"ABC-2",
       "fields":{"summary":"Second","created":"2024-01-02T10:00:00.000+0000","customfield_10001":null,
         "status":{"self":"https://example.atlassian.net/rest/api/3/status/1","description":"Open","iconUrl":
           "https://example.atlassian.net/images/icons/open.png","name":"Open","id":"1",
           "statusCategory":{"self":"https://example.atlassian.net/rest/api/3/statuscategory/2","id":2,"key":"new"}},
         "assignee":{"self":"https://example.atlassian.net/rest/api/3/user?accountId=5b1","accountId":"5b1",
           "emailAddress":"mia@example.com","avatarUrls":{"48x48":"https://avatar/48","24x24":"https://avatar/24"},
           "displayName":"Mia Krystof","active":true,"timeZone":"Australia/Sydney"},
         "labels":[],"customfield_10010":8,"timespent":3600,
         "priority":{"self":"https://example.atlassian.net/rest/api/3/priority/3","name":"Medium","id":"3"}}}]}
      """)

  /// developer.zendesk.com/api-reference/introduction/pagination
  static let zendesk = Sample(
    name: "Zendesk", url: "https://example.zendesk.com/api/v2/tickets.json?page[size]=2",
    body: """
      {"tickets":[
      {"url":"https://example.zendesk.com/api/v2/tickets/35436.json","id":35436,"external_id":"ahg35h3jh",
       "created_at":"2009-07-20T22:55:29Z","updated_at":"2011-05-05T10:38:52Z","type":"incident","subject":"Help, my printer is on fire!",
       "raw_subject":"{{dc.printer_on_fire}}","description":"The fire is very colorful.","priority":"high","status":"open",
       "recipient":"support@company.com","requester_id":20978392,"has_incidents":false,"due_at":null,
       "tags":["enterprise","other_tag"],"custom_fields":[{"id":27642,"value":"745"},{"id":27648,"value":true}],
       "via":{"channel":"web","source":{"from":{},"to":{},"rel":null}},"satisfaction_rating":{"score":"unoffered"}},
      {"url":"https://example.zendesk.com/api/v2/tickets/35437.json","id":35437,"external_id":null,
       "created_at":"2009-07-21T22:55:29Z","updated_at":"2011-05-06T10:38:52Z","type":"problem","subject":"Out of paper",
       "raw_subject":"Out of paper","description":"As it says.","priority":null,"status":"new","recipient":null,
       "requester_id":20978393,"has_incidents":false,"due_at":null,"tags":[],
       "custom_fields":[{"id":27642,"value":null},{"id":27648,"value":false}],
       "via":{"channel":"email","source":{"from":{"address":"a@b.c"},"to":{},"rel":null}},
       "satisfaction_rating":{"score":"unoffered"}}],
      "meta":{"has_more":true,"after_cursor":"eyJvIjoibmljZV9pZCIsInYiOiJhUUVBQUFBQUFBQUEifQ==","before_cursor":"eyJvIjoibmljZV9pZCJ9"},
      "links":{"prev":"https://example.zendesk.com/api/v2/tickets.json?page%5Bbefore%5D=eyJvIjoibmljZV9pZCJ9&page%5Bsize%5D=2",
       "next":"https://example.zendesk.com/api/v2/tickets.json?page%5Bafter%5D=eyJvIjoibmljZV9pZCIsInYiOiJhUUVBQUFBQUFBQUEifQ%3D%3D&page%5Bsize%5D=2"}}
      """)

  /// developer.wordpress.org/rest-api/using-the-rest-api/pagination and …/reference/posts
  static let wordPress = Sample(
    name: "WordPress", url: "https://blog.example/wp-json/wp/v2/posts?per_page=2",
    headers: [
      .init("X-WP-Total", "117"), .init("X-WP-TotalPages", "59"),
      .init("Link", "<https://blog.example/wp-json/wp/v2/posts?per_page=2&page=2>; rel=\"next\""),
    ],
    body: """
      [{"id":36,"date":"2024-03-01T10:00:00","guid":{"rendered":"https://blog.example/?p=36"},"slug":"hello","status":"publish",
       "type":"post","link":"https://blog.example/hello/","title":{"rendered":"Hello"},
       "content":{"rendered":"<p>Hi</p>","protected":false},"excerpt":{"rendered":"<p>Hi</p>","protected":false},"author":1,
       "featured_media":0,"sticky":false,"meta":{"footnotes":""},"categories":[1,4],"tags":[],
       "_links":{"self":[{"href":"https://blog.example/wp-json/wp/v2/posts/36"}]}},
      {"id":35,"date":"2024-02-01T10:00:00","guid":{"rendered":"https://blog.example/?p=35"},"slug":"first","status":"publish",
       "type":"post","link":"https://blog.example/first/","title":{"rendered":"First"},
       "content":{"rendered":"<p>One</p>","protected":false},"excerpt":{"rendered":"","protected":false},"author":2,
       "featured_media":12,"sticky":true,"meta":{"footnotes":""},"categories":[4],"tags":[7],
       "_links":{"self":[{"href":"https://blog.example/wp-json/wp/v2/posts/35"}]}}]
      """)

  /// developers.notion.com/reference/post-database-query
  static let notion = Sample(
    name: "Notion", url: nil,
    body: """
      {"object":"list","results":[
      {"object":"page","id":"59833787-2cf9-4fdf-8782-e53db20768a5","created_time":"2022-03-01T19:05:00.000Z",
       "last_edited_time":"2022-07-06T20:25:00.000Z","created_by":{"object":"user","id":"ee5f0f84"},
       "cover":{"type":"external","external":{"url":"https://upload.example/a.jpg"}},"icon":{"type":"emoji","emoji":"🥬"},
       "parent":{"type":"database_id","database_id":"d9824bdc"},"archived":false,
       "properties":{"Food group":{"id":"A%40Hk","type":"select","select":{"id":"5e8e7e8f","name":"Vegetable","color":"pink"}},
         "Price":{"id":"BJXS","type":"number","number":2.5},
         "Name":{"id":"title","type":"title","title":[{"type":"text","plain_text":"Tuscan kale"}]}},
       "url":"https://www.notion.so/Tuscan-kale-598337872cf94fdf8782e53db20768a5"},
      {"object":"page","id":"59833787-2cf9-4fdf-8782-e53db20768a6","created_time":"2022-03-02T19:05:00.000Z",
       "last_edited_time":"2022-07-07T20:25:00.000Z","created_by":{"object":"user","id":"ee5f0f84"},"cover":null,"icon":null,
       "parent":{"type":"database_id","database_id":"d9824bdc"},"archived":false,
       "properties":{"Food group":{"id":"A%40Hk","type":"select","select":null},"Price":{"id":"BJXS","type":"number","number":3},
         "Name":{"id":"title","type":"title","title":[]}},
       "url":"https://www.notion.so/Kale-598337872cf94fdf8782e53db20768a6"}],
      "next_cursor":"59833787-2cf9-4fdf-8782-e53db20768a7","has_more":true,"type":"page_or_database","page_or_database":{}}
      """)
}
