import FoundationEssentials
import RosterCore
import RosterFetch
import Synchronization
import Testing

/// Incremental pulls of upstreams that write times in other notations, and that filter by the text of a time.
struct TimeNotationTests {
  private static func thing() -> Resource {
    var resource = Resource(
      name: "thing", path: "/things", records: at("data"), table: "things", removal: .never, pages: .init(.one),
      columns: [.init("id", at: at("id"), .integer), .init("v", at: at("v"), .integer)])
    resource.since = Since(at: at("at"), param: .query("since"), listing: resource.listing)
    return resource
  }

  private static func serve(_ records: [(id: Int, at: String, v: Int)], in bench: SyncBench) {
    bench.shelf.answer { _, target in
      let start = target.split(separator: "=").dropFirst().first.map {
        String(decoding: $0.utf8.percentDecoded(), as: UTF8.self)
      }
      let list = records.filter { $0.at >= start ?? "" }.map { #"{"id":\#($0.id),"at":"\#($0.at)","v":\#($0.v)}"# }
      return Response(json: #"{"data":[\#(list.joined(separator: ","))]}"#, headers: [Shelf.date])
    }
  }

  @Test(
    "21: the start is written as the records have it: with slashes, and with a zone after a space",
    arguments: [
      ("2025/05/01 1", ":00:00 +0000", "2025%2F05%2F01%2013%3A55%3A00%20%2B0000"),
      ("2025-05-01 1", ":00:00 UTC", "2025-05-01%2013%3A55%3A00%20UTC"),
      ("2025-05-01T1", ":00:00.250 GMT", "2025-05-01T13%3A55%3A00.250%20GMT"),
      ("2025-05-01 1", ":00 Z", "2025-05-01%2013%3A55%20Z"),
    ])
  func notations(day: String, rest: String, start: String) async throws {
    let bench = try SyncBench([:])
    var records = (0...4).map { (id: $0, at: "\(day)\($0)\(rest)", v: 0) }
    Self.serve(records, in: bench)
    #expect(try await bench.sync([Self.thing()]).added == 5)
    records[2] = (2, "\(day)5\(rest)", 1)
    records.append((5, "\(day)4\(rest)", 0))
    Self.serve(records, in: bench)
    _ = bench.asked()
    let record = try await bench.sync([Self.thing()], after: 60)
    #expect((record.added, record.changed) == (1, 1))
    #expect(bench.asked() == ["/things?since=\(start)"])
  }

  @Test(
    "21: a time of another form is refused, and the sentence names its form",
    arguments: [("/Date(1)/", "dotnet"), ("Mon, 23 Nov 2026 09:00:00 +0000", "http"), ("20261123", "compact")])
  func forms(text: String, form: String) async throws {
    let bench = try SyncBench([:])
    Self.serve([(1, text, 0)], in: bench)
    let record = try await bench.sync([Self.thing()])
    #expect(record.exit == 65 && record.error?.contains(#"set form = "\#(form)" in since"#) == true)
  }
}
