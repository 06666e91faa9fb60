import FoundationEssentials
import RosterCore
import RosterDecode
import RosterFetch
import Testing

@testable import RosterSync

@Suite struct PulledListTests {
  private func plan(_ name: String, records: String, style: Resource.Style) throws -> RecordPlan {
    var resource = Resource.character
    resource.name = name
    resource.records = try #require(JSONPointer(records))
    resource.pages = Resource.Pages(style)
    return try RecordPlan(resource)
  }

  private func lists(_ places: [String], style: Resource.Style) throws -> [[String]] {
    let plans = try places.enumerated().map { try plan("r\($0)", records: $1, style: style) }
    return PulledList.lists(of: plans, baseURL: "http://up", at: Date(timeIntervalSince1970: 0)).map(\.resources)
  }

  @Test("9: resources with the same address share its requests; with several pages only if the list is the same")
  func shared() throws {
    let number = Resource.Style.number(param: .query("page"), first: 1, last: nil)
    #expect(try lists(["/a", "/a"], style: number) == [["r0", "r1"]])
    #expect(try lists(["/a", "/b"], style: number) == [["r0"], ["r1"]])
    #expect(try lists(["/a", "/b", "/a"], style: .one) == [["r0", "r1", "r2"]])
  }

  @Test("9: queries and paths that differ only in Unicode normalization are different addresses")
  func normalized() throws {
    func lists(_ change: (inout Resource, String) -> Void) throws -> [[String]] {
      let plans = try ["caf\u{e9}", "cafe\u{301}"].enumerated().map { index, text in
        var resource = Resource.character
        resource.name = "r\(index)"
        change(&resource, text)
        return try RecordPlan(resource)
      }
      return PulledList.lists(of: plans, baseURL: "http://up", at: Date(timeIntervalSince1970: 0)).map(\.resources)
    }
    #expect(try lists { _, _ in } == [["r0", "r1"]])
    #expect(try lists { $0.query = [.init("q", .text($1))] } == [["r0"], ["r1"]])
    #expect(try lists { $0.path = "/\($1)" } == [["r0"], ["r1"]])
    #expect(try lists { $0.pages = .init(.number(param: .query($1))) } == [["r0"], ["r1"]])
  }

  @Test("52: the day in a request is that of the start of the sync")
  func today() throws {
    var resource = Resource.character
    resource.query = [.init("day", .text("{today-1d:date}"))]
    let list = try PulledList.lists(
      of: [RecordPlan(resource)], baseURL: "http://up", at: Date(timeIntervalSince1970: 1_795_485_975))
    #expect(list.map { $0.paging.first().address } == ["/character?day=2026-11-23&page=1"])
  }
}
