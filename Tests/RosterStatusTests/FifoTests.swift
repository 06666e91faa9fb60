import Testing

@testable import RosterStatus

@Test("A queue returns its elements in order, without the removed ones")
func queue() {
  var queue = Fifo<Int>()
  for number in 1...6 { queue.append(number) }
  #expect(queue.popFirst() == 1)
  queue.removeAll { $0.isMultiple(of: 2) }
  #expect(queue.count == 2)
  #expect([queue.popFirst(), queue.popFirst(), queue.popFirst()] == [3, 5, nil])
}
