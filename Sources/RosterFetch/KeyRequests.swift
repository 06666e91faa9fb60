package import RosterModel

/// The requests that ask for records by key (P8): `by_key` of a definition. Pure.
package struct KeyRequests: Sendable {
  /// Keys in one request.
  package static let mostKeys = 50

  /// One request, and the keys that it asks for.
  package struct Asking: Sendable, Equatable {
    /// A GET below base_url.
    package var request: Request
    /// One at least, `mostKeys` at most; as texts.
    package var keys: [String]

    /// A record asks for itself; several come as a list.
    package var isSingle: Bool { keys.count == 1 }
  }

  private let baseURL: String
  private let path: String

  /// nil: the definition cannot ask.
  package init?(_ resource: Resource, baseURL: String) {
    guard let path = resource.byKey else { return nil }
    self.path = path
    self.baseURL = baseURL
  }

  /// In the order of the keys, but for those that have a comma: they are asked for alone, since a comma parts keys.
  package func requests(for keys: [String]) -> [Asking] {
    let asksMany = path.contains(Self.many)
    let (alone, together) = keys.reduce(into: ([String](), [String]())) { parts, key in
      if !asksMany || key.contains(",") { parts.0.append(key) } else { parts.1.append(key) }
    }
    let groups = stride(from: 0, to: together.count, by: Self.mostKeys).map {
      Array(together[$0..<min(together.count, $0 + Self.mostKeys)])
    }
    return (groups + alone.map { [$0] }).map { keys in
      let list = keys.map(QueryText.encoded).joined(separator: ",")
      let place = path.replacing(Self.many, with: list).replacing(Self.one, with: list)
      return Asking(request: Request(.get, baseURL + place), keys: keys)
    }
  }

  private static let many = "{keys}"
  private static let one = "{key}"
}
