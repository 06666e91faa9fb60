/// Link headers (RFC 8288 §3): `<https://…?page=2>; rel="next", <…>; rel="last"`, in one header or in several.
package enum LinkHeader {
  /// The target of the first link whose relation types hold `next`; nil: there is none.
  package static func next(in headers: [Request.Header]) -> String? {
    for header in headers where header.name.lowercased() == "link" {
      var reader = LinkReader(header.value)
      while let link = reader.next() {
        if link.relations.contains("next") { return link.target }
      }
    }
    return nil
  }
}

/// Goes over the links of one header. What is no link ends the walk: RFC 8288 appendix B.2 is as lenient.
private struct LinkReader {
  struct Link {
    var target: String
    /// In lower case: relation types are compared without case (RFC 8288 §2.1.1).
    var relations: [Substring] = []
  }

  private var rest: Substring

  init(_ header: String) { rest = header[...] }

  mutating func next() -> Link? {
    skip { $0 == "," || $0 == " " || $0 == "\t" }
    guard take("<"), let end = rest.firstIndex(of: ">") else { return nil }
    var link = Link(target: String(rest[..<end]))
    rest = rest[rest.index(after: end)...]
    var isRelated = false
    while let (name, value) = parameter() {
      // Of several `rel` the first counts (§3.3).
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
    return (name.lowercased(), take("\"") ? quoted() : String(read { $0 != ";" && $0 != "," }))
  }

  /// RFC 9110 §5.6.4: a backslash takes the next character as it is.
  private mutating func quoted() -> String {
    var text = ""
    while let character = rest.popFirst(), character != "\"" {
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
