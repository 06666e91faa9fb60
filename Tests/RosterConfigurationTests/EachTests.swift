import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

/// Children, details, and records in the file.
@Suite struct EachTests {
  let workspace = Workspace()

  private static let family = """
    [resource.repo]
    inline = [{ id = 1, name = "a/b", stars = 1.5, tags = ["x", { y = true }] }, { id = 2 }]
    columns = { id = { at = "/id", type = "integer" }, name = "/name" }

    [resource.issue]
    path = "/repos/{repo.name}/issues"
    key = "/number"
    by_key = "/repos/{repo.name}/issues/{key}?full={repo.id}"
    each = { of = "repo" }
    since = { at = "/at", param = "since", path = "/repos/{repo.id}/changes", query = { r = "{repo.id}" } }
    columns = { number = { at = "/number", type = "integer" }, comments = { at = "/comments", type = "integer" }, url = "/url" }

    [resource.comment]
    path = "{issue.url}"
    method = "POST"
    query = { number = "{issue.number}", flat = true }
    body = { filter = { repo = "{repo.id}", texts = ["of {repo.name}", 1] } }
    where = { "/repo" = "{repo.id}", "/state" = { not = ["{issue.number}", "gone"] } }
    each = { of = "issue", changed = ["comments", "url"], whole_every = "never", empty = { comments = 0, url = { not = ["", 1.5] } }, none = [404, 410] }
    columns.id = "/id"

    [resource.detail]
    path = "/issues/{comment.id}"
    shape = "values"
    each = { of = "comment", changed = ["id"] }
    pages = { style = "record" }
    columns.name = "/name"

    """

  @Test("52: children are read, with the placeholders of their ancestors")
  func reads() throws {
    let resources = try workspace.load(Self.family).resources
    #expect(resources.map(\.name) == ["repo", "issue", "comment", "detail"])
    let (repo, issue, comment, detail) = (resources[0], resources[1], resources[2], resources[3])
    #expect(
      repo.inline == [
        .object([
          .init("id", .number("1")), .init("name", .text("a/b")), .init("stars", .number("1.5")),
          .init("tags", .list([.text("x"), .object([.init("y", .boolean(true))])])),
        ]), .object([.init("id", .number("2"))]),
      ])
    #expect(repo.path == "" && repo.each == nil)
    #expect(issue.each == Each(of: "repo") && issue.each?.wholeEvery == .inEachSync)
    #expect(
      comment.each
        == Each(
          of: "issue", changed: ["comments", "url"], wholeEvery: .never,
          empty: [
            .init("comments", .equal(.integer(0))), .init("url", .differs([.text(""), .real(1.5)])),
          ]))
    #expect(comment.answers.noRecords == .init(statuses: [404, 410]))
    #expect(comment.listing.pathColumn == ParentColumn("issue", "url"))
    #expect(detail.each?.wholeEvery == .every(.seconds(7 * 86_400)))
    #expect(detail.isDetail && !comment.isDetail)
    #expect(Set(issue.parentColumns.map(\.key)) == ["path", "by_key", "since.path", "since.query"])
    #expect(Set(comment.parentColumns.map(\.key)) == ["path", "query", "body", "where"])
  }

  @Test(
    "22: a list of a window is due by its age, and with ends_now also when the window ends", arguments: [false, true])
  func windows(endsNow: Bool) throws {
    let resources = try workspace.load(
      """
      [resource.month]
      windows = { from = "2023-01-01", every = "31d"\(endsNow ? ", ends_now = true" : "") }
      columns = { start = "/from", end = "/to" }

      [resource.report]
      path = "/report"
      query = { from = "{month.start}", to = "{month.end}" }
      each = { of = "month" }
      columns.id = "/id"

      """
    ).resources
    #expect(resources[0].windows?.endsNow == endsNow)
    #expect(resources[1].each?.changed == (endsNow ? ["end"] : []))
    #expect(resources[1].each?.wholeEvery == .every(Windows.usualWhole))
  }

  @Test("The output of check is read again, with each, inline and the record style")
  func roundTrip() throws {
    let read = try workspace.load(Self.family)
    let text = read.rendered()
    #expect(try workspace.load(text).resources == read.resources)
    #expect(try workspace.load(text).rendered() == text)
    #expect(text.contains("[resource.detail.each]\nof = \"comment\"\nchanged = [\"id\"]\nwhole_every = \"7d\"\n"))
    #expect(text.contains("[resource.detail.pages]\nstyle = \"record\"\n\n"))
    #expect(text.contains("inline = [{ id = 1, name = \"a/b\", "))
  }

  @Test("A list of tables and each other notation of the records are the same")
  func tables() throws {
    let columns = "[resource.x.columns]\nid = \"/id\"\n"
    let lists = "[[resource.x.inline]]\nid = \"a\"\n[[resource.x.inline]]\nid = \"b\"\n"
    let read = try workspace.load("[resource.x]\n\(columns)\(lists)").resources
    #expect(try workspace.load("[resource.x]\ninline = [{ id = \"a\" }, { id = \"b\" }]\n\(columns)").resources == read)
    #expect(try workspace.load("[resource.x]\ninline = []\n\(columns)").resources[0].inline == [])
  }

  @Test("A record style without each has a key as any resource")
  func oneRecord() throws {
    let text = "[resource.x]\npath = \"/x\"\npages = { style = \"record\" }\nkey = \"/a\"\ncolumns.a = \"/a\"\n"
    let read = try workspace.load(text).resources[0]
    #expect(!read.isDetail && read.key == JSONPointer("/a") && read.pages == .init(.record))
  }

  @Test("A condition on a text column that is never NULL, and a query beside an address, are warnings")
  func warnings() throws {
    let text = """
      [resource.a]
      path = "/a"
      columns = { id = "/id", n = { at = "/n", null = true } }
      [resource.b]
      path = "{a.id}"
      query = { q = "{a.n}" }
      each = { of = "a", empty = { id = "absent", n = "absent" } }
      columns.id = "/id"
      """
    #expect(
      try workspace.warnings(text) == [
        "resource.b.query is not sent, because path is an address",
        "resource.b.each.empty.id is always false: the column is never NULL; write \"\" or { not = \"\" }",
      ])
  }
}
