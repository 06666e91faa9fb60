import RosterModel
import Testing

@testable import RosterPostgres

@Suite("The URL of the server")
struct PostgresTargetTests {
  @Test(
    "D7.4: a URL that cannot be read is 78, and no part of it is in the message",
    arguments: [
      "postgresql://u:s3%zzcret@h/d", "postgresql://u:a/s3cret@h/d", "postgresql://u:a@s3cret@h/d",
      "postgresql://u:s3cret/d",
      "postgresql://u:1/s3cret@h/d", "postgres://u:a/s3cret@h/d", "postgresql://h/d?password=s3%zzcret",
      "host=h password=a s3cret",
      "s3cret", "postgresql://[s3cret", "postgresql://u:a\"s3cret%zz@h/d",
    ])
  func unreadable(url: String) {
    let failure = #expect(throws: Failure.self) { try PostgresTarget(url, from: "/run/url") }
    let message = failure.map { "\($0)" } ?? ""
    #expect(failure?.kind == .configuration)
    #expect(message.contains("(/run/url)"))
    #expect(!["s3", "cret"].contains { message.contains($0) }, "\(message)")
  }

  @Test(
    "D7.4: a password with escapes or other signs is read, and only the server is shown",
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
}
