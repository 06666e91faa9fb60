import RosterModel

extension Secret {
  /// The oddity of a credential file's content, as a clause; nil without one. rosterd sends the content unchanged,
  /// because any of this may belong to a credential.
  package var oddity: String? {
    let bytes = Array(reveal().utf8)
    guard let first = bytes.first, let last = bytes.last else { return nil }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return "begins with a byte order mark" }
    if bytes.contains(0) { return "contains a NUL byte" }
    if bytes.contains(where: \.endsLine) {
      return first.endsLine || last.endsLine ? "has an empty line" : "has more than one line"
    }
    if first.isBlank || last.isBlank { return "\(first.isBlank ? "begins" : "ends") with a blank" }
    if bytes.count > 1, first == last, first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") {
      return "is in quotes"
    }
    return isAssignment ? "looks like NAME=VALUE" : nil
  }

  /// True for `REFRESH_TOKEN=…`, as a file of variables has it.
  private var isAssignment: Bool {
    let name = reveal().utf8.prefix { $0 != UInt8(ascii: "=") }
    guard name.count < reveal().utf8.count, name.contains(UInt8(ascii: "_")) else { return false }
    return name.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || $0 == UInt8(ascii: "_") }
  }
}

extension UInt8 {
  fileprivate var endsLine: Bool { self == UInt8(ascii: "\n") || self == UInt8(ascii: "\r") }

  fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}

extension Credentials {
  /// Oddities of the files, as clauses for a refusal; empty without any.
  /// - Parameter session: the session that was refused, whose refresh token may not be that of the file.
  func oddities(_ settings: TokenSettings, session: Session?) -> String {
    let files = settings.flow.refreshes ? CredentialFile.allCases : settings.fixedFiles
    return files.compactMap { file in
      guard let secret = self[file], let oddity = secret.oddity else { return nil }
      if file == .refreshToken, let session, session.refreshToken != secret { return nil }
      return "; \(settings.path(file.rawValue)) \(oddity)"
    }.joined()
  }
}
