internal import RosterModel

extension [Resource.Column] {
  /// What people call a record by: the text behind the key, of those columns that tell one from another; else nothing.
  func title(_ values: [String: String]) -> String {
    dropFirst().first.flatMap { $0.type == .text ? values[$0.name] : nil } ?? ""
  }
}
