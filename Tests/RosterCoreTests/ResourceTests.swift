import RosterCore
import Testing

@Suite struct ResourceTests {
  @Test("The built-in resource is the documented one: columns in their order, one list, search, pages and by_key")
  func character() {
    let resource = Resource.character
    #expect(
      resource.columns.map(\.name) == [
        "id", "name", "status", "species", "type", "gender", "origin_name", "origin_url", "location_name",
        "location_url", "image", "url", "created",
      ])
    #expect(resource.columns.map(\.type) == [.integer] + Array(repeating: .text, count: 12))
    #expect(resource.table == "characters")
    #expect(resource.search == ["name", "species", "type", "origin_name", "location_name"])
    #expect(resource.lists.map(\.table) == ["character_episodes"])
    #expect(resource.lists.map(\.hasExtra) == [false])
    #expect(resource.byKey == "/character/{keys}")
    #expect(resource.removal == .ask)
    #expect(resource.records.description == "/results")
    #expect(resource.pages.count?.description == "/info/count")
    #expect(resource.pages.style == .number(param: .query("page"), first: 1, last: .init("/info/pages")))
  }

  @Test("A definition with only the required keys has the documented defaults")
  func defaults() {
    let resource = Resource(name: "issue", path: "/issues", columns: [])
    #expect(resource.table == "issue")
    #expect(resource.key == JSONPointer("/id"))
    #expect(resource.removal == .twice)
    #expect(resource.method == .get)
    #expect(resource.pages == Resource.Pages(.number(param: .query("page"), first: 1, last: nil)))
    #expect(resource.keyColumn == nil)
  }
}
