import FoundationEssentials
package import RosterCore

/// The address of a list, split into the parts of a definition.
package struct ListAddress: Sendable, Equatable {
  /// The complete address, secrets included.
  package let url: String
  /// The part that all lists of the API share: the origin, and segments such as `api` and `v1`.
  private(set) var baseURL: String
  /// The path below `baseURL`, with a leading `/`.
  private(set) var path: String
  private(set) var parameters: [Request.Parameter]
  /// The path from which the resource gets its name: `path`, or what it was before it became a placeholder alone.
  private(set) var namingPath: String

  /// The address without its query, which may contain a secret.
  package let shown: String

  /// Throws `Failure` (64) if the text is not an http or https URL, or contains a user or password.
  /// - Parameter parents: `baseURL` has no segment that is one of their values.
  package init(_ text: String, of parents: [GivenParent] = []) throws(Failure) {
    guard var parts = URLComponents(string: text.encodedAsAddress) else { throw Self.failure("it is not a URL") }
    guard let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
      throw Self.failure("it begins with neither http:// nor https://")
    }
    guard let host = parts.percentEncodedHost, !host.isEmpty else { throw Self.failure("it names no host") }
    guard !host.contains("%") else {
      throw Self.failure("its host has letters beyond ASCII: write its xn-- form (idn2 prints it)")
    }
    guard parts.user == nil, parts.password == nil else { throw Self.failure("it holds a user or a password") }
    // `port` is nil if the number is too large, and then the request would go to another server.
    guard parts.rangeOfPort == nil || (1...Int(UInt16.max)).contains(parts.port ?? 0) else {
      throw Self.failure("its port is not 1 to \(UInt16.max)")
    }
    parts.fragment = nil
    guard let url = parts.string else { throw Self.failure("it is not a URL") }
    self.url = url
    let (common, own) = Self.split(parts.percentEncodedPath, before: parents.map(\.value))
    baseURL = "\(scheme)://\(host)\(parts.port.map { ":\($0)" } ?? "")\(common)"
    path = own
    namingPath = own
    shown = baseURL + own
    parameters = Self.parameters(ofQuery: parts.percentEncodedQuery)
  }

  private static func failure(_ cause: String) -> Failure {
    // The address is not repeated, because it may contain a secret.
    Failure(
      .usage, step: "ask", subject: "the address", cause: cause,
      hint: "give the address of a list, as in rosterd infer https://rickandmortyapi.com/api/character")
  }

  /// The query of an address of any form, absolute or not.
  static func parameters(of address: String) -> [Request.Parameter] {
    let query = address.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).dropFirst().first
    return parameters(ofQuery: query.map { String($0.prefix { $0 != "#" }) })
  }

  /// Decodes as forms do: `+` is a space.
  private static func parameters(ofQuery query: String?) -> [Request.Parameter] {
    let spaced = (query ?? "").replacing("+", with: "%20")
    let items = URLComponents(string: "?\(spaced)".encodedAsAddress)?.queryItems ?? []
    return items.filter { !$0.name.isEmpty }.map { Request.Parameter($0.name, $0.value ?? "") }
  }

  // MARK: What lists share

  /// The longest address that all these lists have in common as their `baseURL` begins; nil if their origins differ.
  package static func commonBase(of addresses: [ListAddress]) -> String? {
    guard let first = addresses.first, let parts = URLComponents(string: first.baseURL),
      addresses.allSatisfy({ !first.isElsewhere($0.url) })
    else { return nil }
    let paths = addresses.map { URLComponents(string: $0.baseURL)?.percentEncodedPath.split(separator: "/") ?? [] }
    let common = paths[0].indices.prefix { index in
      paths.allSatisfy { $0.count > index && $0[index] == paths[0][index] }
    }
    let origin = first.baseURL.dropLast(parts.percentEncodedPath.utf8.count)
    return String(origin) + common.map { "/\(paths[0][$0])" }.joined()
  }

  /// The same list as a definition below another base_url; nil if the list is not below it.
  package func below(_ base: String) -> ListAddress? {
    guard !isElsewhere(base), let folder = URLComponents(string: base)?.percentEncodedPath,
      let whole = URLComponents(string: url)?.percentEncodedPath
    else { return nil }
    let prefix = folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    guard whole.hasPrefix("\(prefix)/") else { return nil }
    var address = self
    address.baseURL = base
    address.path = String(whole.dropFirst(prefix.count))
    address.namingPath = address.path
    return address
  }

  /// True if a column of a parent has the whole address.
  var isGiven: Bool { ParentColumn(whole: path) != nil }

  /// The same address with placeholders of parents.
  func replacing(path: String, parameters: [Request.Parameter]) -> ListAddress {
    var address = self
    address.path = path
    address.parameters = parameters
    if ParentColumn(whole: path) == nil { address.namingPath = path }
    return address
  }

  /// The last segment always belongs to the list itself.
  private static func split(_ path: String, before values: [String]) -> (common: String, own: String) {
    let segments = path.split(separator: "/", omittingEmptySubsequences: true)
    var count = 0
    while count < segments.count - 1, !values.contains(String(segments[count])),
      isCommon(segments[count], after: count == 0 ? nil : segments[count - 1])
    {
      count += 1
    }
    let common = segments.prefix(count).map { "/\($0)" }.joined()
    let own = path.dropFirst(common.utf8.count)
    return (common, own.isEmpty ? "/" : String(own))
  }

  private static func isCommon(_ segment: Substring, after before: Substring?) -> Bool {
    if ["api", "rest", "wp-json", "wp"].contains(segment.lowercased()) { return true }
    // Versions such as v1 and v2.1, and a bare number after `api` or `rest`, as in /rest/api/3.
    let digits = segment.hasPrefix("v") || segment.hasPrefix("V") ? segment.dropFirst() : segment
    guard digits.first?.isASCIIDigit == true, digits.allSatisfy({ $0.isASCIIDigit || $0 == "." || $0 == "-" }) else {
      return false
    }
    return digits.count < segment.count || before?.lowercased() == "api" || before?.lowercased() == "rest"
  }

  /// True if an address from the answer has another origin than this one; false for an address without a host.
  func isElsewhere(_ address: String) -> Bool {
    guard let other = URLComponents(string: address.encodedAsAddress), other.host != nil,
      let own = URLComponents(string: url)
    else {
      return false
    }
    return Self.origin(of: other) != Self.origin(of: own)
  }

  /// False for a relative address that is not relative to this one: Eve's and Confluence's are relative to the API's
  /// root.
  func isFollowed(by address: String) -> Bool {
    guard !address.contains("://"), !["//", "?"].contains(where: { address.hasPrefix($0) }), let own = URL(written: url)
    else { return true }
    if address.hasPrefix("/") {
      let path = String(address.prefix { $0 != "?" && $0 != "#" })
      return path == "/" || own.path == path || !own.path.hasSuffix(path)
    }
    return URL(written: address, relativeTo: own)?.absoluteURL.path == own.path
  }

  private static func origin(of parts: URLComponents) -> [String] {
    let scheme = parts.scheme?.lowercased() ?? ""
    let port = parts.port ?? (scheme == "https" ? 443 : 80)
    return [scheme, parts.host?.lowercased() ?? "", "\(port)"]
  }
}

extension Character {
  var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
