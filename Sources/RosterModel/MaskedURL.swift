extension String {
  /// A URL as it may be shown: without what its query says, which may hold a key (T9).
  package var queryMasked: String {
    guard let mark = firstIndex(of: "?") else { return self }
    return "\(self[...mark])***"
  }

  /// A URL, or a part of one, without the values of those parameters whose names are a credential's.
  package var secretsMasked: String {
    guard let mark = firstIndex(of: "?") else { return self }
    let parameters = self[index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false).map { pair in
      let name = pair.prefix { $0 != "=" }
      return name.count < pair.count && String(name).namesSecret ? "\(name)=***" : String(pair)
    }
    return self[...mark] + parameters.joined(separator: "&")
  }

  /// Whether a parameter of this name holds a credential: `api_key`, `X-Amz-Signature`, `accessToken`. It is not as
  /// strict as `rosterd infer`: what it takes for one is not shown to whom it belongs.
  package var namesSecret: Bool {
    let word = lowercased().filter { $0.isLetter || $0.isNumber }
    return secretNames.contains(word) || secretEndings.contains { word.hasSuffix($0) }
  }
}

extension JSONValue {
  /// The same shape, without the texts and numbers under a credential's name: what is read from it again fits the same
  /// places.
  package var secretsMasked: JSONValue { masked(false) }

  private func masked(_ isSecret: Bool) -> JSONValue {
    switch self {
    case .object(let members):
      .object(members.map { Member($0.name, $0.value.masked(isSecret || $0.name.namesSecret)) })
    case .list(let elements): .list(elements.map { $0.masked(isSecret) })
    case .text, .number: isSecret ? .text("***") : self
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
