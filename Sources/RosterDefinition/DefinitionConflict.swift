/// Values of a definition that are valid separately, but not together.
package struct DefinitionConflict {
  /// The place of the correction, below the definition.
  package var path: [String]
  /// The conflict is not reported if one of these values is already refused.
  package var restsOn: [[String]] = []
  /// The reason, as a clause.
  package var problem: String
  /// The permitted values in words.
  package var allowed: String

  /// The same conflict about keys in other places.
  func moved(_ place: ([String]) -> [String]) -> DefinitionConflict {
    var moved = self
    (moved.path, moved.restsOn) = (place(path), restsOn.map(place))
    return moved
  }
}
