import RosterCore
import Testing

@Suite struct ParentValuesTests {
  @Test("A column of an ancestor is found by its name; NULL and unknown columns have no value")
  func values() {
    let (number, title) = (ParentColumn("issue", "number"), ParentColumn("issue", "title"))
    let values = ParentValues([.init(number, .integer(5)), .init(title, nil)])
    #expect(values[number] == .integer(5) && values[title] == nil && values[ParentColumn("x", "number")] == nil)
    #expect(ParentColumn(name: "issue.number") == number && number.name == "issue.number")
    for odd in ["issue", "Issue.x", "issue.1", "key.x", "issue.a.b", ""] { #expect(ParentColumn(name: odd) == nil) }
  }

  @Test("52: placeholders are filled once, and other braces are literal")
  func filling() {
    let text = "{a.x}{today}{key.x} {a.x.y} {b.y}"
    #expect(ParentColumn.filling(text) { "<{b.y}\($0.name)>" } == "<{b.y}a.x>{today}{key.x} {a.x.y} <{b.y}b.y>")
    #expect(ParentColumn.filling("none") { _ in "x" } == "none")
    for odd in ["{a.x", "a.x}", "{{a.1}", "}{", "{A.x}", "{a}", "{.x}", "{a.}", "{a.x.y}", "{1a.x}", "{a.x-}", ""] {
      #expect(ParentColumn.filling(odd) { _ in "!" } == odd && ParentColumn.all(in: odd).isEmpty)
    }
    #expect(ParentColumn.filling("{{a.X_1}}é{b2.y}") { $0.name } == "{a.X_1}éb2.y")
    let name = String(repeating: "a", count: 40)
    #expect(ParentColumn(whole: "{\(name).x}") != nil && ParentColumn(whole: "{a\(name).x}") == nil)
  }

  @Test(
    "22: a list is empty if all conditions on columns of its parent are true",
    arguments: [
      ([("n", .equal(.integer(0)))], true), ([("n", .equal(.real(0)))], true), ([("n", .equal(.text("0")))], false),
      ([("n", .equal(.boolean(false)))], true), ([("r", .equal(.integer(2)))], true),
      ([("r", .equal(.real(2.5)))], false),
      ([("t", .equal(.text("x")))], true), ([("t", .absent)], false), ([("none", .absent)], true),
      ([("none", .present)], false), ([("t", .present)], true), ([("none", .equal(.text("")))], false),
      ([("none", .differs([.text("x")]))], true), ([("t", .differs([.text("x")]))], false),
      ([("t", .differs([.text("y"), .integer(1)]))], true), ([("n", .equal(.integer(0))), ("t", .present)], true),
      ([("n", .equal(.integer(0))), ("t", .absent)], false), ([], false),
      ([("a", .equal(.text("e\u{301}")))], false), ([("a", .equal(.text("\u{e9}")))], true),
      ([("a", .differs([.text("e\u{301}")]))], true),
    ] as [([(String, Resource.Condition.Test)], Bool)])
  func empty(conditions: [(String, Resource.Condition.Test)], isEmpty: Bool) {
    let each = Each(of: "page", empty: conditions.map { Each.ParentCondition($0.0, $0.1) })
    let values = ParentValues([
      .init(ParentColumn("page", "n"), .integer(0)), .init(ParentColumn("page", "t"), .text("x")),
      .init(ParentColumn("page", "r"), .real(2)), .init(ParentColumn("page", "none"), nil),
      .init(ParentColumn("other", "n"), .integer(1)), .init(ParentColumn("page", "a"), .text("\u{e9}")),
    ])
    #expect(each.isEmpty(by: values) == isEmpty)
  }
}
