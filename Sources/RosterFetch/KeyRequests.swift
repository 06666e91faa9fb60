package import RosterCore
import RosterDecode

/// Makes the requests for records by key, from `by_key` of a definition. Pure.
package struct KeyRequests: Sendable {
  /// Largest number of keys in one request.
  package static let maxKeys = 50

  /// One request and its keys.
  package struct KeyLookup: Sendable, Equatable {
    /// A GET below base_url.
    package var request: Request
    /// The keys as texts: at least one, and no more than `maxKeys`.
    package var keys: [String]
    /// False if the address would lead elsewhere. `.` and `..`, however they are encoded, are not segments of a path
    /// (RFC 3986 §5.2.4, url.spec.whatwg.org).
    package var canBeAsked = true

    /// True for a request for one record; several records are returned as a list.
    package var isSingle: Bool { keys.count == 1 }
  }

  private let baseURL: String
  private let headers: [Request.Header]
  private let question: Resource.KeyQuestion
  private let asksMany: Bool
  /// True if keys are numbers in a body.
  private let hasIntegerKey: Bool
  /// `by_key` without values of a parent.
  private let shownPath: String
  /// Names of the columns of a composite key; empty if the key is one value.
  private let columns: [String]

  /// nil if the definition has no `by_key`.
  /// - Parameter template: The definition with its placeholders, if `resource` is filled with values of a parent.
  package init?(_ resource: Resource, baseURL: String, template: Resource? = nil) {
    guard let question = resource.keyQuestion else { return nil }
    self.question = question
    asksMany = question.text.contains(Self.many)
    hasIntegerKey = resource.keyColumn.map { resource.columns[$0].type == .integer } ?? false
    shownPath = template?.byKey ?? question.path
    columns = resource.hasCompositeKey ? (resource.keyColumns ?? []).map { resource.columns[$0].name } : []
    self.baseURL = resource.baseURL ?? baseURL
    headers = resource.listing.headers
  }

  /// The requests, in the order of the keys. Keys with a comma have their own requests at the end, because a comma
  /// separates keys.
  package func requests(for keys: [String]) -> [KeyLookup] {
    if !columns.isEmpty { return keys.map(compositeLookup) }
    let (alone, together) = keys.reduce(into: ([String](), [String]())) { parts, key in
      if !asksMany || key.utf8.contains(UInt8(ascii: ",")) { parts.0.append(key) } else { parts.1.append(key) }
    }
    let groups = stride(from: 0, to: together.count, by: Self.maxKeys).map {
      Array(together[$0..<min(together.count, $0 + Self.maxKeys)])
    }
    return (groups + alone.map { [$0] }).map(request)
  }

  /// One request for these keys, of which there are at most `maxKeys`. None of several has a comma.
  package func request(for keys: [String]) -> KeyLookup {
    if !columns.isEmpty, let key = keys.first { return compositeLookup(key) }
    let list = keys.map(QueryText.encoded).joined(separator: ",")
    return lookup(keys, filling: [(Self.many, list), ("{key}", list)])
  }

  private func compositeLookup(_ key: String) -> KeyLookup {
    let parts = Self.parts(of: key)
    let texts = zip(columns, parts).map { ("{key.\($0)}", QueryText.encoded($1.queryText)) }
    var lookup = lookup([key], filling: texts)
    // A missing part has no place in an address.
    if parts.contains(.null) { lookup.canBeAsked = false }
    return lookup
  }

  private static func parts(of key: String) -> [JSONValue] {
    if case .list(let values)? = try? JSONValue(json: key.utf8) { values } else { [] }
  }

  /// Replaces the placeholders of the keys.
  private func lookup(_ keys: [String], filling texts: [(placeholder: String, text: String)]) -> KeyLookup {
    func filled(_ text: some StringProtocol) -> String {
      texts.reduce(String(text)) { $0.replacing($1.placeholder, with: $1.text) }
    }
    var request = Request(.get, baseURL + filled(question.path), headers: headers)
    if question.method == .post { request = posting(keys, to: request.url) }
    request.keylessURL = baseURL + shownPath
    // Clients and servers remove such a segment.
    let isLost = question.path.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").contains { segment in
      let filled = filled(segment)
      return filled != segment && [".", ".."].contains(filled)
    }
    return KeyLookup(request: request, keys: keys, canBeAsked: !isLost)
  }

  /// A POST with the keys in its body. A text that is only `{key}` has the type of the key, and one that is only
  /// `{keys}` is the list of them.
  private func posting(_ keys: [String], to url: String) -> Request {
    let parts = columns.isEmpty ? [] : keys.first.map(Self.parts) ?? []
    let values = keys.map { key in
      hasIntegerKey && columns.isEmpty && Int64(key) != nil ? JSONValue.number(key) : .text(key)
    }
    let filled = question.body.replacingTexts { text in
      if text == Self.many { return .list(values) }
      if text == "{key}", let value = values.first { return value }
      for (column, part) in zip(columns, parts) where text == "{key.\(column)}" { return part }
      var all = text.replacing(Self.many, with: keys.joined(separator: ",")).replacing("{key}", with: keys.first ?? "")
      for (column, part) in zip(columns, parts) { all = all.replacing("{key.\(column)}", with: part.queryText) }
      return .text(all)
    }
    let type = Request.Header("Content-Type", "application/json")
    let own = headers.contains { $0.isNamed(type.name) } ? headers : [type] + headers
    return Request(.post, url, headers: own, body: JSONWriter(filled).bytes)
  }

  /// The control question for keys that upstream has just listed; nil if `by_key` cannot ask for any of them.
  /// - Parameter several: The other questions ask for several keys at a time, so this one asks for two.
  package func control(for keys: [String], several: Bool) -> KeyLookup? {
    let all = requests(for: keys).filter(\.canBeAsked)
    guard several, let list = all.first(where: { !$0.isSingle }) else {
      let key = all.first?.keys.first
      return key.flatMap { requests(for: [$0]).first }
    }
    return requests(for: Array(list.keys.prefix(2))).first
  }

  private static let many = "{keys}"
}
