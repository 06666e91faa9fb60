internal import RosterModel

/// By which upstream and definitions pages were pulled. Other ones ask for other pages, and read them differently.
struct PullSource {
  var upstream: String
  var resources: [Resource]

  /// What the file of pulled pages begins with; its digest is in the file's header. A line each: neither an address nor
  /// the JSON of a definition has a line end.
  var bytes: [UInt8] {
    Array(([upstream] + resources.map { "\($0.name) \($0.feedDefinition)" }).joined(separator: "\n").utf8)
  }

  init(_ upstream: String, _ resources: [Resource]) {
    self.upstream = upstream
    self.resources = resources
  }

  /// nil: the bytes are none of these.
  init?(_ bytes: some Sequence<UInt8>) {
    let lines = String(decoding: Array(bytes), as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    upstream = String(lines[0])
    resources = lines.dropFirst().compactMap { line in
      let parts = line.split(separator: " ", maxSplits: 1)
      return parts.count == 2 ? Resource(name: String(parts[0]), pulledBy: String(parts[1])) : nil
    }
    guard resources.count == lines.count - 1 else { return nil }
  }
}
