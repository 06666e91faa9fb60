import FoundationEssentials
import RosterFetch
import Synchronization
import Testing

@testable import RosterCore

/// Incremental pulls of an upstream whose times have no zone, over a change of its clocks.
struct LocalTimeTests {
  /// Europe/Berlin in 2026 and 2027.
  private static let berlin = LocalZone(
    name: "Europe/Berlin", firstOffset: 3600,
    changes: [
      .init(at: 1_774_746_000, offset: 7200), .init(at: 1_792_890_000, offset: 3600),
      .init(at: 1_806_195_600, offset: 7200),
    ])

  /// A time of Berlin, as upstream writes it.
  private static func local(_ time: Int) -> String {
    String(Date(timeIntervalSince1970: Double(time + berlin.offset(at: Int64(time)))).rfc3339.prefix(19))
  }

  private static func thing(_ zone: LocalZone?) -> Resource {
    var resource = Resource(
      name: "thing", path: "/things", records: at("data"), table: "things", removal: .never, pages: .init(.one),
      columns: [.init("id", at: at("id"), .integer), .init("v", at: at("v"), .integer)])
    resource.since = Since(at: at("at"), param: .query("since"), zone: zone, listing: resource.listing)
    return resource
  }

  @Test(
    "21: no change is lost, and none blocks a sync, when the clocks of upstream are changed",
    arguments: [1_792_890_000, 1_806_195_600, 1_798_000_000], [berlin, nil, 7200, 3600])
  func change(ofClocks change: Int, zone: LocalZone?) async throws {
    let records = Mutex<[Int: (time: Int, v: Int)]>([:])
    let now = Mutex(change - 86_400)
    let bench = try SyncBench([:])
    bench.shelf.answer { _, target in
      let start = target.split(separator: "=").dropFirst().first?.replacing("%3A", with: ":")
      // In spring an hour does not exist.
      if change == 1_806_195_600, let start, start >= "2027-03-28T02:00:00", start < "2027-03-28T03:00:00" {
        return Response(status: 400)
      }
      let list = records.withLock { records in
        records.filter { Self.local($0.value.time) >= start ?? "" }.map {
          #"{"id":\#($0.key),"v":\#($0.value.v),"at":"\#(Self.local($0.value.time))"}"#
        }
      }
      let date = Date(timeIntervalSince1970: Double(now.withLock(\.self)))
      return Response(json: #"{"data":[\#(list.joined(separator: ","))]}"#, headers: [.init("Date", date.httpDate)])
    }
    let resource = Self.thing(zone)
    records.withLock { $0 = [1: (change - 90_000, 0), 2: (change - 90_000, 0)] }
    _ = try await bench.sync([resource])
    // A change every 20 minutes, from three hours before to three hours after.
    for step in -9...9 {
      let time = change + step * 1200
      records.withLock { $0[step % 3] = (time, step) }
      now.withLock { $0 = time + 60 }
      let record = try await bench.sync([resource], after: Double(86_400 + step * 1200))
      #expect(record.error == nil, "step \(step): \(record)")
      let rows = try bench.ask("SELECT id || ' ' || v FROM things ORDER BY id")
      #expect(rows == records.withLock { $0.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.v)" } }, "\(step)")
    }
  }
}
