import FoundationEssentials
import RosterCore
import RosterDecode
import Testing

@testable import RosterCache
@testable import RosterSync

private func page(_ number: Int) -> PageBody {
  PageBody(
    resource: "a", number: number, address: "/\(number)", receivedAt: .distantPast, body: [1, 2, 3], digest: 0,
    scan: PageScan())
}

@Suite struct StageQueueTests {
  @Test("40: pages are stored at sixteen pages, after the first one has waited 10 ms, or if no page is to follow")
  func due() {
    var queue = StageQueue()
    #expect(queue.next(at: .zero, isLast: true) == nil)
    queue.add([page(1)], at: .zero)
    #expect(queue.next(at: .milliseconds(9), isLast: false) == nil)
    #expect(queue.due(at: .milliseconds(4)) == .milliseconds(6))
    #expect(queue.next(at: .milliseconds(10), isLast: false)?.received.count == 1)
    queue.written()
    for number in 1...16 { queue.add([page(number)], at: .zero) }
    #expect(queue.next(at: .zero, isLast: false)?.bytes == 48)
    queue.written()
    queue.add([page(1)], at: .zero)
    #expect(queue.next(at: .zero, isLast: true)?.received.count == 1)
  }

  @Test("One batch at a time is written, and pages that arrive meanwhile form the next one")
  func one() {
    var queue = StageQueue()
    queue.add([page(1)], at: .zero)
    #expect(queue.next(at: .zero, isLast: true) != nil)
    queue.add([page(2)], at: .zero)
    #expect(queue.next(at: .seconds(1), isLast: true) == nil)
    #expect(queue.due(at: .seconds(1)) == nil)
    #expect(!queue.isEmpty)
    queue.written()
    #expect(queue.next(at: .zero, isLast: true)?.received.map(\.number) == [2])
  }

  @Test("9: confirmed pages are stored together with received ones, or 512 at a time, whatever the time")
  func confirmed() {
    let page = CachedPage(
      state: .published, address: "/1", validator: Validator(), digest: 0, records: 20, storable: 20, skipped: 0,
      place: 1)
    let known = ConfirmedPage(number: 1, page: page)
    var queue = StageQueue()
    for _ in 1..<512 { queue.add("a", of: ListPlace(), page: known, at: .zero) }
    #expect(queue.due(at: .zero) == nil)
    #expect(queue.next(at: .seconds(9), isLast: false) == nil)
    queue.add("a", of: ListPlace(), page: known, at: .zero)
    #expect(queue.next(at: .zero, isLast: false)?.confirmed[.init(resource: "a", place: ListPlace())]?.count == 512)
    queue.written()
    queue.add("a", of: ListPlace(), page: known, at: .zero)
    queue.add([RosterSyncTests.page(2)], at: .zero)
    #expect(queue.next(at: .milliseconds(100), isLast: false)?.confirmedCount == 1)
  }
}
