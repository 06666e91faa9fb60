import FoundationEssentials
import Logging
import RosterAuth
import RosterFetch
import RosterModel
import RosterSystemd

/// One key of the configuration: what it takes, what it is for, how it is read and shown. The list serves the file, the environment,
/// `rosterd check` and the sample file.
package struct Key: Sendable {
  /// `sync.concurrency`.
  package let name: String
  /// What is allowed, for people.
  package let allowed: String
  /// One line for the sample file.
  package let about: String
  /// Whether a reload leaves it as it is.
  package let needsRestart: Bool
  /// Whether a bare text in the environment is its value; else it is read as TOML.
  let isText: Bool
  /// Sets it, or says what is wrong with the value.
  let read: @Sendable (Setting, inout Configuration) -> String?
  let show: @Sendable (Configuration) -> Setting

  /// ROSTERD_SYNC_CONCURRENCY.
  package var variable: String { "ROSTERD_" + name.uppercased().replacing(".", with: "_") }
  var path: [String] { name.split(separator: ".").map(String.init) }
  var section: String { path.dropLast().joined(separator: ".") }

  func isEqual(_ one: Configuration, _ other: Configuration) -> Bool { show(one) == show(other) }
}

private typealias Path<Value> = any WritableKeyPath<Configuration, Value> & Sendable

extension Key {
  private static func text(
    _ name: String, _ path: Path<String>, _ allowed: String, _ about: String, restart: Bool = false,
    check: @escaping @Sendable (inout String) -> String? = { _ in nil }
  ) -> Key {
    Key(name: name, allowed: allowed, about: about, needsRestart: restart, isText: true) { setting, configuration in
      guard case .string(var text) = setting else { return "is \(setting.kind), not a string" }
      if let problem = check(&text) { return problem }
      configuration[keyPath: path] = text
      return nil
    } show: {
      .string($0[keyPath: path])
    }
  }

  private static func duration(
    _ name: String, _ path: Path<Duration>, atLeast least: Duration, _ about: String
  ) -> Key {
    let allowed = "a number and a unit (ms, s, m, h, d), at least \(least.text)"
    return Key(name: name, allowed: allowed, about: about, needsRestart: false, isText: true) {
      setting, configuration in
      if case .integer(let number) = setting { return "has no unit; for seconds write \"\(number)s\"" }
      guard case .string(let text) = setting else { return "is \(setting.kind), not a duration" }
      guard let duration = Duration(text: text) else { return "is not a duration" }
      if duration < least { return "is too short" }
      configuration[keyPath: path] = duration
      return nil
    } show: {
      .string($0[keyPath: path].text)
    }
  }

  private static func integer(_ name: String, _ path: Path<Int>, _ range: ClosedRange<Int>, _ about: String) -> Key {
    let allowed = "\(range.lowerBound) to \(range.upperBound)"
    return Key(name: name, allowed: allowed, about: about, needsRestart: false, isText: false) {
      setting, configuration in
      guard case .integer(let number) = setting else { return "is \(setting.kind), not an integer" }
      guard range.contains(number) else { return "\(number) is out of range" }
      configuration[keyPath: path] = number
      return nil
    } show: {
      .integer($0[keyPath: path])
    }
  }

  private static func oneOf(_ name: String, _ path: Path<String>, _ values: [String], _ about: String) -> Key {
    text(name, path, values.joined(separator: ", "), about) { values.contains($0) ? nil : "is none of them" }
  }
}

// MARK: The list

extension Key {
  /// In the order of the sample file.
  package static let all: [Key] =
    upstream + sync + retry + auth + [
      text("cache.path", \.cache.path, "a path", "the cache database", restart: true, check: notEmpty),
      duration("cache.history", \.cache.history, atLeast: .seconds(86400), "how long syncs and changes are kept"),
      text("status.socket", \.status.socket, "a path", "the status socket", restart: true, check: notEmpty),
      socketMode,
      oneOf("log.level", \.log.level, Logger.Level.allCases.map(\.rawValue), "how much is logged"),
      oneOf(
        "log.format", \.log.format, LogFormat.allCases.map(\.rawValue),
        "auto: journald where stderr is the journal, else text"),
    ]

  private static let upstream: [Key] = [
    text(
      "upstream.base_url", \.upstream.baseURL, "an http or https URL without user, password, query and fragment",
      "pages come from {base_url}/character?page=N", restart: true, check: baseURL),
    headers,
    duration(
      "upstream.timeout", \.upstream.timeout, atLeast: .milliseconds(100), "one attempt, from connect to last byte"),
    text("upstream.tls.ca_file", \.upstream.caFile, "a PEM file", "used instead of the system's roots"),
    list(
      "upstream.tls.pins", \.upstream.pins, #"a list of "sha256/BASE64", each of 32 bytes"#,
      "of the server's own SubjectPublicKeyInfo, besides the chain's verification"
    ) { element in
      guard case .string(let pin) = element, pin.hasPrefix("sha256/"),
        Data(base64Encoded: String(pin.dropFirst("sha256/".count)))?.count == 32
      else { return nil }
      return pin
    } show: {
      .string($0)
    },
  ]

  private static let sync: [Key] = [
    duration(
      "sync.interval", \.sync.interval, atLeast: .milliseconds(100),
      "from the end of a sync to the next; the first starts at once"),
    duration("sync.jitter", \.sync.jitter, atLeast: .zero, "up to this much is added to the interval, at random"),
    duration(
      "sync.retry_interval", \.sync.retryInterval, atLeast: .milliseconds(100),
      "after a failed sync; doubles up to interval"),
    integer("sync.concurrency", \.sync.concurrency, 1...64, "pages in flight"),
    integer(
      "sync.max_removal", \.sync.maxRemoval, 0...100, "percent of the snapshot's characters that one sync may remove"),
  ]

