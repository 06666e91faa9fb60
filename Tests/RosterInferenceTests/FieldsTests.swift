import RosterCore
import Testing

@testable import RosterDefinition

/// The columns for the fields of records.
@Suite struct FieldsTests {
  private func finding(_ records: [String]) throws -> InferredDefinition {
    let body = "[\(records.joined(separator: ","))]"
    return try Sample(name: "", url: "https://api.example/v1/things", body: body).finding()
  }

  private func types(_ finding: InferredDefinition) -> [String: Resource.ColumnType] {
    Dictionary(uniqueKeysWithValues: finding.resource.columns.map { ($0.name, $0.type) })
  }

  // MARK: Numbers

  @Test("A number is real if fewer than 20 records had it and its name says neither id, number nor count")
  func numbers() throws {
    let ids = #""user_id":7,"userId":7,"comment_count":3,"viewCount":3,"num_pages":1,"number":4"#
    let fields = #""price":5,"discount":2,\#(ids)"#
    let found = try finding((1...19).map { "{\"id\":\($0),\(fields)}" })
    let expected: [String: Resource.ColumnType] = [
      "id": .integer, "price": .real, "user_id": .integer, "comment_count": .integer, "view_count": .integer,
      "num_pages": .integer, "number": .integer, "discount": .real,
    ]
    #expect(types(found).filter { $0.key != "user_id_2" } == expected)
    #expect(found.notes.contains { $0.place == .columns && $0.text.hasSuffix("fractions: /price, /discount") })
    let many = try finding((1...20).map { "{\"id\":\($0),\(fields)}" })
    #expect(types(many)["price"] == .integer && types(many)["discount"] == .integer)
  }

  @Test("A number that only 19 of 40 records have is real; one fraction makes it real in any number of records")
  func rareNumbers() throws {
    let found = try finding(
      (1...40).map { "{\"id\":\($0),\"rare\":\($0 > 19 ? "null" : "1"),\"half\":\($0).\($0 % 2)}" })
    #expect(types(found) == ["id": .integer, "rare": .real, "half": .real])
  }

