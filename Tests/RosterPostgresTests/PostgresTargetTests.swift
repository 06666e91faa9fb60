import RosterCore
import Testing

@testable import RosterPostgres

@Suite("The URL of the server")
struct PostgresTargetTests {
  @Test(
    "38: a URL that cannot be read is 78, and no part of it is in the message",
    arguments: [
      "postgresql://u:s3%zzcret@h/d", "postgresql://u:a/s3cret@h/d", "postgresql://u:a@s3cret@h/d",
      "postgresql://u:s3cret/d",
      "postgresql://u:1/s3cret@h/d", "postgres://u:a/s3cret@h/d", "postgresql://h/d?password=s3%zzcret",
      "host=h password=a s3cret",
      "s3cret", "postgresql://h?password=s3@cret", "postgresql://h:1?password=s3@cret", "postgresql://[s3cret",
      "postgresql://u:a\"s3cret%zz@h/d",
    ])
  func unreadable(url: String) {
    let failure = #expect(throws: Failure.self) { try PostgresTarget(url, from: "/run/url") }
    let message = failure.map { "\($0)" } ?? ""
    #expect(failure?.kind == .configuration)
    #expect(message.contains("(/run/url)"))
    #expect(!["s3", "cret"].contains { message.contains($0) }, "\(message)")
  }

  @Test(
    "38: a password with escapes or other signs is read, and only the server is shown",
    arguments: [
      ("postgresql://u:a%2Fb%40c%25@h:5433/d", "d on h:5433"), ("postgresql://u:a?b#c[d:e@h/d", "d on h"),
      ("postgresql://u:p@h1:1,h2:2/d?target_session_attrs=read-write", "d on h1,h2:1,2"),
      ("host=/run/postgresql password='a@b/c'", "the default database on /run/postgresql"),
    ])
  func readable(url: String, shown: String) throws {
    let target = try PostgresTarget(url)
    #expect(target.shown == shown)
    #expect(target.hasPassword)
  }

  @Test(
    "38: the parameters of a URL may contain at signs and slashes",
    arguments: [
      ("postgresql://postgres@/t?host=/run/postgresql&application_name=me@site", "t on /run/postgresql"),
      ("postgresql:///t?host=h&application_name=me@site/a", "t on h"),
      ("postgresql://u@h?application_name=a@b", "u on h"),
    ])
  func parameters(url: String, shown: String) throws {
    #expect(try PostgresTarget(url).shown == shown)
  }

  @Test(
    "51: an empty URL, a port out of range and a refused option are bad URLs, and none of their parts is shown",
    arguments: [
      ("", "it is empty"), (" \n", "it is empty"), ("postgresql://h:0/d", "from 1 to 65535"),
      ("postgresql://u:73219/d", "from 1 to 65535"), ("host=h1,h2 port=1,73219", "from 1 to 65535"),
    ])
  func bad(url: String, cause: String) {
    let failure = #expect(throws: Failure.self) { try PostgresTarget(url) }
    #expect(failure?.kind == .configuration)
    #expect(failure.map { "\($0)" }?.contains(cause) == true)
    #expect(failure.map { "\($0)" }?.contains("73219") == false)
  }

  @Test(
    "51: an option that libpq refuses is a bad URL, and a missing database is named with its remedy",
    arguments: [
      (#"invalid sslmode value: "s3cret""#, Failure.Kind.configuration, "invalid sslmode value: …"),
      (#"definition of service "s3cret" not found"#, .configuration, "definition of service …"),
      (
        #"connection to server at "h" failed: FATAL:  3D000: database "d" does not exist"#, .unreachable,
        "create the database"
      ),
      (#"connection to server at "h" failed: Connection refused"#, .unreachable, "see that the server runs"),
    ])
  func connecting(message: String, kind: Failure.Kind, words: String) {
    let failure = PostgresFailure.connecting(message, needsPassword: false, to: "d on h")
    #expect(failure.kind == kind)
    #expect("\(failure)".contains(words) && !"\(failure)".contains("s3cret"), "\(failure)")
  }
}
