internal import RosterModel

extension Collection<Resource.Column> {
  /// The name of a record for people: the text column after the key among the identifying columns. Empty if that column
  /// has another type or does not exist.
  func title(_ values: [String: String]) -> String {
    dropFirst().first.flatMap { $0.type.isText ? values[$0.name] : nil } ?? ""
  }
}
