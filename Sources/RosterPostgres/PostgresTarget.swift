internal import CPostgres
package import RosterCore

/// The server and the database to write to.
package struct PostgresTarget: Sendable, Equatable {
  /// `key='value'` words, with the password if the text had one.
  let words: String
  /// The same without user and password, for messages.
  package let shown: String
  /// False if a service file, the environment or libpq's default names the server.
  let namesHost: Bool
  /// True if the text contains a password.
  package let hasPassword: Bool

  /// - Parameters:
  ///   - text: As `psql` takes it.
  ///   - source: Where it comes from, for the message.
  /// - Throws: `Failure` (78) without any part of the text, since each may be a part of the password.
  package init(_ text: String, from source: String = "--to") throws(Failure) {
    // libpq would take an empty text for the default database of this machine.
    guard text.contains(where: { !$0.isWhitespace }) else { throw Self.unreadable(source, cause: "it is empty") }
    guard !Self.endsUserEarly(text) else {
      throw Self.unreadable(source, cause: "the user or the password has a character that must be escaped")
    }
    var message: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(text, &message) else {
      let cause = message.map { String(cString: $0) } ?? "out of memory"
      PQfreemem(message)
      throw Self.unreadable(source, cause: Self.unquoted(cause))
    }
    defer { PQconninfoFree(options) }
    var known: [String: String] = [:]
    var next = options
    while let keyword = next.pointee.keyword {
      if let value = next.pointee.val { known[String(cString: keyword)] = String(cString: value) }
      next += 1
    }
    guard known["port"].map(Self.arePorts) != false else {
      throw Self.unreadable(source, cause: "the port is not a number from 1 to 65535")
    }
    words = known.sorted { $0.key < $1.key }.map { "\($0.key)=\(Self.word($0.value))" }.joined(separator: " ")
    hasPassword = known["password"] != nil || known["sslpassword"] != nil
    let named = known["host"] ?? known["hostaddr"]
    namesHost = named != nil
    let host = named ?? known["service"].map { "the service \($0)" } ?? "the local socket"
    shown =
      "\(known["dbname"] ?? known["user"] ?? "the default database") on \(host)\(known["port"].map { ":\($0)" } ?? "")"
  }

  /// True if libpq would take a part of the user or the password for the host or the database.
  private static func endsUserEarly(_ text: String) -> Bool {
    guard let scheme = ["postgresql://", "postgres://"].first(where: text.hasPrefix) else { return false }
    let rest = text.dropFirst(scheme.count)
    // As libpq, which takes "?" as a part of the user or the password. In the parameters, "@" and "/" are allowed.
    let userEnd = rest.firstIndex { $0 == "@" || $0 == "/" }
    // If parameters follow the host at once, libpq takes "@" in them for the end of the user.
    if let userEnd, rest[userEnd] == "@", rest[..<userEnd].contains(#/\?[a-z_]+=/#) { return true }
    let host = userEnd.map { rest[$0] == "@" ? rest[rest.index(after: $0)...] : rest } ?? rest
    return host.prefix { $0 != "?" }.contains("@")
  }

  /// - Parameter text: One port, or a port for each of several hosts, separated by commas.
  private static func arePorts(_ text: String) -> Bool {
    text.split(separator: ",").allSatisfy { UInt16($0).map { $0 > 0 } ?? false }
  }

  /// libpq's words up to the first part of the text that they quote.
  static func unquoted(_ message: String) -> String {
    let line = PostgresFailure.oneLine(message.replacing("\"=\"", with: "'='"))
    return line.contains("\"") ? line.prefix { $0 != "\"" } + "…" : line
  }

  static func unreadable(_ source: String, cause: String) -> Failure {
    Failure(
      .configuration, step: "read the connection URL", subject: source, cause: cause,
      hint: "write postgresql://USER@HOST/DATABASE, with %25 for %, %40 for @, %2F for / in its parts")
  }

  private static func word(_ value: String) -> String {
    let escaped = value.flatMap { $0 == "'" || $0 == "\\" ? ["\\", $0] : [$0] }
    return "'\(String(escaped))'"
  }
}

extension PostgresFailure {
  /// - Parameter message: libpq's words with SQLSTATE, as PQERRORS_VERBOSE makes them.
  static func connecting(_ message: String, needsPassword: Bool, to server: String) -> Failure {
    let lines = message.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("LOCATION:") }
    let text = lines.joined(separator: "\n")
    let states = text.matches(of: #/:  ([0-9A-Z]{5}): /#).map { String($0.1) }
    if ["invalid ", "definition of service "].contains(where: text.hasPrefix) {
      return PostgresTarget.unreadable(server, cause: PostgresTarget.unquoted(text))
    }
    let isPasswordMissing = states.isEmpty && needsPassword
    let refusal = isPasswordMissing ? "28P01" : states.first { $0.hasPrefix("28") || $0 == "42501" }
    return Failure(
      refusal == nil ? .unreachable : .refused, step: "connect to PostgreSQL", subject: server,
      cause: oneLine(text.replacing(#/:  [0-9A-Z]{5}: /#, with: ":  ")),
      hint: connectingHint(refusal ?? states.first { $0 == "3D000" }))
  }

  /// - Parameter state: SQLSTATE; nil if the server reported none that has its own advice.
  private static func connectingHint(_ state: String?) -> String {
    switch state {
    case "3D000": "create the database, or correct its name in the connection URL"
    case "28P01":
      "see that the role and its password are right: a passfile (PGPASSFILE), or the credential passfile or url"
    case "42501": "let the role connect to the database: GRANT CONNECT ON DATABASE … TO …"
    case .some: "see that there is a role of this name, that it may log in, and that pg_hba.conf lets the role connect"
    case nil: "see that the server runs and accepts connections from this machine (pg_hba.conf)"
    }
  }
}
