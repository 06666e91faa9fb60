import RosterCore
import Testing

@testable import RosterDefinition

@Suite struct KeyChoiceTests {
  @Test(
    "55: two or three fields are the key if no single one is unique, also fields inside objects",
    arguments: [
      (#"[{"name":"a.","type":"A"},{"name":"a.","type":"MX"},{"name":"b.","type":"A"}]"#, ["/name", "/type"]),
      (
        #"[{"a":"x","b":"y","c":"1"},{"a":"x","b":"z","c":"1"},{"a":"w","b":"y","c":"1"},{"a":"x","b":"y","c":"2"}]"#,
        ["/a", "/b", "/c"]
      ),
      (
        #"[{"role":{"id":"r1"},"scope":{"project":{"id":"p1"}}},{"role":{"id":"r1"},"scope":{"project":{"id":"p2"}}},"#
          + #"{"role":{"id":"r2"},"scope":{"project":{"id":"p1"}}}]"#, ["/role/id", "/scope/project/id"]
      ),
      (#"[{"kind":"a","ref":{"box":{"id":1}}},{"kind":"a","ref":{"box":{"id":2}}}]"#, ["/ref/box/id"]),
      (#"[{"id":1,"name":"a"},{"id":2,"name":"a"}]"#, ["/id"]),
      (#"[{"name":"a"},{"name":"a"}]"#, ["/name"]),
      (#"[{"qty":1,"id":1.0},{"qty":2,"id":2.0}]"#, ["/id"]), (#"[{"qty":1,"id":7.00},{"qty":2,"id":8}]"#, ["/id"]),
      (#"[{"qty":1,"id":1.5},{"qty":2,"id":2.0}]"#, ["/qty"]),
      (#"[{"ref":{"id":1.0},"kind":"a"},{"ref":{"id":2.0},"kind":"a"}]"#, ["/ref/id"]),
    ])
  func key(records: String, key: [String]) throws {
    let found = try Inference.finding(try ListAnswer(Array(records.utf8)))
    #expect(found.resource.keyPlaces.map(\.description) == key)
    #expect(found.resource.keyColumns?.count == key.count)
    let columns = found.resource.columns.map(\.at.description)
    #expect(Set(columns).count == columns.count)
  }

  @Test("55: a composite key is written as a list, which a configuration reads")
  func toml() throws {
    let found = try Inference.finding(
      try ListAnswer(Array(#"[{"name":"a.","type":"A"},{"name":"a.","type":"MX"}]"#.utf8)))
    // `type` alone is unique here.
    #expect(found.toml.contains("key = \"/type\""))
    let pair = try Inference.finding(
      try ListAnswer(
        Array(#"[{"name":"a.","type":"A"},{"name":"a.","type":"MX"},{"name":"b.","type":"A"}]"#.utf8)))
    #expect(pair.toml.contains("key = [\"/name\", \"/type\"]"))
  }
}

@Suite struct DraftTrialTests {
  @Test("55: a part that a sync refuses becomes a comment; the rest stays")
  func parts() throws {
    let body = #"{"data":[{"id":1,"size":1,"name":"a"},{"id":2,"size":2,"name":"b"}],"total":5,"next":"/x?page=2"}"#
    let found = try Inference.finding(try ListAnswer(Array(body.utf8)))
    #expect(found.resource.pages.count != nil)
    let without = found.withoutRefusedParts { resource in
      if resource.pages.count != nil { return DraftFault(reason: "the total is odd") }
      let hasSize = resource.columns.contains { $0.name == "size" }
      return hasSize ? DraftFault(rejects: 2, reason: "/size is odd") : nil
    }
    #expect(without.resource.pages.count == nil && without.resource.columns.map(\.name) == ["id", "name"])
    #expect(without.toml.contains("# count = \"/total\""))
    #expect(without.toml.contains("the total is odd") && without.toml.contains("/size is odd"))
  }

  @Test("55: an answer that a sync refuses for another reason is noted, and the draft stays")
  func whole() throws {
    let found = try Inference.finding(try ListAnswer(Array(#"[{"id":1}]"#.utf8)))
    let noted = found.withoutRefusedParts { _ in DraftFault(reason: "it is too deep") }
    #expect(noted.resource == found.resource && noted.toml.contains("a sync refuses this answer: it is too deep"))
    #expect(found.withoutRefusedParts { _ in nil } == found)
  }
}
