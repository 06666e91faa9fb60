import FoundationEssentials
import RosterTestSupport
import Testing

@testable import RosterDefinition

/// Each rule between keys has a case here, which breaks only that rule. A case that breaks two of them names both.
@Suite("Configuration: rules between keys")
struct KeyRuleTests {
  let workspace = Workspace()

  private struct Case {
    var text: String
    /// Number, line and key of each fault, such as "F7.2 7 resource.thing.pages.short".
    var faults: [String]
  }

  /// Faults of `[resource.thing]` from line 3 on, with the columns `id` and `name`, or of a whole text.
  private static let ofDefinitions = cases(
    [resourceCases, pagesCases, requestCases, sinceCases].joined(separator: "\n")
  ) { text in
    text.hasPrefix("[") ? text : FaultyDefinition.start + text + "\n" + FaultyDefinition.columns
  }
  private static let ofFamilies = cases(familyCases) { "\(family)\($0)\n" }
  private static let ofConfigurations = cases(configurationCases) { $0 }
  private static let manyColumns = Case(
    text: FaultyDefinition.start + "[resource.thing.columns]\nid = \"/id\"\n"
      + (1...400).map { "c\($0) = \"/c\"\n" }.joined(),
    faults: ["F7.1 3 resource.thing.columns"])
  private static let all = ofDefinitions + ofFamilies + ofConfigurations + [manyColumns]

  private static func cases(_ table: String, text: (String) -> String) -> [Case] {
    faultTable(table).map { Case(text: text($0.text), faults: $0.sentence.split(separator: " & ").map(String.init)) }
  }

  private func faults(_ text: String) throws -> [ConfigurationFault] {
    do {
      _ = try workspace.load(text)
      return []
    } catch let error as ConfigurationFaults {
      return error.faults
    }
  }

  @Test("Each case breaks the rules that it names, at the line of the key at fault")
  func cases() throws {
    for one in Self.all {
      let found = try faults(one.text).map { fault in
        "\(fault.rule?.prefix { $0 != " " } ?? "?") \(fault.line ?? 0) \(fault.key ?? "")"
      }
      let sentences = try workspace.faults(one.text)
      #expect(found.sorted() == one.faults.sorted(), "\(one.text)\n\(sentences)")
    }
  }

  @Test("Each rule has a case, and a name of its own")
  func coverage() throws {
    let rules = Configuration.rules.map(\.name) + DefinitionsReader.rules
    #expect(Set(rules).count == rules.count)
    let broken = Set(try Self.all.flatMap { try faults($0.text).compactMap(\.rule) })
    #expect(rules.filter { !broken.contains($0) } == [])
  }

}

// MARK: - Cases

