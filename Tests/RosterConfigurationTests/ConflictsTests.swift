import FoundationEssentials
import Glibc
import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Configuration: values that exclude each other, or are impossible on this machine")
struct ConflictsTests {
  let workspace = Workspace()

  @Test(
    "53: one line names the first key and the key that it conflicts with",
    arguments: faultTable(
      #"""
      auth.flow = "bearer_refresh"
      => rosterd.toml:1: auth.flow: the flow "bearer_refresh" needs a token_url; allowed: a URL or a path in auth.token_url
      [auth]
      token_url = "http://rickandmortyapi.com/token"
      => rosterd.toml:2: auth.token_url: an http address does not go with an https base_url; allowed: an https URL or a path
      auth.flow = "static"
      [upstream.headers]
      authorization = "Bearer geheim"
      => rosterd.toml:3: upstream.headers.authorization: the flow "static" sends its own; allowed: this header with the flow "none"
      [upstream]
      base_url = "http://h"
      tls.pins = ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
      => rosterd.toml:3: upstream.tls.pins: an http base_url has no TLS; allowed: pins with an https base_url
      [retry]
      base_delay = "20s"
      => rosterd.toml:2: retry.base_delay: a max_delay of 10s is less than a base_delay of 20s; allowed: a max_delay of base_delay or more
      [retry]
      base_delay = "2s"
      max_delay = "1s"
      => rosterd.toml:3: retry.max_delay: a max_delay of 1s is less than a base_delay of 2s; allowed: a max_delay of base_delay or more
      cache.path = "/srv/x"
      auth.token_store = "/srv/x"
      => rosterd.toml:2: auth.token_store: auth.token_store and cache.path name one file; allowed: a file of its own
      """#))
  func conflict(text: String, sentence: String) throws {
    let faults = try workspace.faults(text)
    #expect(faults == [sentence])
    #expect(!faults.joined().contains("geheim"))
  }

  @Test("53: two settings must not name one file in two spellings, also through a link and with missing folders")
  func spellings() throws {
    let link = workspace.path("link")
    try #require(symlink(workspace.folder, link) == 0)
    for (one, other) in [
      ("/srv/x", "/srv//./x"), ("x", "./x"), ("/tmp/../srv/x", "/srv/x"), ("\(link)/a/x", "\(workspace.path("a"))/x"),
    ] {
      #expect(
        try workspace.faults("cache.path = \"\(one)\"\nauth.token_store = \"\(other)\"") == [
          "rosterd.toml:2: auth.token_store: auth.token_store and cache.path name one file; allowed: a file of its own"
        ], "\(one) \(other)")
    }
    #expect(try workspace.faults("cache.path = \"/srv/x\"\nauth.token_store = \"/srv/y/x\"").isEmpty)
    let file = workspace.path("state")
    try #require(FileManager.default.createFile(atPath: file, contents: nil))
    try #require(symlink(file, workspace.path("store")) == 0)
    #expect(
      try workspace.faults("cache.path = \"\(file)\"\nstatus.socket = \"\(workspace.path("store"))\"").count == 1)
  }

  @Test("53: two settings must not name one file by a link to a missing file, a missing folder or a hard link")
  func missingTargets() throws {
    let (link, loop, file) = (workspace.path("link"), workspace.path("loop"), try workspace.write("", to: "file"))
    try #require(symlink("folder/../x.db", link) == 0 && symlink("loop", loop) == 0)
    try #require(Glibc.link(file, workspace.path("second")) == 0)
    func faults(_ one: String, _ other: String) throws -> Int {
      let (one, other) = (workspace.path(one), workspace.path(other))
      return try workspace.faults("cache.path = \"\(one)\"\nauth.token_store = \"\(other)\"").count
    }
    for (one, other) in [
      ("x.db", "link"), ("x.db", "nowhere/../x.db"), ("link", "a/b/../../link"), ("file", "second"),
    ] {
      #expect(try faults(one, other) == 1 && faults(other, one) == 1, "\(one) \(other)")
    }
    for (one, other) in [("link", "file"), ("loop", "link"), ("nowhere/x.db", "x.db"), ("file", "third")] {
      #expect(try faults(one, other) == 0, "\(one) \(other)")
    }
  }

  @Test("A socket's path with more than 107 bytes is 78")
  func longSocket() throws {
    let name = "/" + String(repeating: "s", count: 106)
    #expect(try workspace.faults("status.socket = \"\(name)\"").isEmpty)
    #expect(
      try workspace.faults("status.socket = \"\(name)s\"") == [
        "rosterd.toml:1: status.socket: \"\(name)s\" is too long for a socket; allowed: at most 107 bytes"
      ])
  }

  @Test("A socket's path that names a folder is 78", arguments: ["/run/rosterd/", "/run/..", "."])
  func socketFolder(path: String) throws {
    #expect(
      try workspace.faults("status.socket = \"\(path)\"") == [
        "rosterd.toml:1: status.socket: \"\(path)\" names a folder; allowed: the path of a file in it"
      ])
  }
}
