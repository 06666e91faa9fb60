import RosterCore

extension Configuration {
  /// Rules between keys. The paths must be filled in.
  static var rules: [KeyRule<Configuration>] {
    serverRules + pathRules + flowRules + sendRules + exchangeRules + assertionRules
  }

  /// Conflicts that the values alone show.
  func conflicts() -> [Conflict] {
    Self.rules.flatMap { rule in
      rule.violations(self).map { violation in
        Conflict(
          keys: (violation.key.map { [$0] } ?? []) + rule.keys, entry: violation.entry.first,
          problem: violation.problem, allowed: violation.allowed ?? rule.allowed, rule: rule.name)
      }
    } + unusableProxies
  }

  private static var serverRules: [KeyRule<Configuration>] {
    [
      .key("upstream.tls.pins", beside: [base], of: "F7.8", httpBase, allowed: "pins with an https base_url") {
        !$0.upstream.tls.pins.isEmpty && !$0.isHTTPS
      },
      .key("upstream.tls.cert_file", beside: [base], of: "F6.1", httpBase, allowed: "cert_file with an https base_url")
      {
        !$0.upstream.tls.certFile.isEmpty && !$0.isHTTPS
      },
      .needs("upstream.tls.key_file", "upstream.tls.cert_file", of: "F6.1") {
        $0.upstream.tls.certFile.isEmpty && !$0.upstream.tls.keyFile.isEmpty
      },
      .key("retry.max_delay", beside: ["retry.base_delay"], of: "F7.1", allowed: "a max_delay of base_delay or more") {
        $0.retry.maxDelay < $0.retry.baseDelay
          ? "a max_delay of \($0.retry.maxDelay.text) is less than a base_delay of \($0.retry.baseDelay.text)" : nil
      },
      inClear("auth.token_url") { $0.auth.flow.usesTemplates ? nil : $0.resolvedTokenURL },
      inClear("auth.authorize_url") { $0.resolvedAuthorizeURL },
      inClear("auth.device_url") { $0.resolvedDeviceURL },
      inClear("auth.login.url") { $0.exchange?.login?.url },
      inClear("auth.refresh.url") { $0.exchange?.refresh?.url },
      // A token goes to these addresses too.
      .each([base], of: "F2.2", allowed: "an https URL") { configuration in
        configuration.resources.filter { configuration.isInClear($0.baseURL) }.map {
          .init(of: "resource.\($0.name).base_url", problem: httpAddress)
        }
      },
    ]
  }

  private static var pathRules: [KeyRule<Configuration>] {
    [
      .key("status.socket", of: "F7.1", allowed: "at most \(UnixSocket.maxPath) bytes") {
        $0.status.socket.utf8.count > UnixSocket.maxPath
          ? "\($0.status.socket.tomlString) is too long for a socket" : nil
      },
      .key("status.socket", of: "F7.1", allowed: "the path of a file in it") {
        let name = $0.status.socket.split(separator: "/", omittingEmptySubsequences: false).last
        return ["", ".", ".."].contains(name) ? "\($0.status.socket.tomlString) names a folder" : nil
      },
      oneFile("auth.token_store", "cache.path") { ($0.auth.tokenStore, $0.cache.path) },
      oneFile("status.socket", "cache.path") { ($0.status.socket, $0.cache.path) },
      oneFile("status.socket", "auth.token_store") { ($0.status.socket, $0.auth.tokenStore) },
    ]
  }

  private static let base = "upstream.base_url"
  private static let httpBase = "an http base_url has no TLS"
  private static let httpAddress = "an http address does not go with an https base_url"

  private static func inClear(
    _ key: String, url: @escaping @Sendable (Configuration) -> String?
  ) -> KeyRule<Configuration> {
    .key(key, beside: [base], of: "F7.8", httpAddress, allowed: "an https URL or a path") { $0.isInClear(url($0)) }
  }

  /// Two settings must not name the same file, in whatever spelling or by a hard link.
  private static func oneFile(
    _ key: String, _ other: String, paths: @escaping @Sendable (Configuration) -> (String, String)
  ) -> KeyRule<Configuration> {
    .key(key, beside: [other], of: "F7.13", "\(key) and \(other) name one file", allowed: "a file of its own") {
      let (one, other) = paths($0)
      return place(of: one) == place(of: other) || Inode(one).map { $0 == Inode(other) } ?? false
    }
  }

  private var isHTTPS: Bool { WebAddress.isHTTPS(upstream.baseURL) }

  /// True for an http address beside an https `base_url`.
  private func isInClear(_ url: String?) -> Bool { isHTTPS && url.map { !WebAddress.isHTTPS($0) } ?? false }
}
