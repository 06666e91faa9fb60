import FoundationEssentials
import RosterCache
import RosterDecode
import RosterModel
import Testing

@testable import RosterSync

private func page(_ number: Int) -> ReceivedPage {
  ReceivedPage(
    resource: "a", number: number, address: "/\(number)", receivedAt: .distantPast, body: [1, 2, 3], digest: 0,
    scan: PageScan())
}

@Suite struct StageQueueTests {
  @Test("P4: a batch is due at sixteen pages, or when its first page has waited 100 ms, or when no page is to come")
  func due() {
    var queue = StageQueue()
    #expect(queue.next(at: .zero, isLast: true) == nil)
    queue.add([page(1)], at: .zero)
    #expect(queue.next(at: .milliseconds(99), isLast: false) == nil)
    #expect(queue.due(at: .milliseconds(40)) == .milliseconds(60))
    #expect(queue.next(at: .milliseconds(100), isLast: false)?.count == 1)
    queue.written()
    for number in 1...16 { queue.add([page(number)], at: .zero) }
    #expect(queue.next(at: .zero, isLast: false)?.bytes == 48)
    queue.written()
    queue.add([page(1)], at: .zero)
    #expect(queue.next(at: .zero, isLast: true)?.count == 1)
  }

  @Test("One batch at a time is written, and what comes meanwhile is the next")
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
}
