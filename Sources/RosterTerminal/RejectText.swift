internal import RosterModel

/// A record that could not be stored, with the reason.
package struct RejectText: Sendable {
  private let resource: String
  private let parent: String?
  private let page: Int
  private let position: Int
  private let reason: String
  private let document: String

  /// - Parameters:
  ///   - resource: The resource's name.
  ///   - parent: The parent of a child with its keys, such as `item 2`; nil without a parent.
  ///   - page: The page in the order of arrival, from 1; 0 for a record that was requested by its key.
  ///   - position: The position in the page, from 0.
  ///   - document: The record as upstream sent it.
  package init(
    resource: String, parent: String? = nil, page: Int, position: Int, reason: String, document: String
  ) {
    self.resource = resource
    self.parent = parent
    self.page = page
    self.position = position
    self.reason = reason
    self.document = document
  }

  /// The reason, and below it the record, cut to `width` cells; nil to cut nothing, because the output is not a
  /// terminal. Each line has its end.
  package func text(width: Int?, colour: Bool = false) -> String {
    let width = width ?? .max / 2
    let place = page == 0 ? "asked for by its key" : "page \(page), position \(position)"
    let owner = parent.map { " of \($0)" } ?? ""
    let head = "\(resource)\(owner), \(place): \(reason)".printable.wrapped(width)
    let record = document.printable.cut(to: width - Self.indent.count).toned(.faint, colour: colour)
    return (head + [Self.indent + record]).map { $0 + "\n" }.joined()
  }

  private static let indent = "    "
}
