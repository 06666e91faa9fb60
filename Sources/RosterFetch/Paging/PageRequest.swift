package import RosterModel

/// One page to be asked for, and its place in the list.
package struct PageRequest: Sendable, Equatable {
  /// From 1, in the order of the list.
  package var number: Int
  /// On the pages before it, where one follows the other.
  package var recordsBefore: Int
  /// What is sent, validators and tokens aside.
  package var request: Request
  /// What the page is known by from pull to pull (P6): its address below base_url, and of a POST the body too.
  package var address: String

  /// `recordsBefore` is of use to styles that count records only.
  package init(number: Int, recordsBefore: Int = 0, request: Request, address: String) {
    self.number = number
    self.recordsBefore = recordsBefore
    self.request = request
    self.address = address
  }
}
