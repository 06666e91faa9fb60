import RosterCore
import Testing

@testable import RosterDefinition

/// Windows as a proposal.
@Suite struct WindowChoiceTests {
  private func text(_ url: String, facts: String = "") throws -> String {
    let body = #"{\#(facts)"records":[{"id":1,"name":"a"},{"id":2,"name":"b"}]}"#
    return try Sample(name: "", url: "https://a.example/reports\(url)", body: body).finding().toml
  }

  @Test(
    "An address with both bounds of a span of time proposes windows",
    arguments: [
      (
        "?start_date=2026-01-01&end_date=2026-01-31", #"{ from = "2026-01-01", every = "30d" }"#,
        #"query = { start_date = "{window.from_day}", end_date = "{window.to_day}""#
      ),
      (
        "?dateFrom=2026-01-01&dateTo=2026-12-31", #"{ from = "2026-01-01", every = "31d" }"#,
        #"dateFrom = "{window.from_day}", dateTo = "{window.to_day}""#
      ),
      (
        "?timeMin=2026-01-01T00:00:00Z&timeMax=2026-01-07T23:59:59Z",
        #"{ from = "2026-01-01", every = "7d", form = "rfc3339" }"#, #"timeMax = "{window.to_time}""#
      ),
      (
        "?created[gte]=1767225600&created[lt]=1767312000", #"{ from = "2026-01-01", every = "1d", form = "unix" }"#,
        #""created[gte]" = "{window.from_time}""#
      ),
      (
        "?since=20260101&until=20260108", #"{ from = "2026-01-01", every = "7d", form = "compact" }"#,
        #"since = "{window.from_day}""#
      ),
      (
        "?after=2026-01-01T06:00:00Z&before=2026-01-01T11:30:00Z",
        #"{ from = "2026-01-01T06:00:00Z", every = "6h", form = "rfc3339" }"#, #"after = "{window.from_time}""#
      ),
    ])
  func address(query: String, windows: String, parameters: String) throws {
    let text = try text(query)
    #expect(text.contains("# windows = \(windows)\n"), "\(text)")
    #expect(text.contains(parameters), "\(text)")
    #expect(text.contains("# each = { of = \"window\" }\n# query = { "), "\(text)")
  }

  @Test("An answer that names both bounds of its span proposes windows, whose parameters are not seen")
  func answer() throws {
    let text = try text("", facts: #""meta":{"period_start":"2026-01-01","period_end":"2026-01-08"},"#)
    #expect(text.contains("# windows = { from = \"2026-01-01\", every = \"7d\" }\n"), "\(text)")
    #expect(
      text.contains(#"# query = { period_start = "{window.from_day}", period_end = "{window.to_day}" }"#), "\(text)")
  }

  @Test(
    "Other pairs propose nothing",
    arguments: [
      "?from=0&to=25", "?from=2026-01-31&to=2026-01-01", "?from=2026-01-01&to=now", "?from=2026-01-01",
      "?from=2026-01-01&to=2026-01-31T00:00:00Z", "?min_price=10&max_price=20",
    ])
  func others(query: String) throws {
    #expect(try !text(query).contains("windows"))
  }

  @Test("52, 55: a parameter that occurs twice in the address is a list in query")
  func repeated() throws {
    #expect(try text("?include=b&x=1&include=a").contains(#"query = { include = ["b", "a"], x = 1 }"#))
  }
}
