import FoundationEssentials
import Testing

@testable import RosterCore

/// Times without a zone, of places where the clock is put forward and back.
@Suite struct LocalZoneTests {
  /// Europe/Berlin in 2026 and 2027.
  private static let berlin = LocalZone(
    name: "Europe/Berlin", firstOffset: 3600,
    changes: [
      .init(at: 1_774_746_000, offset: 7200), .init(at: 1_792_890_000, offset: 3600),
      .init(at: 1_806_195_600, offset: 7200),
    ])

  private static func since(_ value: String = "{since}") -> Since {
    Since(
      at: JSONPointer(segments: ["at"]), param: .query("since"), value: value, zone: berlin,
      overlap: .time(.seconds(60)),
      listing: Resource.character.listing)
  }

  @Test(
    "21: a local time is read by the offset of its date, and the earlier one of two",
    arguments: [
      ("2026-07-01T12:00:00", "2026-07-01T10:00:00Z"), ("2026-12-01T12:00:00", "2026-12-01T11:00:00Z"),
      ("2026-10-25T02:30:00", "2026-10-25T00:30:00Z"), ("2026-10-25T03:00:00", "2026-10-25T02:00:00Z"),
      ("2027-03-28T02:30:00", "2027-03-28T01:30:00Z"), ("2027-03-28T03:00:00", "2027-03-28T01:00:00Z"),
    ])
  func reads(local: String, time: String) throws {
    #expect(Self.since().mark(local)?.value == Mark(time, form: .rfc3339)?.value)
  }

  @Test(
    "21: a start is no local time that the clock skips, and none that is above a later one",
    arguments: [
      ("2026-07-01T12:01:00", "2026-07-01T12:00:00"), ("2026-10-25T02:46:00", "2026-10-25T02:00:00"),
      ("2026-10-25T03:10:00", "2026-10-25T03:09:00"), ("2027-03-28T03:00:30", "2027-03-28T01:59:30"),
      ("2027-03-28T03:01:30", "2027-03-28T03:00:30"),
    ])
  func starts(mark: String, start: String) throws {
    let mark = try #require(Self.since().mark(mark))
    #expect(Self.since().rendered(from: mark) == .text(start))
  }

  @Test("21: with a named zone {since:unix} and the bound of the mark are exact")
  func exact() throws {
    let mark = try #require(Self.since().mark("2026-07-01T12:01:00"))
    #expect(Self.since("{since:rfc3339}").rendered(from: mark) == .text("2026-07-01T10:00:00Z"))
    var pull = PullExtent()
    pull.add(records: 1, highest: mark, answered: Date(timeIntervalSince1970: 1_782_900_000))
    #expect(
      Self.since().move(of: nil, after: pull, isWhole: true, path: "/x")
        == .moves(Mark(1_782_900_000_000_000_000, like: "2026-07-01T12:01:00", form: .rfc3339, zone: Self.berlin)))
  }

  @Test("21: files of the time zone database are read, years after their last change included")
  func files() throws {
    let path = "/usr/share/zoneinfo/Europe/Berlin"
    guard let file = try? Data(contentsOf: URL(filePath: path)) else { return }
    let zone = try #require(LocalZone(name: "Europe/Berlin", file: Array(file)))
    for change in [1_774_746_000, 1_792_890_000, 1_806_195_600] as [Int64] {
      for time in [change - 1, change] { #expect(zone.offset(at: time) == Self.berlin.offset(at: time)) }
    }
    // 2050-07-01 and 2050-12-01.
    #expect(zone.offset(at: 2_540_246_400) == 7200 && zone.offset(at: 2_553_465_600) == 3600)
    for length in [0, 3, 44, 100, file.count / 2] {
      #expect(LocalZone(name: "x", file: Array(file.prefix(length))) == nil)
    }
    #expect(LocalZone(name: "x", file: Array("root:x:0:0".utf8)) == nil)
  }
}
