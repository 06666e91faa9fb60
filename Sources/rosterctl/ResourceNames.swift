import ArgumentParser
import RosterCache

extension CompletionKind {
  /// The resources of the cache. If it cannot be read, there are no proposals, because a message would disturb the
  /// command line.
  static var resources: CompletionKind {
    .custom { words, _, _ in
      guard let path = places(in: words).probableCache() else { return [] }
      return (try? CacheReader(path: path).resources().entries.map(\.name)) ?? []
    }
  }

  private static func places(in words: [String]) -> Places {
    var places = Places()
    places.socket = value(of: "--socket", in: words)
    places.cache = value(of: "--cache", in: words)
    places.instance = value(of: "--instance", in: words)
    places.config = value(of: "--config", in: words)
    return places
  }

  /// The value of an option in an unfinished command line. Bash splits `--cache=PATH` into three words.
  private static func value(of option: String, in words: [String]) -> String? {
    if let word = words.last(where: { $0.hasPrefix("\(option)=") && $0 != "\(option)=" }) {
      return String(word.dropFirst(option.count + 1))
    }
    guard let place = words.lastIndex(of: option) else { return nil }
    return words[(place + 1)...].first { $0 != "=" }
  }
}
