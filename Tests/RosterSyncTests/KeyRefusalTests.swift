import RosterCore
import Synchronization
import Testing

@testable import RosterSync

/// Answers of `by_key` to questions for several keys, of which upstream has some.
struct KeyRefusalTests {
  enum Upstream: CaseIterable {
    /// 404 if it lacks one of the keys.
    case refusesAny
    /// 404 if it lacks all of them.
    case refusesAll
    /// A list with null for each key that it lacks.
    case nulls
    /// 414 for more than 20 keys.
    case takesTwenty
  }

  @Test(
    "13: a refusal of several keys, or null for one of them, removes only what upstream lacks",
    arguments: Upstream.allCases)
  func several(upstream: Upstream) async throws {
    let bench = try SyncBench([:])
    let listed = Mutex(Array(1...70))
    bench.shelf.answer { _, target in
      guard target.hasPrefix("/ask/") else {
        return Response(json: Self.list(listed.withLock(\.self).map(Optional.some)), headers: [Shelf.date])
      }
      let keys = target.dropFirst(5).split(separator: ",").compactMap { Int($0) }
      let found = keys.map { $0 == 65 ? nil : $0 }
      let isRefused =
        switch upstream {
        case .refusesAny: found.contains(nil)
        case .refusesAll, .nulls: found.allSatisfy { $0 == nil }
        case .takesTwenty: keys.count > 20
        }
      if isRefused { return Response(status: upstream == .takesTwenty ? 414 : 404) }
      if keys.count == 1 { return Response(json: "{\"id\":\(keys[0])}") }
      return Response(json: Self.list(upstream == .nulls ? found : found.filter { $0 != nil }))
    }
    #expect(try await bench.sync([Self.item]).added == 70)
    listed.withLock { $0 = Array(1...10) }
    _ = bench.asked()
    let record = try await bench.sync([Self.item], after: 60)
    #expect(record.removed == 1 && record.exit == 0 && !record.isDegraded, "\(record)")
    #expect(try bench.ask("SELECT id FROM items WHERE id > 60 ORDER BY id").count == 9)
    // 60 keys are two questions. A refusal is followed by halves, which are fewer than all keys.
    #expect(bench.asked().count < 20)
  }

  @Test(
    "13: a record that by_key calls deleted is removed, unless the definition has that member",
    arguments: [#""deleted":true"#, #""is_deleted":true"#, #""isDeleted":true"#, #""deleted":false"#])
  func deleted(member: String) async throws {
    for (isColumn, isList) in [(false, false), (true, false), (false, true)] {
      let bench = try SyncBench([:])
      let listed = Mutex(Array(1...70))
      bench.shelf.answer { _, target in
        // The first listed record is deleted too, and is the one of the control question.
        if target.hasPrefix("/ask/") {
          let record = #"{"id":\#(target.filter(\.isNumber)),\#(member)}"#
          return Response(json: isList ? "[\(record)]" : record)
        }
        return Response(json: Self.list(listed.withLock(\.self).map(Optional.some)), headers: [Shelf.date])
      }
      var item = Self.item
      item.byKey = isList ? "/ask/?id={key}" : "/ask/{key}"
      if isColumn {
        let name = String(member.prefix { $0 != ":" }.filter { $0 != "\"" })
        item.columns.append(.init("deleted", at: at(name), .boolean, isNullable: true))
      }
      #expect(try await bench.sync([item]).added == 70)
      listed.withLock { $0 = Array(1...68) }
      let record = try await bench.sync([item], after: 60)
      #expect(record.exit == 0 && !record.isDegraded, "\(record)")
      #expect(record.removed == (isColumn || member.hasSuffix("false") ? 0 : 2), "\(record)")
    }
  }

  @Test("13: after some refusals of single keys no further key is asked for")
  func refusedAlways() async throws {
    let bench = try SyncBench([:])
    let listed = Mutex(Array(1...200))
    bench.shelf.answer { _, target in
      if target.hasPrefix("/ask/") { return Response(status: 400) }
      return Response(json: Self.list(listed.withLock(\.self).map(Optional.some)), headers: [Shelf.date])
    }
    #expect(try await bench.sync([Self.item]).added == 200)
    listed.withLock { $0 = [1] }
    _ = bench.asked()
    let record = try await bench.sync([Self.item], after: 60)
    #expect(record.removed == 0 && record.isDegraded, "\(record)")
    #expect(bench.asked().count < 60)
  }

  @Test("13: an answer with records that were not asked for says nothing about the others", arguments: [2, 60])
  func ignoredKeys(missing: Int) async throws {
    let bench = try SyncBench([:])
    let listed = Mutex(Array(1...70))
    bench.shelf.answer { _, _ in
      Response(json: Self.list(listed.withLock(\.self).map(Optional.some)), headers: [Shelf.date])
    }
    #expect(try await bench.sync([Self.item]).added == 70)
    for left in [70 - missing, 3] {
      listed.withLock { $0 = Array(1...left) }
      let record = try await bench.sync([Self.item], after: 60)
      #expect(record.removed == 0 && record.isDegraded, "\(record)")
      #expect(record.error?.contains("upstream ignores the keys in it") == true, "\(record)")
    }
    #expect(try bench.ask("SELECT count(*) FROM items") == ["70"])
  }

  private static var item: Resource {
    var resource = Resource(
      name: "item", path: "/items", table: "items", pages: .init(.one), columns: [.init("id", at: at("id"), .integer)])
    (resource.removal, resource.byKey, resource.maxRemoval) = (.ask, "/ask/{keys}", 100)
    return resource
  }

  private static func list(_ ids: [Int?]) -> String {
    "[\(ids.map { $0.map { "{\"id\":\($0)}" } ?? "null" }.joined(separator: ","))]"
  }
}