  @Test("A key of whole numbers is an integer, whatever it is called")
  func numberedKey() throws {
    let found = try finding([#"{"position":1,"n":1.5}"#, #"{"position":2,"n":2.5}"#])
    #expect(found.resource.key.description == "/position" && types(found)["position"] == .integer)
  }

  @Test("Whole numbers beyond 2^53 stay integers, because a real column would round them")
  func largeNumbers() throws {
    #expect(try types(finding([#"{"id":1,"serial":9007199254740993}"#]))["serial"] == .integer)
  }

  // MARK: Keys

  @Test(
    "The key is unique among the records: an id is preferred to a name, also in the metadata of Kubernetes",
    arguments: [(["web", "db"], "/metadata/uid"), (["web", "web"], "/metadata/uid")])
  func kubernetes(names: [String], key: String) throws {
    let found = try finding(
      names.enumerated().map { index, name in
        let labels = #""labels":{"l\#(index)":"x"}"#
        let own = #""name":"\#(name)","namespace":"n\#(index)","uid":"0b1e-\#(index)""#
        return #"{"metadata":{\#(own),\#(labels)},"spec":{"nodeName":"node"},"status":{"phase":"Running"}}"#
      })
    #expect(found.resource.key.description == key)
    #expect(types(found)["metadata_namespace"] == .text && types(found)["metadata_labels"] == .json)
  }

  @Test(
    "A field that can only be an id, or the record's own address, is preferred to a name",
    arguments: [
      (#""gid":"5@","name":"t@""#, "/gid"), (#""pk":1@,"name":"n@","x":1"#, "/pk"),
      (#""uid":"u@","name":"n@""#, "/uid"),
      (#""sid":"S@","name":"n@""#, "/sid"), (#""name":"n@","url":"https://a.example/@","x":1"#, "/url"),
      (#""name":"n@","url":"https://a.example/@""#, "/name"),
      (#""sys":{"id":"e@","type":"Entry"},"fields":{"title":"t@"}"#, "/sys/id"),
      (#""name":"n@","total":5.5,"_links":{"self":{"href":"/o/@"}}"#, "/_links/self/href"),
      (#""id":null,"total":5.5,"_links":{"self":{"href":"/o/@"}}"#, "/_links/self/href"),
      (#""code":"c@","links":{"self":"/o/@"}"#, "/code"),
    ])
  func idBeforeName(record: String, key: String) throws {
    let found = try finding((0...1).map { "{\(record.replacing("@", with: "\($0)"))}" })
    #expect(found.resource.key.description == key)
    #expect(
      found.resource.columns.contains { $0.at.segments.first?.hasSuffix("links") == true } == key.contains("_links"))
  }

  @Test("6: 0 and negative numbers are keys", arguments: ["0", "-7"])
  func anyInteger(lowest: String) throws {
    let found = try finding([#"{"id":\#(lowest),"name":"x"}"#, #"{"id":1,"name":"y"}"#])
    #expect(found.resource.key.description == "/id")
    #expect(found.unseen(.key).contains { $0.contains("unique beyond these 2 records") })
  }

  @Test("Metadata beside an id of the record, or without one, stay one column")
  func metadata() throws {
    let beside = try finding([#"{"metadata":{"id":5,"a":1},"id":1}"#, #"{"metadata":{"id":6,"a":1},"id":2}"#])
    #expect(beside.resource.key.description == "/id" && types(beside)["metadata"] == .json)
    let without = try finding([#"{"metadata":{"a":1},"name":"x"}"#, #"{"metadata":{"a":1},"name":"y"}"#])
    #expect(without.resource.key.description == "/name" && types(without)["metadata"] == .json)
  }

  @Test("A name that several records have is no key if another field is unique")
  func uniqueKey() throws {
    let found = try finding([#"{"name":"web","uid":"u1","code":"c"}"#, #"{"name":"db","uid":"u2","code":"d"}"#])
    #expect(found.resource.key.description == "/uid")
    let repeated = try finding([#"{"id":7,"uid":"u1","code":"c"}"#, #"{"id":7,"uid":"u1","code":"d"}"#])
    #expect(repeated.resource.key.description == "/code")
  }

  // MARK: Objects

  @Test("An object whose members differ from record to record becomes one json column")
  func differing() throws {
    let found = try finding([
      #"{"id":1,"labels":{"job":"node","rack":"a"},"owner":{"name":"x","mail":"y"}}"#,
      #"{"id":2,"labels":{"job":"db","shard":"7"},"owner":{"name":"x"}}"#,
      #"{"id":3,"labels":{"job":"app","team":"core"},"owner":{"name":"x","mail":"z"}}"#,
    ])
    #expect(found.resource.columns.map(\.name) == ["id", "labels", "owner_name", "owner_mail"])
    #expect(types(found)["labels"] == .json)
    #expect(found.toml.contains("its members differ from record to record"))
  }

  @Test(
    "Members differ if no record has all of them, or if fewer than half are in all records",
    arguments: [
      (["a", "a,b", "b"], true), (["a,b,c", "a,b,d"], true), (["a,b", "a,b,c"], false), (["a,b", "a,b"], false),
      (["a,b,c,d"], false), (["a", "a,b,c"], true),
    ])
  func members(objects: [String], areDiffering: Bool) throws {
    let records = objects.enumerated().map { index, names in
      let members = names.split(separator: ",").map { "\"\($0)\":\"x\"" }.joined(separator: ",")
      return "{\"id\":\(index + 1),\"o\":{\(members)}}"
    }
    #expect((types(try finding(records))["o"] == .json) == areDiffering)
  }

  @Test("An object inside a list's elements whose members differ becomes one json column of the list's table")
  func differingInList() throws {
    let found = try finding([
      #"{"id":1,"targets":[{"url":"a","labels":{"a":"1"}},{"url":"b","labels":{"b":"1"}},{"url":"c","labels":{}}]}"#
    ])
    #expect(found.resource.lists.map { $0.columns.map(\.name) } == [["url", "labels"]])
    #expect(found.resource.lists.first?.columns.last?.type == .json)
  }

  @Test("A column's name is the whole path of its value")
  func names() throws {
    let found = try finding([
      #"{"id":1,"title":{"rendered":"a"},"owner":{"login":"x"},"attributes":{"id":5,"size":"m","tags":["t"]}}"#
    ])
    let names = ["id", "title_rendered", "owner_login", "attributes_id", "attributes_size"]
    #expect(found.resource.columns.map(\.name) == names)
    #expect(found.resource.lists.map(\.table) == ["thing_tags"])
  }

  // MARK: where

  @Test(
    "where is proposed for an object that at most a tenth of the records have",
    arguments: [(1, 10, true), (2, 20, true), (2, 19, false), (10, 20, false), (19, 20, false)])
  func condition(having: Int, of records: Int, isProposed: Bool) throws {
    let found = try finding(
      (1...records).map { "{\"id\":\($0)\($0 > having ? "" : ",\"pull\":{\"url\":\"https://a.example/\"}")}" })
    #expect(found.notes.contains { $0.place == .condition } == isProposed)
  }
}
