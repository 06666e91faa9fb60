import RosterCore

extension ValueType<[TokenPlace]> {
  /// One place, or a list of places. A variable has the list in TOML. The messages do not repeat the text, because a
  /// user may have written the token itself there.
  static var tokenPlaces: Self {
    Self(
      name: "a string or a list of strings", allowed: allowed,
      read: { (item) throws(Mistakes) in
        switch item {
        case .string(let text):
          if text.hasPrefix("["), case .list(let items)? = TOMLDocument.item(text) { return try places(items) }
          return [try place(text)]
        case .list(let items): return try places(items)
        default: throw Mistakes(item.isNotShown("a string or a list of strings"))
        }
      },
      write: { places in
        places.count == 1 ? .string(places[0].text) : .list(places.map { .string($0.text) })
      })
  }

  private static var allowed: String {
    "\"NAME: {access_token}\", a header, \"?NAME={access_token}\", a query parameter, "
      + "\"/NAME={access_token}\", a member of a POST, or a list of them"
  }

  private static func places(_ items: [TOMLItem]) throws(Mistakes) -> [TokenPlace] {
    var places: [TokenPlace] = []
    for item in items {
      guard case .string(let text) = item else { throw Mistakes(item.isNotShown("a string")) }
      let place = try place(text)
      guard !places.contains(where: { $0.isSamePlace(as: place) }) else {
        throw Mistakes("names one place twice", allowed: "each header, parameter and member once")
      }
      places.append(place)
    }
    guard !places.isEmpty else { throw Mistakes("is an empty list") }
    return places
  }

  private static func place(_ text: String) throws(Mistakes) -> TokenPlace {
    if let mistake = HeaderText.mistake(in: text) { throw Mistakes(mistake) }
    guard let place = TokenPlace(text) else {
      throw Mistakes("is neither a header nor a query parameter nor a member of a POST")
    }
    if let unknown = place.value.unknownPlaceholder {
      throw Mistakes("\(unknown) is no placeholder", allowed: CredentialPlaceholder.allowed)
    }
    guard !place.placeholders.isEmpty else {
      throw Mistakes("does not hold a placeholder such as \(TokenPlace.placeholder), as its value")
    }
    try place.carrier.check(place.name, in: text)
    return place
  }
}

extension TokenPlace {
  fileprivate func isSamePlace(as other: TokenPlace) -> Bool {
    carrier == other.carrier
      && (carrier == .header ? name.lowercased() == other.name.lowercased() : name == other.name)
  }
}

extension CredentialPlaceholder {
  /// All placeholders in words.
  static var allowed: String { allCases.map(\.text).joined(separator: " ") }
}

extension TokenPlace.Carrier {
  /// A parameter is encoded when it is sent. A text that is already encoded would be encoded twice.
  fileprivate func check(_ name: String, in text: String) throws(Mistakes) {
    switch self {
    case .header:
      guard name.isHTTPToken else {
        throw Mistakes("the text before the colon is not a header name", allowed: HeaderText.allowedInName)
      }
      guard !HeaderText.isOwn(name) else {
        throw Mistakes("names a header that is rosterd's own to send", allowed: "any other header")
      }
    case .parameter:
      guard !name.isEmpty, !name.contains(TokenPlace.placeholder) else { throw Mistakes("names no query parameter") }
      guard !text.contains(where: { "&#%".contains($0) }) else {
        throw Mistakes("holds &, # or %", allowed: "one parameter, without percent-encoding")
      }
    case .body: break
    }
  }
}

extension ValueType<TokenPlace?> {
  /// The messages do not repeat the text, which may contain a secret.
  static var templateField: Self {
    .text(
      allowed: "\"NAME: VALUE\", a header, or \"?NAME=VALUE\", a query parameter, or nothing",
      parse: { (text) throws(Mistakes) in
        if text.isEmpty { return nil }
        if let mistake = HeaderText.mistake(in: text) { throw Mistakes(mistake) }
        guard let field = TokenPlace(text), field.carrier != .body else {
          throw Mistakes("is neither a header nor a query parameter")
        }
        try field.carrier.check(field.name, in: text)
        return field
      },
      write: { $0?.maskedText ?? "" })
  }
}

extension ValueType<TokenSource?> {
  /// nil is written as an empty text.
  static var tokenSource: Self {
    .text(
      allowed: "a JSON Pointer such as \"/access\", \"header:NAME\", \"cookie:NAME\", \"body\", or nothing",
      parse: { (text) throws(Mistakes) in
        if text.isEmpty { return nil }
        guard let source = TokenSource(text) else { throw Mistakes("\(text.tomlString) is no place in an answer") }
        return source
      },
      write: { $0?.text ?? "" })
  }
}

extension ValueType<[Request.Parameter]> {
  /// A table of fields. The messages do not repeat a value, which may be a secret.
  static var parameters: Self {
    Self(
      name: "a table of strings", allowed: "names with their values as strings", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .table(let items) = item else { throw Mistakes(item.isNotShown("a table of strings")) }
        return try items.list.sorted { $0.name < $1.name }.map { (entry) throws(Mistakes) in
          guard case .string(let value) = entry.item else {
            throw Mistakes([Mistake(entry.item.isNotShown("a string"), allowed: "a string", entry: entry.name)])
          }
          return Request.Parameter(entry.name, value)
        }
      },
      write: { parameters in
        .table(
          TOMLMembers(parameters.map { .init(name: $0.name, item: .string($0.name.namesSecret ? "***" : $0.value)) }))
      })
  }
}

extension TokenPlace {
  /// A value without a placeholder may be a secret.
  fileprivate var maskedText: String {
    var field = self
    if placeholders.isEmpty { field.value = "***" }
    return field.text
  }
}
