/// A queue that appends and removes elements in constant time.
struct Fifo<Element> {
  private var items: [Element] = []
  private var head = 0

  var count: Int { items.count - head }
  var isEmpty: Bool { count == 0 }
  var first: Element? { isEmpty ? nil : items[head] }
  var elements: ArraySlice<Element> { items[head...] }

  mutating func append(_ element: Element) {
    items.append(element)
  }

  mutating func removeAll(where isUnwanted: (Element) -> Bool) {
    items = elements.filter { !isUnwanted($0) }
    head = 0
  }

  mutating func popFirst() -> Element? {
    guard let first else { return nil }
    head += 1
    if head * 2 >= items.count {
      items.removeFirst(head)
      head = 0
    }
    return first
  }
}
