/// Link headers (RFC 8288 §3): `<https://…?page=2>; rel="next", <…>; rel="last"`, in one header or in several.
package enum LinkHeader {
  /// The reason why the next page is not known.
  package enum Fault: Error, Equatable {
    /// The `>` after an address is missing, so that the further links are not known.
    case unclosed
    /// The only link to a next page has this anchor, and so belongs to another list.
    case foreign(anchor: String)
  }

  /// The target of the first link whose relation types include `next`; nil without such a link. A link with
  /// `results="false"` says that its page has no records (Sentry).
  package static func next(in headers: [Request.Header]) throws(Fault) -> String? {
    var anchor: String?
    for header in headers where header.name.lowercased() == "link" {
      var reader = LinkReader(header.value)
      while let link = try reader.next() {
        guard link.relations.contains("next"), !link.isEmpty else { continue }
        if !link.isForeign { return link.target }
        anchor = anchor ?? link.anchor
      }
    }
    if let anchor { throw .foreign(anchor: anchor) }
    return nil
  }
}

/// Reads the links of one header one by one. Other invalid text than an unclosed address ends the reading, which is as
/// lenient as RFC 8288 appendix B.2.
private struct LinkReader {
  struct Link {
    var target: String
    /// Relation types in lower case, because they are case-insensitive (RFC 8288 §2.1.1).
    var relations: [Substring] = []
    var anchor: String?
    var isEmpty = false

    /// True if the link belongs to another resource than the page (RFC 8288 §3.2). A page of the list that the link
    /// leads to is the page itself or an earlier one.
    var isForeign: Bool {
      guard let anchor, let path = Self.path(anchor) else { return false }
      return path != Self.path(target)
    }

    /// The path of an address; nil if it is that of the page.
    private static func path(_ address: String) -> Substring? {
      let address = address.prefix { $0 != "?" && $0 != "#" }
      guard let authority = address.firstRange(of: "//") else { return address.isEmpty ? nil : address }
      return address[authority.upperBound...].drop { $0 != "/" }
    }
  }

  private var rest: Substring

  init(_ header: String) { rest = header[...] }

  mutating func next() throws(LinkHeader.Fault) -> Link? {
    skip { $0 == "," || $0 == " " || $0 == "\t" }
    guard take("<") else { return nil }
    guard let end = rest.firstIndex(of: ">") else { throw .unclosed }
    var link = Link(target: String(rest[..<end]))
    rest = rest[rest.index(after: end)...]
    var isRelated = false
    while let (name, value) = parameter() {
      if name == "anchor" { link.anchor = value }
      if name == "results" { link.isEmpty = value.lowercased() == "false" }
      // If a link has several `rel`, the first one applies (§3.3).
      guard name == "rel", !isRelated else { continue }
      isRelated = true
      link.relations = value.lowercased().split(separator: " ").map { $0 }
    }
    return link
  }

  private mutating func parameter() -> (name: String, value: String)? {
    skip { $0 == " " || $0 == "\t" }
    guard take(";") else { return nil }
    skip { $0 == " " || $0 == "\t" }
    let name = read { $0 != "=" && $0 != ";" && $0 != "," && $0 != " " && $0 != "\t" }
    skip { $0 == " " || $0 == "\t" }
    guard take("=") else { return (name.lowercased(), "") }
    skip { $0 == " " || $0 == "\t" }
    for quote: Character in ["\"", "'"] where take(quote) { return (name.lowercased(), quoted(by: quote)) }
    return (name.lowercased(), String(read { $0 != ";" && $0 != "," }))
  }

  /// Reads a quoted string: a backslash escapes the next character (RFC 9110 §5.6.4). Some servers write single quotes.
  private mutating func quoted(by quote: Character) -> String {
    var text = ""
    while let character = rest.popFirst(), character != quote {
      if character == "\\", let next = rest.popFirst() { text.append(next) } else { text.append(character) }
    }
    return text
  }

  private mutating func take(_ character: Character) -> Bool {
    guard rest.first == character else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func skip(while isSkipped: (Character) -> Bool) {
    rest = rest.drop(while: isSkipped)
  }

  private mutating func read(while isRead: (Character) -> Bool) -> Substring {
    let text = rest.prefix(while: isRead)
    rest = rest[text.endIndex...]
    return text
  }
}
