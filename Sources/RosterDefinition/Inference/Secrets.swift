import RosterCore

/// The parts of a request that must not be repeated. In case of doubt a value counts as secret, because a user can
/// add a harmless value again.
enum Secrets {
  /// A query parameter whose name or value looks like a credential.
  static func isSecret(_ parameter: Request.Parameter) -> Bool {
    let word = parameter.name.word
    let isNamedSo = word.hasSuffix("key") || secretNames.contains(word) || secretWords.contains { word.contains($0) }
    return isNamedSo || looksRandom(parameter.value) || isAddressWithSecret(parameter.value)
  }

  /// A header whose value may be written into a definition.
  static func isHarmless(_ header: Request.Header) -> Bool {
    let name = header.name.lowercased()
    let isNamedSo = harmlessNames.contains(name) || name.hasSuffix("-version")
    let isSecret = hasLongMix(header.value[...]) || name == "user-agent" && looksRandom(header.value)
    return isNamedSo && !isSecret && !header.value.contains("@")
  }

  /// Headers that select the form of an answer: of RFC 9110, RFC 7240, PostgREST, Microsoft Graph, OData and AJAX.
  private static let harmlessNames: Set = [
    "accept", "accept-language", "user-agent", "prefer", "accept-profile", "range-unit", "consistencylevel",
    "odata-maxversion", "x-requested-with",
  ]

  /// An address with a user, or with a parameter that is named like a credential.
  private static func isAddressWithSecret(_ value: String) -> Bool {
    value.userMasked != value || value.secretsMasked != value
  }

  /// True if the path of an address looks like it contains a credential: `/bot1:SECRET/`, `/token:SECRET1/`,
  /// `;jsessionid=SECRET`, or a long mix of letters and digits.
  static func isInPath(of address: String) -> Bool {
    // The scheme and the host come first.
    address.split(separator: "/").dropFirst(2).contains { segment in
      let isBot = segment.hasPrefix("bot") && segment.dropFirst(3).first?.isASCIIDigit == true && segment.contains(":")
      let parts = segment.split(separator: ";")
      // A method such as `sessions:list` has no digit (google.aip.dev/136).
      let isValue = parts.first.map { isLabelled($0) && $0.contains(where: \.isASCIIDigit) } ?? false
      return isBot || isValue || parts.dropFirst().contains(where: isLabelled) || hasLongMix(segment)
    }
  }

  /// True for a search such as `token:SECRET`.
  static func isInValue(_ value: String) -> Bool {
    value.split(whereSeparator: { " ,;&()".contains($0) }).contains(where: isLabelled)
  }

  /// True for the name of a credential with a value.
  private static func isLabelled(_ text: Substring) -> Bool {
    let parts = text.split(maxSplits: 1, whereSeparator: { $0 == "=" || $0 == ":" })
    guard parts.count == 2 else { return false }
    let word = String(parts[0]).word
    return secretWords.contains { word.contains($0) }
  }

  /// True if a part without separators is long and mixes letters and digits.
  private static func hasLongMix(_ text: Substring) -> Bool {
    text.split(whereSeparator: { !$0.isLetter && !$0.isASCIIDigit }).contains { part in
      part.count >= 16 && part.contains(where: \.isASCIIDigit) && part.contains(where: \.isLetter)
    }
  }

  private static let secretNames: Set = [
    "sig", "pwd", "psw", "jwt", "sid", "appid", "pass", "code", "ticket", "otp", "pin", "hash", "hmac",
  ]
  private static let secretWords = [
    "token", "secret", "password", "passwd", "auth", "signature", "credential", "session", "apikey", "bearer",
    "passphrase", "passcode", "accesscode",
  ]

  /// True for a long value that mixes letters and digits, or has a long run without separators.
  private static func looksRandom(_ value: String) -> Bool {
    let isMadeOfWords = value.contains { " ,;:/".contains($0) }
    guard value.count >= 16, !isMadeOfWords, !isDate(value) else { return false }
    let hasDigit = value.contains(where: \.isASCIIDigit)
    let longest = value.split { "-_.".contains($0) }.map(\.count).max() ?? 0
    return hasDigit && value.contains(where: \.isLetter) || longest >= 24
  }

  private static func isDate(_ value: String) -> Bool {
    value.allSatisfy { $0.isASCIIDigit || "-+:.TZ".contains($0) }
  }
}
