package import RosterCore
import RosterDecode

/// The token and the other secrets in a request. A flow that signs requests does so here: method, address and body are
/// complete. Each repetition of a request is signed again.
extension Token {
  /// Puts the token and the other secrets of its places into a request.
  package func apply(to request: inout Request) {
    for place in places { request.carry(value(at: place), at: place) }
  }

  /// The secrets that `apply` puts into a request.
  package var sent: Response.SentToken {
    Response.SentToken(
      secrets.map { $0.reveal() }, parameters: places.compactMap { $0.carrier == .parameter ? $0.name : nil })
  }

  /// The token and the other secrets that a request carries.
  private var secrets: [Secret] { [access] + files.values }

  /// The value at a place, not encoded.
  private func value(at place: TokenPlace) -> String {
    place.value.filled { (files[$0] ?? access).reveal() }
  }
}

extension Request {
  /// Puts a secret at its place, where it replaces another value. Only a POST has a body.
  mutating func carry(_ value: String, at place: TokenPlace) {
    switch place.carrier {
    case .header:
      headers.removeAll { $0.isNamed(place.name) }
      headers.append(Header(place.name, value))
    case .parameter: secrets.append(Parameter(place.name, value))
    case .body:
      guard method == .post, let pointer = JSONPointer(place.name) else { return }
      if isForm, let name = pointer.segments.first, pointer.segments.count == 1 {
        let form = QueryText.removing(name, from: "?" + String(decoding: body, as: UTF8.self)).dropFirst()
        body = Array("\(form)\(form.isEmpty ? "" : "&")\(QueryText.form([(name, value)]))".utf8)
        return
      }
      guard let sent = try? JSONValue(json: body) else { return }
      body = JSONWriter(sent.setting(.text(value), at: pointer)).bytes
    }
  }

  private var isForm: Bool {
    headers.contains { $0.isNamed("Content-Type") && $0.value.hasPrefix("application/x-www-form-urlencoded") }
  }
}
