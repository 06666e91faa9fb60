import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Configuration: the output of check, and the effect of a reload")
struct RenderingTests {
  let workspace = Workspace()

  /// A self-signed P-256 certificate, valid until 2126.
  private static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBcjCCARegAwIBAgIUfaBYLnPl3JhCiQFyPTIgUez6EY0wCgYIKoZIzj0EAwIw
    DTELMAkGA1UEAwwCY2EwIBcNMjYxMTIxMDUyODQ3WhgPMjEyNjEwMjgwNTI4NDda
    MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAErzJHHwMn
    WRgB6pGu9Chf45q2DZEr3iHdmYPNPYX3r4Cn0dcJ2f5J/q5bYKabI7ZEg+kYbvtb
    o36E910Xb4QR1aNTMFEwHQYDVR0OBBYEFMSaADn5UlxM/Tl+CKaPui/IdoLZMB8G
    A1UdIwQYMBaAFMSaADn5UlxM/Tl+CKaPui/IdoLZMA8GA1UdEwEB/wQFMAMBAf8w
    CgYIKoZIzj0EAwIDSQAwRgIhANHUcMjHHGXmmvTBVYZF2Hi3kfA9iEhLnos54dI/
    u3+PAiEAqRZKX7i4rRs9FliRgp9HwELfiga9gHgt1SIK6IRLvlk=
    -----END CERTIFICATE-----
    """

  private func everything() throws -> String {
    let pin = "sha256/" + Data(repeating: 7, count: 32).base64EncodedString()
    let certificate = try workspace.write(Self.certificate, to: "ca \"1\".pem")
    return """
      [upstream]
      base_url = "https://localhost:1/a%20b"
      headers = { Accept = "text/plain", Cache-Control = "a\\"b\\\\c\\td é" }
      timeout = "1.5s"
      links = "rebase"
      proxy = "http://[::1]:3128"
      tls = { ca_file = '\(certificate)', pins = ["\(pin)"], cert_file = "/c.pem", key_file = "/k.pem" }
      [sync]
      interval = "90s"
      jitter = "0s"
      retry_interval = "36h"
      concurrency = 1
      max_pages = 7
      max_removal = 0
      [retry]
      max_retries = 20
      base_delay = "1ms"
      max_delay = "2ms"
      jitter = "3ms"
      max_retry_after = "4d"
      [limit]
      rate = 0.5
      budget = "10000/1d"
      [auth]
      flow = "oauth2_refresh"
      send = "?api_key={access_token}"
      token_url = "token"
      scope = "a b"
      authorize_url = "/authorize"
      device_url = "device"
      client = "basic_raw"
      params = { audience = "a" }
      headers = { Accept = "text/plain" }
      early_refresh = "0s"
      timeout = "1s"
      expired = { status = [302, 403], where = { "/error/code" = "expired", "/data" = "absent" } }
      logout_status = [400, 599]
      credentials_dir = "/c"
      token_store = "/t"
      [cache]
      path = "/p"
      history = "1d"
      [status]
      socket = "/s"
      socket_mode = "0007"
      [log]
      level = "critical"
      format = "journald"
      """
  }

  @Test("check's output is TOML that check accepts again, with the same meaning, for random values")
  func roundTrip() throws {
    let first = try workspace.load(everything())
    #expect(try workspace.load(first.rendered()) == first)
    #expect(try workspace.load(first.rendered()).rendered() == first.rendered())
    let second = try workspace.load(exchange)
    #expect(try workspace.load(second.rendered()) == second)
    for key in ConfigurationKey.all {
      let configuration = key.name.wholeMatch(of: /auth\.(login|refresh|answer|jwt)\..*/) == nil ? first : second
      #expect(!key.isSame(configuration, Configuration()), "\(key.name) has its default here")
    }
  }

  /// The keys that need the flow `exchange`.
  private let exchange = """
    [auth]
    flow = "exchange"
    login = { url = "/l", body = { a = "{username}", b = 1, c = "{jwt}" }, format = "form", send = "X-Key: {password}" }
    refresh = { url = "r", body = { a = "{refresh_token}" }, format = "form", send = "?k={client_id}" }
    answer = { access = "/a", refresh = "/r", expires_in = "/i", expires_in_ms = "/m", expires_at = "/t" }
    jwt = { alg = "ES256", headers = { kid = "k" }, claims = { iss = "i", exp = "{now+1h}", roles = ["a"] } }
    """

  @Test("A base_url has no slash at its end")
  func slashes() throws {
    let read = try workspace.load("upstream.base_url = \"http://h/api//\"")
    #expect(read.upstream.baseURL == "http://h/api")
    #expect(try workspace.load(read.rendered()) == read)
  }

  @Test("check shows the defaults filled in, every key in its table")
  func defaults() throws {
    let text = try workspace.load("").rendered()
    #expect(
      text.hasPrefix(
        "[upstream]\nbase_url = \"https://rickandmortyapi.com/api\"\nheaders = {}\ntimeout = \"30s\"\nlinks = \"same_origin\"\nproxy = \"\"\n\n[upstream.tls]\n"
      ))
    #expect(text.contains("[cache]\npath = \"/var/lib/rosterd/roster.db\"\nhistory = \"90d\"\n"))
    #expect(text.contains("token_store = \"/var/lib/rosterd/token.json\""))
    #expect(text.contains("socket_mode = \"0660\""))
  }

  @Test("38: check and a printed configuration show the values of harmless headers only")
  func masks() throws {
    let text =
      "[upstream.headers]\nAuthorization = \"Bearer geheim\"\nX-Tenant = \"geheim\"\naccept-language = \"de\""
    let configuration = try workspace.load(text)
    #expect(!"\(configuration)".contains("geheim"))
    #expect(configuration.rendered().contains("\"X-Tenant\" = \"***\", \"accept-language\" = \"de\""))
    #expect(try workspace.faults(configuration.rendered()).isEmpty)
  }

  @Test("38: check masks the query of token_url", arguments: ["https://h:1/token", "/token", "token"])
  func tokenQuery(address: String) throws {
    let configuration = try workspace.load("auth.token_url = \"\(address)?key=geheim&x=1\"")
    #expect(configuration.rendered().contains("token_url = \"\(address)?***\""))
    #expect(!"\(configuration)".contains("geheim"))
    #expect(try workspace.faults(configuration.rendered()).isEmpty)
    #expect(configuration.resolvedTokenURL?.hasSuffix("/token?key=geheim&x=1") == true)
  }

  @Test("38: check masks user and password of a proxy, and accepts that again")
  func proxy() throws {
    let configuration = try workspace.load("upstream.proxy = 'http://roster:geheim@proxy:3128/'")
    #expect(configuration.rendered().contains("\nproxy = \"http://***@proxy:3128\"\n"))
    #expect(!"\(configuration)".contains("geheim"))
    #expect(try workspace.faults(configuration.rendered()).isEmpty)
  }

  @Test("54: a reload distinguishes applied keys from keys that need a restart, also masked ones")
  func changes() throws {
    let old = try workspace.load("upstream.headers = { X-Key = 'a' }")
    let new = try workspace.load(
      """
      upstream = { base_url = "http://h", headers = { X-Key = "b" } }
      sync.interval = "1m"
      cache.path = "/c"
      status.socket = "/s"
      auth.token_store = "/t"
      """)
    let changes = new.changes(from: old)
    #expect(changes.applied == ["upstream.headers", "sync.interval"])
    #expect(changes.needRestart == ["upstream.base_url", "auth.token_store", "cache.path", "status.socket"])
    #expect(new.changes(from: new) == ([], []))
    let next = try new.replacing(old)
    #expect(next.cache.path == old.cache.path)
    #expect(next.upstream.baseURL == old.upstream.baseURL)
    #expect(next.sync.interval == .seconds(60))
    #expect(next.changes(from: new).applied.isEmpty)
  }

  @Test("39, 53: a reload that would combine an https base_url with an http token_url is refused")
  func mixture() throws {
    let old = try workspace.load("")
    let new = try workspace.load("upstream.base_url = 'http://h'\nauth.token_url = 'http://h/token'")
    #expect {
      try new.replacing(old)
    } throws: {
      ($0 as? ConfigurationFaults)?.faults.first?.problem
        == "an http address does not go with an https base_url until a restart"
    }
  }

  @Test("The sample file has every key, each with its default")
  func sample() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../config/rosterd.toml").path
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let lines = try TOMLDocument(text).lines()
    let sample = try workspace.load(text)
    let defaults = try workspace.load("")
    for key in ConfigurationKey.all {
      #expect(lines[key.path] != nil, "\(key.name) is missing")
      #expect(key.isSame(sample, defaults), "\(key.name) is not the default")
    }
  }

  @Test("38: credentials in the body of a POST are masked at every level, and the structure remains")
  func bodySecrets() throws {
    let text = try workspace.load(
      """
      [resource.thing]
      path = "/things"
      method = "POST"
      body = { token = "geheim", page = 1, session = { ids = ["geheim", 4711], place = { on = true } } }
      columns.id = { at = "/id", type = "integer" }
      pages = { style = "number", param = "/session/place/page" }
      """
    ).rendered()
    #expect(
      text.contains(#"body = { token = "***", page = 1, session = { ids = ["***", "***"], place = { on = true } } }"#))
    #expect(try workspace.load(text).rendered() == text)
  }

  @Test("38: credentials in a definition's query are masked, by name or because auth.send names them")
  func secrets() throws {
    let definition = """
      [auth]
      flow = "static"
      send = "?k={access_token}"
      [resource.thing]
      path = "/things"
      query = { k = "geheim", api_key = "geheim", accessToken = "geheim", key = 4711, state = "all", sort_key = "name" }
      by_key = "/things/{key}?X-Signature=geheim&expand=all"
      columns.id = { at = "/id", type = "integer" }
      """
    let text = try workspace.load(definition).rendered()
    #expect(!text.contains("geheim") && !text.contains("4711"))
    #expect(
      text.contains(
        #"query = { k = "***", api_key = "***", accessToken = "***", key = "***", state = "all", sort_key = "name" }"#))
    #expect(text.contains(#"by_key = "/things/{key}?X-Signature=***&expand=all""#))
    #expect(try workspace.load(text).rendered() == text)
  }

  @Test("38: credentials in the query and the body of an incremental pull are masked")
  func sinceSecrets() throws {
    let definition = """
      [auth]
      flow = "static"
      send = "?k={access_token}"
      [resource.thing]
      path = "/things"
      columns.id = { at = "/id", type = "integer" }
      [resource.thing.since]
      at = "/at"
      param = "since"
      method = "POST"
      query = { k = "geheim", api_key = "geheim", state = "all" }
      body = { token = "geheim", page = 1 }
      """
    let text = try workspace.load(definition).rendered()
    #expect(!text.contains("geheim"))
    #expect(text.contains(#"query = { k = "***", api_key = "***", state = "all" }"#))
    #expect(text.contains(#"body = { token = "***", page = 1 }"#))
    #expect(try workspace.load(text).rendered() == text)
  }

  @Test(
    "38: check masks auth.send's parameter in by_key but not the key's placeholder, and accepts that again",
    arguments: [
      ("/things?key={key}", "/things?key={key}"), ("/things?token={keys}", "/things?token={keys}"),
      ("/things?secret=id:{key}", "/things?secret=id:{key}"),
      ("/things?m%79=geheim&id={key}&my=geheim", "/things?m%79=***&id={key}&my=***"),
      ("/things/{key}?token=geheim&My=x", "/things/{key}?token=***&My=x"),
    ])
  func byKey(written: String, shown: String) throws {
    let definition = """
      [auth]
      flow = "static"
      send = "?my={access_token}"
      [resource.thing]
      path = "/things"
      by_key = "\(written)"
      columns.id = { at = "/id", type = "integer" }
      """
    let text = try workspace.load(definition).rendered()
    #expect(text.contains("by_key = \"\(shown)\"\n"))
    #expect(try workspace.load(text).rendered() == text)
  }
}
