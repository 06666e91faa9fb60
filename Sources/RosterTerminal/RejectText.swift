package import RosterCore

extension RejectedRecord {
  /// The reason, and below it the record, cut to `width` cells; nil to cut nothing, because the output is not a
  /// terminal. Each line has its end.
  package func text(width: Int?, colour: Bool = false) -> String {
    let (width, indent) = (width ?? .max / 2, "    ")
    let place = isAnswer ? self.place : page == 0 ? "asked for by its key" : "page \(page), position \(position)"
    let owner = parent.map { " of \($0)" } ?? ""
    let head = "\(resource)\(owner), \(place): \(reason)".printable.wrapped(width)
    let record = document.printable.cut(to: width - indent.count).toned(.faint, colour: colour)
    return (head + [indent + record]).map { $0 + "\n" }.joined()
  }
}
