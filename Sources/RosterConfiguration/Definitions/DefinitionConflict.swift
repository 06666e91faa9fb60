/// Values of a definition that are valid separately, but not together.
struct DefinitionConflict {
  /// The place of the correction, below the definition.
  var path: [String]
  /// The conflict is not reported if one of these values is already refused.
  var restsOn: [[String]] = []
  var problem: String
  var allowed: String
}