extension KeyRuleTests {
  private static let resourceCases = #"""
    [resource.thing]
    columns.id = "/id"
    => F7.3 1 resource.thing.path
    [resource.thing]
    path = "/things"
    => F7.3 1 resource.thing.columns
    [resource.thing]
    inline = [{ id = "1" }]
    records = "/x"
    columns.id = "/id"
    => F1.1 3 resource.thing.records
    [resource.thing]
    inline = [{ id = "1" }]
    windows = { from = "2023-01-01", every = "31d" }
    key = "/id"
    columns = { id = "/id", from = "/from" }
    => F1.6 3 resource.thing.windows
    row_names = "/columns"
    => F1.1 3 resource.thing.row_names
    search = ["id"]
    => F7.6 3 resource.thing.search
    [resource.thing]
    windows = { from = "2123-01-01", every = "31d" }
    columns.from = "/from"
    => F1.6 2 resource.thing.windows.from
    [resource.thing]
    windows = { from = "2023-01-01", every = "31d" }
    key = "/id"
    columns.id = "/id"
    => F1.6 4 resource.thing.columns
    [resource.thing]
    path = "/b/{a.id}"
    key = "/id"
    each.of = "a"
    pages.style = "record"
    columns.x = "/x"
    [resource.a]
    path = "/a"
    columns.id = "/id"
    => F1.1 3 resource.thing.key
    key = "/none"
    => F1.2 3 resource.thing.key
    [resource.thing]
    inline = [{ id = "1" }, { id = "1" }]
    columns.id = "/id"
    => F1.1 2 resource.thing.inline
    removal = "ask"
    => F7.7 3 resource.thing.removal
    by_key_records = "/data"
    => F1.1 3 resource.thing.by_key_records
    [resource.thing]
    path = "/b/{a.id}"
    by_key = "/b/{key}"
    each.of = "a"
    pages.style = "record"
    columns.x = "/x"
    [resource.a]
    path = "/a"
    columns.id = "/id"
    => F1.1 3 resource.thing.by_key
    shape = "values"
    by_key = "/t/{key}"
    pages.style = "record"
    => F1.1 4 resource.thing.by_key
    by_key = "/t/{key.id}"
    => F1.3 3 resource.thing.by_key
    key = ["/id", "/name"]
    pages = { style = "after", param = "a" }
    => F1.3 4 resource.thing.pages.at
    lists.tags.columns.a = ""
    => F7.3 3 resource.thing.lists.tags.at
    lists.tags = { at = "/tags" }
    => F7.3 3 resource.thing.lists.tags.columns
    [resource.thing]
    path = "/t"
    columns = { id = "/id", Extra = "/x" }
    => F7.5 3 resource.thing.columns.Extra
    [resource.thing]
    path = "/t"
    columns = { id = "/id", x = "" }
    => F7.3 3 resource.thing.columns.x
    [resource.thing]
    path = "/t"
    search = ["rank"]
    columns = { id = "/id", rank = "/rank" }
    => F7.5 3 resource.thing.search
    lists.tags = { at = "/tags", columns.position = "" }
    => F7.5 3 resource.thing.lists.tags.columns.position
    lists.name = { at = "/tags", columns.a = "" }
    => F4.4 3 resource.thing.lists.name
    table = "syncs"
    => F7.5 3 resource.thing.table
    lists.rejects = { at = "/tags", columns.a = "" }
    => F7.5 3 resource.thing.lists.rejects
    """#

  private static let pagesCases = #"""
    pages = { at = "/next" }
    => F7.2 3 resource.thing.pages.at
    pages = { style = "offset" }
    => F7.2 3 resource.thing.pages.param
    pages = { style = "next" }
    => F7.2 3 resource.thing.pages.at
    pages = { style = "after", param = "a", at = "header:X" }
    => F2.4 3 resource.thing.pages.at
    pages = { short = true }
    => F7.2 3 resource.thing.pages.short
    pages = { omits_false = true }
    => G5.3 3 resource.thing.pages.omits_false
    pages = { size = 5, size_param = "*" }
    => F2.1 3 resource.thing.pages.size_param
    pages = { size = 5, size_param = "page" }
    => F3.1 3 resource.thing.pages.size_param
    pages = { value = "(page:{offset})" }
    => F2.1 3 resource.thing.pages.value
    pages = { more = "/m", done = "/d" }
    => F2.1 3 resource.thing.pages.done
    pages = { param = "*" }
    => F2.1 3 resource.thing.pages.param
    pages = { style = "cursor", param = "*", at = "/c", start = "x" }
    => F2.1 3 resource.thing.pages.start
    pages = { style = "cursor", param = "*", at = "/c", value = "{cursor}" }
    => F2.1 3 resource.thing.pages.value
    pages = { style = "cursor", param = "*", at = "header:X" }
    => F2.1 3 resource.thing.pages.at
    """#

  private static let requestCases = #"""
    format = "form"
    => F2.4 3 resource.thing.format
    method = "POST"
    format = "form"
    body = { a = { b = 1 } }
    => F2.4 5 resource.thing.body
    method = "POST"
    format = "form"
    pages = { param = "/a/b" }
    => F2.4 5 resource.thing.pages.param
    pages = { param = "/a" }
    => F3.1 3 resource.thing.pages.param
    method = "POST"
    body = { a = 1 }
    pages = { param = "/a/b" }
    => F3.5 5 resource.thing.pages.param
    since = { at = "/at", param = "page" }
    => F3.1 3 resource.thing.since.param
    raw = ["filter"]
    => F2.4 3 resource.thing.raw
    [resource.thing]
    path = "/things/{page}/of/{page}"
    columns.id = "/id"
    => F2.3 2 resource.thing.path
    [resource.thing]
    path = "/things/{page}"
    pages.param = "page"
    columns.id = "/id"
    => F2.3 3 resource.thing.pages.param
    [resource.thing]
    path = "/things/{page}"
    pages.value = "x{page}"
    columns.id = "/id"
    => F2.3 3 resource.thing.pages.value
    [resource.thing]
    path = "/things/{cursor}"
    pages = { style = "cursor", at = "/c" }
    columns.id = "/id"
    => F2.3 3 resource.thing.pages.start
    [resource.thing]
    path = "/things/{cursor}"
    columns.id = "/id"
    => F2.3 2 resource.thing.path
    """#

  private static let sinceCases = #"""
    since = { param = "s" }
    => F3.1 3 resource.thing.since.at
    since = { at = "/at", token = "/t", param = "s" }
    => F3.1 3 resource.thing.since.token
    since = { at = "/at", param = "*" }
    => F3.1 3 resource.thing.since.param
    since = { at = "/at" }
    => F3.1 3 resource.thing.since.param
    pages.style = "record"
    since = { at = "/at", param = "s" }
    => F3.1 4 resource.thing.since
    since = { token = "/t", param = "s", form = "unix" }
    => F3.2 3 resource.thing.since.form
    since = { token = "/t", param = "s", value = "{since:unix}" }
    => F3.2 3 resource.thing.since.value
    since = { token = "/t", value = "x{since}" }
    => F3.2 3 resource.thing.since.value
    since = { at = "/at", param = "s", whole_every = "never" }
    => F3.5 3 resource.thing.since.whole_every
    since = { at = "/at", param = "s", form = "number", value = "{since:unix}" }
    => F3.2 3 resource.thing.since.value
    since = { at = "/at", param = "s", overlap = 5 }
    => F3.3 3 resource.thing.since.overlap
    since = { at = "/at", param = "s", form = "compact", overlap = "1h" }
    => F3.3 3 resource.thing.since.overlap
    since = { at = "/at", param = "s", form = "unix", zone = "+01:00" }
    => F3.3 3 resource.thing.since.zone
    since = { at = "header:Date", param = "s", form = "number" }
    => F3.6 3 resource.thing.since.form
    since = { at = "/at", param = "header:X-Since", value = "{since}\n" }
    => F3.6 3 resource.thing.since.value
    since = { at = "/at", param = "s", ask = true, key = "/k" }
    => F3.4 3 resource.thing.since.ask
    by_key = "/t/{key}"
    since = { at = "/at", param = "s", ask = true }
    => F3.4 4 resource.thing.since.key
    since = { at = "/at", param = "s", key = "/k" }
    => F3.4 3 resource.thing.since.key
    by_key = "/t/{key}"
    since = { at = "/at", param = "s", ask = true, key = ["/k", "/l"] }
    => F3.4 4 resource.thing.since.key
    since = { at = "/at", param = "s", row_names = "/n" }
    => F3.4 3 resource.thing.since.row_names
    since = { at = "/at", pages.value = "{page},{since},{since}" }
    => F3.7 3 resource.thing.since.pages
    since = { at = "/at", param = "s", pages.value = "{page},{since}" }
    => F3.7 3 resource.thing.since.pages
    since = { at = "/at", pages = { style = "cursor", param = "c", at = "/c", value = "{cursor},{since}" } }
    => F3.7 3 resource.thing.since.pages
    since = { at = "/at", value = "{since}", pages.value = "{page},{since}" }
    => F3.7 3 resource.thing.since.value
    pages.value = "{page},{since}"
    since = { at = "/at", param = "s", pages.style = "number" }
    => F3.7 3 resource.thing.pages.value
    since = { at = "/at", from = "0", pages.value = "{page},{since}" }
    => F3.7 3 resource.thing.since.from
    """#

  /// Four lines.
  private static let family = """
    [resource.page]
    path = "/pages"
    columns = { id = { at = "/id", type = "integer" }, name = "/name" }
    [resource.block]

