import RosterCore
import Testing

@testable import RosterCache

private func at(_ pointer: String) -> JSONPointer { JSONPointer(pointer) ?? JSONPointer() }

private func child(_ each: Each?, _ style: Resource.Style = .one) -> Resource {
  Resource(
    name: "block", path: "/pages/{page.id}", conditions: [.init(at("/p"), .equal(.text("{page.id}")))],
    pages: .init(style), columns: [.init("name", at: at("/name"))], each: each)
}

/// The JSON of children in `resources.definition`.
@Suite struct ChildDefinitionTests {
  private let full = Each(
    of: "page", changed: ["a", "b"], wholeEvery: .every(.seconds(90)),
    empty: [.init("n", .equal(.integer(0))), .init("t", .differs([.text("x"), .real(1.5)])), .init("u", .absent)])

  @Test(
    "56: another changed, empty, none or whole_every makes no other records, and another each.of, style, shape or inline does"
  )
  func feed() {
    let first = child(full)
    func keeps(_ change: (inout Resource) -> Void) -> Bool {
      var other = first
      change(&other)
      return other.isLike(first.definition)
    }
    #expect(keeps { $0.each?.changed = [] } && keeps { $0.each?.wholeEvery = .never })
    #expect(keeps { $0.each?.wholeEvery = .inEachSync } && keeps { $0.each?.empty = [] })
    #expect(keeps { $0.answers.noRecords.statuses = [404] })
    #expect(!keeps { $0.each?.parent = "other" } && !keeps { $0.each = nil } && !keeps { $0.shape = .map })
    #expect(!keeps { $0.pages = .init(.record) } && !keeps { $0.inline = [] })
    #expect(first.listed != child(Each(of: "other")).listed)
    var file = first
    (file.each, file.inline) = (nil, [.object([.init("id", .number("1"))])])
    #expect(file.definition.contains(#""inline":[{"id":1}]"#))
  }

  @Test("A definition from the cache has the parent, its conditions, and the record style")
  func readBack() throws {
    for each in [
      full, Each(of: "page"), Each(of: "page", changed: ["a"], wholeEvery: .never), Each(of: "page", changed: ["a"]),
    ] {
      let detail = child(each, .record)
      let read = try #require(Resource(name: "block", pulledBy: detail.definition))
      #expect(read.each == each && read.isDetail && read.conditions == detail.conditions)
    }
    var keyed = child(full)
    keyed.key = at("/name")
    let read = try #require(Resource(name: "block", pulledBy: keyed.definition))
    #expect(read.each == full && !read.isDetail && read.key == at("/name"))
    #expect(Resource(name: "block", pulledBy: child(full).definition) == nil)
  }
}