  private static let retry: [Key] = [
    integer("retry.max_retries", \.retry.maxRetries, 0...20, "of one request, after its first attempt"),
    duration("retry.base_delay", \.retry.baseDelay, atLeast: .zero, "the first delay; the next are twice as long each"),
    duration("retry.max_delay", \.retry.maxDelay, atLeast: .zero, "the longest delay; at least base_delay"),
    duration("retry.jitter", \.retry.jitter, atLeast: .zero, "up to this much is added to each delay, at random"),
    duration(
      "retry.max_retry_after", \.retry.maxRetryAfter, atLeast: .zero,
      "a longer Retry-After ends the sync; the next one waits for it"),
  ]

  private static let auth: [Key] = [
    flow,
    text(
      "auth.token_url", \.auth.tokenURL, "a URL, or a path: from the origin if it starts with /, else below base_url",
      "where tokens come from"),
    text("auth.scope", \.auth.scope, "a string", "sent with token requests where it is not empty"),
    duration(
      "auth.early_refresh", \.auth.earlyRefresh, atLeast: .zero, "a token this close to its expiry is refreshed first"),
    list(
      "auth.logout_status", \.auth.logoutStatus, "a list of statuses from 400 to 599",
      "statuses of page requests that end the session at once, e.g. [403]"
    ) { element in
      if case .integer(let status) = element, (400...599).contains(status) { status } else { nil }
    } show: {
      .integer($0)
    },
    text(
      "auth.credentials_dir", \.auth.credentialsDir, "a path",
      "holds the files refresh_token, access_token, client_id, client_secret"),
    text(
      "auth.token_store", \.auth.tokenStore, "a path", "where the current tokens are kept", restart: true,
      check: notEmpty),
  ]

  private static let flow = Key(
    name: "auth.flow", allowed: Flow.allCases.map(\.rawValue).joined(separator: ", "),
    about: "how tokens are got", needsRestart: false, isText: true
  ) { setting, configuration in
    guard case .string(let text) = setting else { return "is \(setting.kind), not a string" }
    guard let flow = Flow(rawValue: text) else { return "is none of them" }
    configuration.auth.flow = flow
    return nil
  } show: {
    .string($0.auth.flow.rawValue)
  }

  private static let socketMode = Key(
    name: "status.socket_mode", allowed: #"octal digits in quotes, "0000" to "0777""#, about: "who may ask",
    needsRestart: false, isText: true
  ) { setting, configuration in
    guard case .string(let text) = setting else { return "is \(setting.kind), not a string" }
    guard let mode = UInt16(text, radix: 8), mode <= 0o777, text.first?.isNumber == true else { return "is not a mode" }
    configuration.status.socketMode = mode
    return nil
  } show: {
    let digits = String($0.status.socketMode, radix: 8)
    return .string(String(repeating: "0", count: max(0, 4 - digits.count)) + digits)
  }

  private static let headers = Key(
    name: "upstream.headers", allowed: "a table of strings, such as { \"X-Team\" = \"blue\" }",
    about: "added to every page request; may replace User-Agent and Accept", needsRestart: false, isText: false
  ) { setting, configuration in
    guard case .table(let members) = setting else { return "is \(setting.kind), not a table" }
    var headers: [String: String] = [:]
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      guard case .string(let text) = value else { return "\(name) is \(value.kind), not a string" }
      if !HeaderName.isValid(name) { return "\(Setting.quoted(name)) is no header name" }
      if text.utf8.contains(where: { $0 == 13 || $0 == 10 || $0 == 0 }) {
        return "the value of \(name) holds a line break"
      }
      if headers.keys.contains(where: { $0.lowercased() == name.lowercased() }) { return "\(name) is given twice" }
      headers[name] = text
    }
    configuration.upstream.headers = headers
    return nil
  } show: {
    .table($0.upstream.headers.mapValues { .string($0) })
  }

  private static func list<Element>(
    _ name: String, _ path: Path<[Element]>, _ allowed: String, _ about: String,
    element: @escaping @Sendable (Setting) -> Element?, show: @escaping @Sendable (Element) -> Setting
  ) -> Key {
    Key(name: name, allowed: allowed, about: about, needsRestart: false, isText: false) { setting, configuration in
      guard case .list(let settings) = setting else { return "is \(setting.kind), not a list" }
      let elements = settings.map(element)
      if let bad = elements.firstIndex(where: { $0 == nil }) { return "its element \(bad + 1) is not allowed" }
      configuration[keyPath: path] = elements.compactMap { $0 }
      return nil
    } show: {
      .list($0[keyPath: path].map(show))
    }
  }

  @Sendable private static func notEmpty(_ text: inout String) -> String? { text.isEmpty ? "is empty" : nil }

  @Sendable private static func baseURL(_ text: inout String) -> String? {
    while text.hasSuffix("/") { text.removeLast() }
    guard Origin(url: text) != nil, let url = URL(string: text) else { return "is not an http or https URL" }
    if url.user() != nil || url.password() != nil { return "holds a user or a password" }
    if url.query() != nil || text.contains("?") { return "holds a query" }
    if url.fragment() != nil || text.contains("#") { return "holds a fragment" }
    return nil
  }
}

/// RFC 9110 §5.1.
enum HeaderName {
  static func isValid(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !separators.contains($0) }
  }

  /// Headers whose values are masked wherever they are shown.
  static func looksSecret(_ name: String) -> Bool {
    let name = name.lowercased()
    return secretParts.contains { name.contains($0) }
  }

  private static let separators = Set("\"(),/:;<=>?@[\\]{}".utf8)
  private static let secretParts = [
    "auth", "token", "secret", "key", "password", "cookie", "credential", "session", "signature",
  ]
}