    """

  private static let familyCases = #"""
    path = "/b"
    columns.id = "/id"
    each.of = "none"
    => F4.1 7 resource.block.each.of
    path = "/b"
    columns.id = "/id"
    each = { of = "page", whole_every = "never" }
    => F4.2 7 resource.block.each.whole_every
    path = "/b"
    columns = { id = "/id", page_id = "/p" }
    each.of = "page"
    => F4.4 6 resource.block.columns.page_id
    path = "/b"
    columns.id = "/id"
    each = { of = "page", changed = ["at"] }
    => F4.2 7 resource.block.each.changed
    path = "/b"
    columns.id = "/id"
    each = { of = "page", empty = { id = true } }
    => F4.2 7 resource.block.each.empty.id
    path = "/b/{page.x}"
    columns.id = "/id"
    each.of = "page"
    => F4.3 5 resource.block.path
    path = "/b"
    table = "PAGE"
    columns.id = "/id"
    => F7.5 6 resource.block.table
    """#

  private static let configurationCases = #"""
    [upstream]
    base_url = "http://h"
    tls.pins = ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
    => F7.8 3 upstream.tls.pins
    [upstream]
    base_url = "http://h"
    tls.cert_file = "/c"
    => F6.1 3 upstream.tls.cert_file
    upstream.tls.key_file = "/k"
    => F6.1 1 upstream.tls.key_file
    retry.base_delay = "20s"
    => F7.1 1 retry.base_delay
    auth.token_url = "http://h/token"
    => F7.8 1 auth.token_url
    auth.authorize_url = "http://h/a"
    => F7.8 1 auth.authorize_url
    auth.device_url = "http://h/d"
    => F7.8 1 auth.device_url
    [auth]
    flow = "exchange"
    answer.access = "/a"
    login.url = "http://h/l"
    => F7.8 4 auth.login.url
    [auth]
    flow = "exchange"
    answer.access = "/a"
    refresh.url = "http://h/l"
    => F7.8 4 auth.refresh.url
    upstream.base_url = "https://h"
    [resource.thing]
    path = "/t"
    base_url = "http://h"
    columns.id = "/id"
    => F2.2 1 upstream.base_url
    status.socket = "/run/sssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss"
    => F7.1 1 status.socket
    status.socket = "/run/rosterd/"
    => F7.1 1 status.socket
    cache.path = "/srv/x"
    auth.token_store = "/srv/x"
    => F7.13 2 auth.token_store
    cache.path = "/srv/x"
    status.socket = "/srv/x"
    => F7.13 2 status.socket
    auth.token_store = "/srv/x"
    status.socket = "/srv/x"
    => F7.13 2 status.socket
    auth.flow = "bearer_refresh"
    => F7.8 1 auth.flow
    [auth]
    flow = "jwt"
    token_url = "/t"
    jwt.claims = { exp = "{now+10m}" }
    => F5.1 3 auth.token_url
    [auth]
    flow = "jwt"
    scope = "s"
    jwt.claims = { exp = "{now+10m}" }
    => F5.1 3 auth.scope
    auth.client = "body"
    => F5.4 1 auth.client
    auth.params = { a = "b" }
    => F5.4 1 auth.params
    auth.send = "X-Key: {client_id}"
    => F5.7 1 auth.send
    [auth]
    flow = "bearer_refresh"
    token_url = "/t"
    send = "X-Key: {client_id}"
    => F5.7 4 auth.send
    [auth]
    flow = "bearer_refresh"
    token_url = "/t"
    send = ["A: {access_token}", "B: {refresh_token}"]
    => F5.7 4 auth.send
    [auth]
    flow = "static"
    send = "X-Key: {jwt}"
    => F5.7 3 auth.send
    auth.flow = "static"
    upstream.headers.authorization = "x"
    => F7.10 2 upstream.headers.authorization
    [auth]
    flow = "exchange"
    answer.access = "/a"
    => F5.1 2 auth.flow
    [auth]
    flow = "exchange"
    login.url = "/l"
    => F5.1 2 auth.flow
    [auth]
    flow = "exchange"
    answer.access = "/a"
    login.url = "https://a/l"
    refresh.url = "https://b/l"
    => F5.2 5 auth.refresh.url
    [auth]
    flow = "exchange"
    answer.access = "/a"
    login = { url = "/l", body = { a = "{refresh_token}" } }
    => F5.3 4 auth.login.body
    [auth]
    flow = "exchange"
    answer.access = "/a"
    login = { url = "/l", send = "A: {access_token}" }
    => F5.3 4 auth.login.send
    auth.answer.access = "/a"
    => F5.1 1 auth.answer.access
    auth.login.url = "/l"
    => F5.1 1 auth.login.url
    auth.refresh.url = "/l"
    => F5.1 1 auth.refresh.url
    [auth]
    flow = "exchange"
    answer.access = "/a"
    refresh.url = "/l"
    login.body = { a = "b" }
    => F5.1 5 auth.login.body
    [auth]
    flow = "exchange"
    answer.access = "/a"
    login.url = "/l"
    refresh.body = { a = "b" }
    => F5.1 5 auth.refresh.body
    [auth]
    flow = "exchange"
    answer.access = "/a"
    login = { url = "/l", body = { a = "{user}" } }
    => F5.2 4 auth.login.body
    [auth]
    flow = "exchange"
    answer.access = "/a"
    login = { url = "/l", send = "X: {pass}" }
    => F5.2 4 auth.login.send
    [auth]
    flow = "exchange"
    answer.access = "/a"
    refresh = { url = "/l", body = { a = "{user}" } }
    => F5.2 4 auth.refresh.body
    [auth]
    flow = "exchange"
    answer.access = "/a"
    refresh = { url = "/l", send = "X: {pass}" }
    => F5.2 4 auth.refresh.send
    [auth]
    flow = "exchange"
    answer.access = "/a"
    login = { url = "/l", format = "form", body = { a = { b = 1 } } }
    => F5.3 4 auth.login.body.a
    [auth]
    flow = "exchange"
    answer.access = "/a"
    refresh = { url = "/l", format = "form", body = { a = { b = 1 } } }
    => F5.3 4 auth.refresh.body.a
    auth.jwt.alg = "ES256"
    => F5.5 1 auth.jwt.alg
    auth.flow = "jwt"
    => F5.5 1 auth.flow
    [auth]
    flow = "exchange"
    answer.access = "/a"
    login = { url = "/l", send = "A: {jwt}" }
    => F5.5 4 auth.login.send
    [auth]
    flow = "jwt"
    jwt.claims = { exp = "{now+9m}", a = "{now+9}" }
    => F5.5 3 auth.jwt.claims
    [auth]
    flow = "jwt"
    jwt = { headers = { alg = "none" }, claims = { exp = "{now+9m}" } }
    => F5.5 3 auth.jwt.headers.alg
    [auth]
    flow = "jwt"
    jwt.claims = { exp = "{now-1m}" }
    => F5.5 3 auth.jwt.claims.exp
    [auth]
    flow = "jwt"
    jwt.claims = { iss = "i" }
    => F5.5 3 auth.jwt.claims
    [auth]
    flow = "exchange"
    answer.access = "/a"
    login = { url = "/l", send = "A: x" }
    jwt.claims = { iss = "i" }
    => F5.5 5 auth.jwt.claims
    [auth]
    flow = "static"
    jwt.claims = { iss = "i" }
    => F5.5 3 auth.jwt.claims
    """#
}
