/// Pauses that the body of a refusal names, because many APIs have no header for them.
extension PauseValue {
  /// The values of members such as `retry_after` (Discord), `retryAfterMs` and `retryDelay` (Google), and of sentences
  /// such as "Please retry after 3 seconds". The body is read as text: it need not be JSON.
  static func all(inBody body: [UInt8]) -> [PauseValue] {
    let text = String(decoding: body.prefix(largest), as: UTF8.self)
    let member =
      /"(?:retry[_-]?(?:after|delay|in)|backoff)[_-]?(ms|milliseconds|s|sec|seconds)?" *: *(?:"([^"]+)"|([0-9.]+))/
    let sentence = /(?:again|retry|resets?|wait)(?: after| in| for)? +([0-9]+(?:\.[0-9]+)?) *([a-z]+)/
    let members = text.matches(of: member.ignoresCase()).compactMap { found in
      let unit = found.1?.lowercased().hasPrefix("m") == true ? milliseconds : seconds
      return PauseValue(found.2 ?? found.3 ?? "", unit: unit)
    }
    let sentences = text.matches(of: sentence.ignoresCase()).compactMap { PauseValue("\($0.1) \($0.2.lowercased())") }
    return members + sentences
  }

  /// The body of a refusal is far smaller.
  private static let largest = 64 << 10
}
