import ArgumentParser
import RosterCache
import RosterConfiguration

extension CompletionKind {
  /// The resources of the cache, where it can be read. Who presses Tab wants no message: otherwise there is nothing to
  /// choose from.
  static var resources: CompletionKind {
    .custom { words, _, _ in
      let path = cache(in: words) ?? Whereabouts.cache(environment: environment).path
      return (try? CacheReader(path: path).resources().entries.map(\.name)) ?? []
    }
  }

  /// What `--cache` names in a command line that is not finished; bash parts `--cache=PATH` into three words.
  private static func cache(in words: [String]) -> String? {
    if let word = words.last(where: { $0.hasPrefix("--cache=") && $0 != "--cache=" }) {
      return String(word.dropFirst("--cache=".count))
    }
    guard let option = words.lastIndex(of: "--cache") else { return nil }
    return words[(option + 1)...].first { $0 != "=" }
  }
}
