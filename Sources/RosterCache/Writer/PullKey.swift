internal import RosterModel

/// The upstream and the definitions by which pages were pulled. Other ones request other pages, and read them
/// differently.
struct PullKey {
  var upstream: String
  var resources: [Resource]

  /// The first entry of the file of pulled pages; its digest is in the file's header. Each part is one line: neither an
  /// address nor the JSON of a definition contains a line end.
  var bytes: [UInt8] {
    Array(([upstream] + resources.map { "\($0.name) \($0.pulledDefinition)" }).joined(separator: "\n").utf8)
  }

  init(_ upstream: String, resources: [Resource]) {
    self.upstream = upstream
    self.resources = resources
  }

  /// nil if the bytes are not a source.
  init?(_ bytes: some Sequence<UInt8>) {
    let lines = String(decoding: Array(bytes), as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
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
