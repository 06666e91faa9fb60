import RosterDefinition

extension InferredDefinition {
  /// A whole configuration with this definition only.
  var toml: String { Inference.toml(of: [self]) }

  /// The notes about facts that the answer does not show, at this place.
  func unseen(_ place: Note.Place) -> [String] { notes.filter { $0.place == place && $0.isUnseen }.map(\.text) }
}
