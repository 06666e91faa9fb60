/// Values of a definition that are valid separately, but not together.
package struct DefinitionConflict {
  /// The place of the correction, below the definition.
  package var path: [String]
  /// The conflict is not reported if one of these values is already refused.
  package var restsOn: [[String]] = []
  package var problem: String
  package var allowed: String
}
