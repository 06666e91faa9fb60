/// Query strings in the form of HTML forms (RFC 3986 §3.4): everything but unreserved characters is percent-encoded.
package enum QueryText {
  /// - Parameter raw: Names of parameters whose values are sent as written.
  package static func adding(_ parameters: [(String, String)], raw: [String] = [], to url: String) -> String {
    if parameters.isEmpty { return url }
    return url + "?" + form(parameters, raw: raw)
  }

  /// `a=b&c=d`
  package static func form(_ parameters: [(String, String)], raw: [String] = []) -> String {
    parameters.map { name, value in
      "\(encoded(name))=\(raw.contains(name) ? written(value) : encoded(value))"
    }.joined(separator: "&")
  }

  /// The value as written. Bytes that would end the value, or that no query may have, are encoded (RFC 3986 §3.4).
  private static func written(_ text: String) -> String {
    let allowed = Set("!$'()*+,;:@/?=%".utf8)
    return text.percentEncoded { $0.isUnreserved || allowed.contains($0) }
  }

  /// The address with that parameter, which replaces parameters of the same name. The rest is unchanged.
  package static func setting(_ parameter: Request.Parameter, in url: String) -> String {
    let url = removing(parameter.name, from: url)
    let end = url.firstIndex(of: "#") ?? url.endIndex
    let mark = url[..<end].contains("?") ? "&" : "?"
    return "\(url[..<end])\(mark)\(encoded(parameter.name))=\(encoded(parameter.value))\(url[end...])"
  }

  /// The address without parameters of that name, however they are encoded.
  package static func removing(_ name: String, from url: String) -> String {
    removing(from: url) { parameter in
      parameter.utf8.prefix { $0 != UInt8(ascii: "=") }.percentDecoded(isForm: true).elementsEqual(name.utf8)
    }
  }

  /// The address without the unwanted parameters, which `isUnwanted` gets in their encoded form; the rest is unchanged.
  /// The search uses bytes: an accent after a question mark would combine with it.
  package static func removing(from url: String, where isUnwanted: (Substring) -> Bool) -> String {
    let bytes = url.utf8
    let end = bytes.firstIndex(of: UInt8(ascii: "#")) ?? url.endIndex
    guard let mark = bytes[..<end].firstIndex(of: UInt8(ascii: "?")) else { return url }
    let query = bytes[bytes.index(after: mark)..<end]
    let parameters = query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map(Substring.init)
    let kept = parameters.filter { !isUnwanted($0) }
    if kept.count == parameters.count { return url }
    return "\(url[..<mark])\(kept.isEmpty ? "" : "?")\(kept.joined(separator: "&"))\(url[end...])"
  }

  /// The parameters of an address, decoded.
  package static func parameters(of url: String) -> [Request.Parameter] {
    let query = url.utf8.prefix { $0 != UInt8(ascii: "#") }.drop { $0 != UInt8(ascii: "?") }.dropFirst()
    return query.split(separator: UInt8(ascii: "&")).map { pair in
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let texts = parts.map { String(decoding: $0.percentDecoded(isForm: true), as: UTF8.self) }
      return Request.Parameter(texts[0], texts.count > 1 ? texts[1] : "")
    }
  }

  /// Encodes a name, a value or one segment of a path.
  package static func encoded(_ text: String) -> String { text.percentEncoded(keeping: \.isUnreserved) }
}
