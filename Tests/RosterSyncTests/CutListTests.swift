import RosterCore
import Testing

/// Records whose lists have only their first elements.
@Suite struct CutListTests {
  private static func thing() -> Resource {
    var resource = Resource(
      name: "thing", path: "/things", records: at("data"), maxRemoval: 100, pages: .init(.one),
      columns: [.init("id", at: at("id"), .integer), .init("size", at: at("size"), .integer)])
    resource.lists = [.init(table: "lines", at: at("a", "data"), columns: [.init("line", at: at("id"), .integer)])]
    return resource
  }

  private static func answer(_ list: String, _ ids: some Sequence<Int> = 1...3) -> String {
    let records = ids.map { #"{"id":\#($0),"size":1,\#($0 == 2 ? list : #""a":{"data":[{"id":9}]}"#)}"# }
    return #"{"data":[\#(records.joined(separator: ","))]}"#
  }

  @Test(
    "5: a list in a record with further elements makes the state degraded, and everything that was sent is stored",
    arguments: [
      #""a":{"data":[{"id":1},{"id":2}],"has_more":true,"url":"/things/1/lines"}"#,
      #""a":{"hasMore":true,"data":[{"id":1},{"id":2}]}"#,
      #""a":{"data":[{"id":1},{"id":2}],"pageInfo":{"hasNextPage":true,"endCursor":"x"}}"#,
      #""a":{"done":false,"nextRecordsUrl":"/q/2","data":[{"id":1},{"id":2}]}"#,
      #""a":{"data":[{"id":1},{"id":2}],"paging":{"next":{"after":"2","link":"/x"}}}"#,
      #""a":{"data":[{"id":1},{"id":2}],"next":"/things/1/lines?page=2","previous":null}"#,
      #""a":{"data@odata.nextLink":"/x","data":[{"id":1},{"id":2}]}"#,
    ])
  func cut(list: String) async throws {
    let bench = try SyncBench(answers: ["/things": Self.answer(list)])
    for round in 0...2 {
      let record = try await bench.sync([Self.thing()], after: Double(60 * round))
      #expect(record.exit == 0 && record.isDegraded && record.rejected == 0, "\(record)")
      #expect(
        record.error
          == "1 record of thing has only the first elements of /a/data: a member beside the list shows that it goes on (the first is 2)"
      )
      #expect(record.trouble?.kind == .cutList)
    }
    #expect(try bench.ask("SELECT line FROM lines ORDER BY line") == ["1", "2", "9", "9"])
    // Records are removed as before, and the state is well once the list is whole.
    bench.serve(["/things": Self.answer(#""a":{"data":[{"id":1},{"id":2},{"id":3}],"has_more":false}"#, 2...3)])
    for round in 3...4 {
      #expect(try await bench.sync([Self.thing()], allowRemoval: true, after: Double(60 * round)).isDegraded == false)
    }
    #expect(try bench.ask("SELECT line FROM lines ORDER BY line") == ["1", "2", "3", "9"])
  }

  @Test(
    "5: other members beside a list say nothing about it",
    arguments: [
      #""a":{"data":[{"id":1}],"has_more":false,"total":9}"#, #""a":{"data":[{"id":1}],"done":false,"more":"x"}"#,
      #""a":{"data":[{"id":1}]},"has_more":true"#,
      #""a":{"data":[{"id":1}],"next":null,"next_cursor":"","paging":{"cursors":{"after":"x"}},"links":{"next":null}}"#,
      #""a":{"data":[{"id":1}]},"next":"/things?page=2","nextPageToken":"x""#,
    ])
  func whole(list: String) async throws {
    let bench = try SyncBench(answers: ["/things": Self.answer(list)])
    #expect(try await bench.sync([Self.thing()]).isDegraded == false)
  }

  @Test("5: of the members of a record itself, those with the name of its list say that it is cut")
  func cutInRecord() async throws {
    var resource = Self.thing()
    resource.lists[0].at = at("files")
    for sign in ["", #","files@odata.nextLink":"/x""#, #","files_truncated":true"#, #","truncated":true"#] {
      let bench = try SyncBench(answers: ["/things": #"{"data":[{"id":1,"files":[{"id":1}]\#(sign)}]}"#])
      #expect(try await bench.sync([resource]).isDegraded == sign.contains("files"), "\(sign)")
    }
  }

  @Test("5: a column for the sign accepts the first elements")
  func accepted() async throws {
    var resource = Self.thing()
    resource.columns.append(.init("more", at: at("a", "has_more"), .boolean))
    let bench = try SyncBench(answers: ["/things": Self.answer(#""a":{"data":[{"id":1}],"has_more":true}"#)])
    #expect(try await bench.sync([resource]).isDegraded == false)
  }

  @Test("5: if a member has another name in all records, the sync says that the column or list is empty now")
  func emptied() async throws {
    func things(_ size: String, _ list: String, _ ids: ClosedRange<Int>) -> String {
      let records = ids.map { #"{"id":\#($0),"\#(size)":1,"\#(list)":{"data":[{"id":9}]}}"# }
      return records.joined(separator: ",")
    }
    func answer(_ records: String...) -> [String: String] {
      ["/things": #"{"data":[\#(records.joined(separator: ","))]}"#]
    }
    let bench = try await SyncBench.synced([Self.thing()], answers: answer(things("size", "a", 1...40)))
    // A value that one record has is enough.
    bench.serve(answer(things("scale", "b", 1...39), things("size", "a", 40...40)))
    #expect(try await bench.sync([Self.thing()], after: 60).isDegraded == false)
    bench.serve(answer(things("size", "a", 1...40)))
    #expect(try await bench.sync([Self.thing()], after: 120).changed == 39)
    bench.serve(answer(things("scale", "b", 1...40)))
    let record = try await bench.sync([Self.thing()], after: 180)
    #expect(record.exit == 0 && record.changed == 40 && record.trouble?.kind == .emptied, "\(record)")
    #expect(
      record.error == """
        no record of thing has a value at /size any more, and 40 had one before this sync; \
        no record of thing has a value at /a/data any more, and 40 had one before this sync
        """)
    #expect(try await bench.sync([Self.thing()], after: 240).isDegraded == false)
    // Another definition is no change of upstream's.
    var other = Self.thing()
    other.columns[1].at = at("scale")
    #expect(try await bench.sync([other], after: 300).isDegraded == false)
    other.columns[1].at = at("nothing")
    #expect(try await bench.sync([other], after: 360).isDegraded == false)
  }
}
