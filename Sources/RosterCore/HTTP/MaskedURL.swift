extension String {
  /// The URL without the text of its query, which may contain a key.
  package var queryMasked: String {
    guard let mark = firstIndex(of: "?") else { return self }
    return "\(self[...mark])***"
  }

  /// A URL, or a part of one, without the values of parameters that have the name of a credential.
  package var secretsMasked: String { secretsMasked(besides: []) }

  /// The URL without the values of parameters that have the name of a credential, with two exceptions.
  /// - Parameters:
  ///   - secrets: The names, not encoded, of further parameters that contain credentials.
  ///   - placeholders: A value that contains one of these texts is not a secret and is kept.
  package func secretsMasked(besides secrets: Set<String>, keeping placeholders: [String] = []) -> String {
    guard let mark = firstIndex(of: "?") else { return self }
    let parameters = self[index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false).map { pair in
      let written = pair.prefix { $0 != "=" }
      let name = String(decoding: written.utf8.percentDecoded(isForm: true), as: UTF8.self)
      let isSecret = written.count < pair.count && (secrets.contains(name) || name.namesSecret)
      let value = pair[written.endIndex...]
      return isSecret && !placeholders.contains { value.contains($0) } ? "\(written)=***" : String(pair)
    }
    return self[...mark] + parameters.joined(separator: "&")
  }

  /// A URL, or an invalid attempt at one, without user and password.
  package var userMasked: String {
    guard let start = firstRange(of: "://")?.upperBound else { return self }
    let authority = self[start...].prefix { !"/?#".contains($0) }
    guard let end = authority.lastIndex(of: "@") else { return self }
    return "\(self[..<start])***\(self[end...])"
  }

  /// True if a parameter of this name holds a credential: `api_key`, `X-Amz-Signature`, `accessToken`. It accepts more
  /// names than `rosterd infer` does, because a name that is taken for a credential by mistake only hides its value.
  package var namesSecret: Bool {
    let word = lowercased().filter { $0.isLetter || $0.isNumber }
    return secretNames.contains(word) || secretEndings.contains { word.hasSuffix($0) }
  }
}

extension Request.Header {
  /// True if a header of this name holds a credential.
  package var namesSecret: Bool {
    name.namesSecret || ["authorization", "proxy-authorization", "cookie"].contains(name.lowercased())
  }
}

extension String {
  /// `***` in the place of the text. Columns of ancestors are no secrets and remain.
  package var maskedText: String {
    let columns = ParentColumn.all(in: self).map(\.placeholder).joined()
    return columns == self && !isEmpty ? self : "***\(columns)"
  }
}

extension JSONValue {
  /// The tree without the texts and numbers of members that are named like a credential. It keeps its shape, so that
  /// the same places exist.
  package var secretsMasked: JSONValue { secretsMasked { _ in false } }

  /// The masked tree. Values that the closure accepts remain.
  package func secretsMasked(isSecret: Bool = false, keeping isHarmless: (JSONValue) -> Bool) -> JSONValue {
    switch self {
    case .object(let members):
      .object(
        members.map {
          Member($0.name, $0.value.secretsMasked(isSecret: isSecret || $0.name.namesSecret, keeping: isHarmless))
        })
    case .list(let elements): .list(elements.map { $0.secretsMasked(isSecret: isSecret, keeping: isHarmless) })
    case .text, .number: isSecret && !isHarmless(self) ? .text((text ?? "").maskedText) : self
    case .null, .boolean: self
    }
  }
}

private let secretNames: Set = [
  "key", "auth", "authorization", "bearer", "credentials", "jwt", "pass", "passwd", "pwd", "session", "sid", "sig",
  "appid",
]

private let secretEndings = [
  "apikey", "accesskey", "appkey", "authkey", "clientkey", "privatekey", "secretkey", "subscriptionkey", "credential",
  "password", "secret", "sessionid", "signature", "token",
]
