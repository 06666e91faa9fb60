import RosterCore
import RosterDecode
import Testing

@Suite struct RecordPlanTests {
  @Test(
    "The three resources of the Rick and Morty API are compiled", arguments: [Resource.character, .location, .episode])
  func builtIn(resource: Resource) throws {
    let plan = try RecordPlan(resource)
    #expect(plan.keyColumn == 0)
    #expect(!plan.hasTextKeys)
  }

  @Test("A location and an episode fill their tables")
  func others() throws {
    let location =
      #"{"id":20,"name":"Earth","type":"Planet","dimension":"D","residents":["a","b"],"url":"u","created":"c"}"#
    let episode =
      #"{"id":1,"name":"Pilot","air_date":"2013","episode":"S01E01","characters":["a"],"url":"u","created":"c"}"#
    let page = { (record: String) in #"{"info":{"count":1,"pages":1},"results":[\#(record)]}"# }
    let first = try #require(try Decoded.page(page(location), resource: .location).decoded.records.first)
    #expect(first.columns == ["20", "Earth", "Planet", "D", "u", "c"])
    #expect(first.extra == nil)
    #expect(first.lists.map { $0.map(\.columns) } == [[["a"], ["b"]]])
    let second = try #require(try Decoded.page(page(episode), resource: .episode).decoded.records.first)
    #expect(second.columns == ["1", "Pilot", "2013", "S01E01", "u", "c"])
    #expect(second.extra == nil)
  }

  @Test("A definition that cannot be compiled is a defect")
  func defects() {
    let deep = JSONPointer(segments: Array(repeating: "a", count: 128))
    let text = Resource.Column("t", at: at("/t"))
    for wrong in [
      resource([]), resource([text]), resource([Resource.Column("id", at: at("/id"), .json)]),
      resource([idColumn, Resource.Column("d", at: deep)]), resource([idColumn], where: [.init(deep, .absent)]),
      resource([idColumn], lists: [Resource.List(table: "l", at: at("/l"), columns: [])]),
      resource([idColumn], lists: ["l", "m"].map { Resource.List(table: $0, at: at("/l"), columns: [idColumn]) }),
    ] {
      let failure = #expect(throws: Failure.self) { try RecordPlan(wrong) }
      #expect(failure?.kind == .defect)
    }
  }

  @Test("A place at the maximum depth of a record is compiled and found")
  func deepest() throws {
    let deep = resource([idColumn, Resource.Column("d", at: JSONPointer(segments: Array(repeating: "a", count: 127)))])
    let record =
      #"{"id":1,"a":"# + String(repeating: #"{"a":"#, count: 126) + #""x""# + String(repeating: "}", count: 127)
    #expect(try Decoded.page("[\(record)]", resource: deep).decoded.records.first?.columns == ["1", "x"])
  }
}
