internal import RosterModel

/// The upstream and the definitions by which pages were pulled. Other ones request other pages, and read them
/// differently.
struct PullKey {
  var upstream: String
  var resources: [Resource]

  /// Each part is one line: neither an address nor the JSON of a definition contains a line end.
  var text: String { ([upstream] + resources.map { "\($0.name) \($0.pulledDefinition)" }).joined(separator: "\n") }

  init(_ upstream: String, resources: [Resource]) {
    self.upstream = upstream
    self.resources = resources
  }

  /// nil if the text is not a source.
  init?(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    upstream = String(lines[0])
    resources = lines.dropFirst().compactMap { line in
      let parts = line.split(separator: " ", maxSplits: 1)
      return parts.count == 2 ? Resource(name: String(parts[0]), pulledBy: String(parts[1])) : nil
    }
    guard resources.count == lines.count - 1 else { return nil }
    // The definition of a child does not have the windows of its parent.
    for index in resources.indices {
      let parent = resources.first { $0.name == resources[index].each?.parent }
      resources[index].each?.windows = parent?.windows
    }
  }
}
