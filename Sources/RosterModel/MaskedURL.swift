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

private let secretNames: Set = [
  "key", "auth", "authorization", "bearer", "credentials", "jwt", "pass", "passwd", "pwd", "session", "sid", "sig",
  "appid",
]

private let secretEndings = [
  "apikey", "accesskey", "appkey", "authkey", "clientkey", "privatekey", "secretkey", "subscriptionkey", "credential",
  "password", "secret", "sessionid", "signature", "token",
]
