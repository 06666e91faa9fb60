import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Configuration: faults of auth.send, upstream.proxy and upstream.links")
struct UpstreamFaultTests {
  let workspace = Workspace()

  @Test(
    "53: one line names what is wrong and what is allowed, and repeats neither a token nor a password",
    arguments: faultTable(
      #"""
      auth.send = "geheim"
      => rosterd.toml:1: auth.send: is neither a header nor a query parameter nor a member of a POST; allowed: "NAME: {access_token}", a header, "?NAME={access_token}", a query parameter, "/NAME={access_token}", a member of a POST, or a list of them
      auth.send = "PRIVATE-TOKEN: geheim"
      => rosterd.toml:1: auth.send: does not hold a placeholder such as {access_token}, as its value; allowed: "NAME: {access_token}", a header, "?NAME={access_token}", a query parameter, "/NAME={access_token}", a member of a POST, or a list of them
      auth.send = ["X: {access_token}", 7]
      => rosterd.toml:1: auth.send: a number is not a string; allowed: "NAME: {access_token}", a header, "?NAME={access_token}", a query parameter, "/NAME={access_token}", a member of a POST, or a list of them
      auth.send = "?api_key=geheim"
      => rosterd.toml:1: auth.send: does not hold a placeholder such as {access_token}, as its value; allowed: "NAME: {access_token}", a header, "?NAME={access_token}", a query parameter, "/NAME={access_token}", a member of a POST, or a list of them
      auth.send = "?{access_token}"
      => rosterd.toml:1: auth.send: is neither a header nor a query parameter nor a member of a POST; allowed: "NAME: {access_token}", a header, "?NAME={access_token}", a query parameter, "/NAME={access_token}", a member of a POST, or a list of them
      auth.send = "X Geheim: {access_token}"
      => rosterd.toml:1: auth.send: the text before the colon is not a header name; allowed: letters, digits and !#$%&'*+-.^_`|~
      auth.send = "content-length: {access_token}"
      => rosterd.toml:1: auth.send: names a header that is rosterd's own to send; allowed: any other header
      auth.send = "X-Key: {access_token}\r\nX: geheim"
      => rosterd.toml:1: auth.send: holds CR or LF; allowed: "NAME: {access_token}", a header, "?NAME={access_token}", a query parameter, "/NAME={access_token}", a member of a POST, or a list of them
      auth.send = "X-Key: {access_token}\u0001"
      => rosterd.toml:1: auth.send: holds a control character; allowed: "NAME: {access_token}", a header, "?NAME={access_token}", a query parameter, "/NAME={access_token}", a member of a POST, or a list of them
      auth.send = "?={access_token}"
      => rosterd.toml:1: auth.send: names no query parameter; allowed: "NAME: {access_token}", a header, "?NAME={access_token}", a query parameter, "/NAME={access_token}", a member of a POST, or a list of them
      auth.send = "?a=geheim&b={access_token}"
      => rosterd.toml:1: auth.send: holds &, # or %; allowed: one parameter, without percent-encoding
      upstream.proxy = "socks5://user:geheim@h:1"
      => rosterd.toml:1: upstream.proxy: is neither an http URL nor "none"; allowed: "http://[USER:PASSWORD@]HOST:PORT", "none", or nothing
      upstream.proxy = "https://h:1"
      => rosterd.toml:1: upstream.proxy: is neither an http URL nor "none"; allowed: "http://[USER:PASSWORD@]HOST:PORT", "none", or nothing
      upstream.proxy = "h:3128"
      => rosterd.toml:1: upstream.proxy: is neither an http URL nor "none"; allowed: "http://[USER:PASSWORD@]HOST:PORT", "none", or nothing
      upstream.proxy = "http://user:geheim@h"
      => rosterd.toml:1: upstream.proxy: names no port; allowed: "http://[USER:PASSWORD@]HOST:PORT", "none", or nothing
      upstream.proxy = "http://h:0"
      => rosterd.toml:1: upstream.proxy: has a port that is not 1 to 65535; allowed: "http://[USER:PASSWORD@]HOST:PORT", "none", or nothing
      upstream.proxy = "http://user:geheim@h:99999999999999999999"
      => rosterd.toml:1: upstream.proxy: has a port that is not 1 to 65535; allowed: "http://[USER:PASSWORD@]HOST:PORT", "none", or nothing
      upstream.proxy = "http://:1"
      => rosterd.toml:1: upstream.proxy: names no host; allowed: "http://[USER:PASSWORD@]HOST:PORT", "none", or nothing
      upstream.proxy = "http://h:1/geheim"
      => rosterd.toml:1: upstream.proxy: holds more than a host and a port; allowed: "http://[USER:PASSWORD@]HOST:PORT", "none", or nothing
      upstream.links = "all"
      => rosterd.toml:1: upstream.links: "all" is unknown; allowed: same_origin rebase
      [upstream.headers]
      private-token = "geheim"
      [auth]
      flow = "static"
      send = "PRIVATE-TOKEN: {access_token}"
      => rosterd.toml:2: upstream.headers.private-token: the flow "static" sends its own; allowed: this header with the flow "none"
      [upstream.headers]
      Authorization = "geheim"
      [auth]
      flow = "basic"
      send = "X: {access_token}"
      => rosterd.toml:2: upstream.headers.Authorization: the flow "basic" sends its own; allowed: this header with the flow "none"
      """#))
  func refused(text: String, sentence: String) throws {
    let faults = try workspace.faults(text)
    #expect(faults == [sentence])
    #expect(!faults.joined().contains("geheim"))
  }

  @Test(
    "53: a header in upstream.headers is refused only if the flow sends one of its name",
    arguments: [
      "flow = 'static'\nsend = 'PRIVATE-TOKEN: {access_token}'", "flow = 'static'\nsend = '?key={access_token}'",
      "flow = 'none'\nsend = 'Authorization: {access_token}'",
    ])
  func otherHeader(auth: String) throws {
    #expect(try workspace.faults("[upstream.headers]\nAuthorization = 'x'\n[auth]\n\(auth)").isEmpty)
  }
}
