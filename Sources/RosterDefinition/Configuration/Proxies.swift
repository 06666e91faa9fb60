import FoundationEssentials
import Glibc
package import RosterCore

/// `upstream.proxy`.
package enum ProxyChoice: Sendable, Equatable {
  /// The proxies of `EnvironmentProxies`.
  case environment
  case none
  case server(ProxyServer)
}

/// The values of `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY` and their lower-case forms, which take precedence as in curl.
/// An empty variable counts as unset.
package struct EnvironmentProxies: Sendable, Equatable {
  var http: Variable?
  var https: Variable?
  var exceptions: [ProxyException] = []
  /// Name of an `ALL_PROXY` that is set while neither of the variables that are read is set.
  var ignored: String?

  struct Variable: Sendable, Equatable {
    var name: String
    var value: String

    func server() throws(Mistakes) -> ProxyServer { try ProxyServer(variable: name, value) }
  }

  init() {}

  init(_ environment: [String: String]) {
    func variable(_ name: String) -> Variable? {
      for name in [name, name.uppercased()] {
        if let value = environment[name], !value.isEmpty { return Variable(name: name, value: value) }
      }
      return nil
    }
    http = variable("http_proxy")
    https = variable("https_proxy")
    exceptions = ProxyException.list(variable("no_proxy")?.value ?? "")
    ignored = http == nil && https == nil ? variable("all_proxy")?.name : nil
  }
}

extension ValueType<ProxyChoice> {
  static var proxy: Self {
    .text(
      allowed: "\"http://[USER:PASSWORD@]HOST:PORT\", \"none\", or nothing",
      parse: { (text) throws(Mistakes) in
        switch text {
        case "": return .environment
        case "none": return .none
        default:
          guard text.lowercased().hasPrefix("http://") else { throw Mistakes("is neither an http URL nor \"none\"") }
          return .server(try ProxyServer(text, defaultPort: nil, setting: "upstream.proxy"))
        }
      },
      write: { choice in
        switch choice {
        case .environment: ""
        case .none: "none"
        case .server(let server):
          // A user without a password is accepted when it is read again.
          server.authorization == nil ? server.url : server.url.replacing("http://", with: "http://***@")
        }
      })
  }
}

extension ProxyServer {
  /// The port that curl uses for a variable without a port (curl(1), --proxy).
  private static let usualPort = 1080

  fileprivate init(variable: String, _ text: String) throws(Mistakes) {
    let url = text.contains("://") ? text : "http://\(text)"
    try self.init(url, defaultPort: Self.usualPort, setting: variable)
  }

  /// The messages do not repeat the address, which may contain a password.
  fileprivate init(_ text: String, defaultPort: Int?, setting: String) throws(Mistakes) {
    guard let parts = URLComponents(string: text, encodingInvalidCharacters: false) else {
      throw Mistakes("is not a URL")
    }
    guard parts.scheme?.lowercased() == "http" else {
      throw Mistakes("names a proxy that is not spoken to in plain HTTP, the only kind that rosterd knows")
    }
    guard !parts.plainHost.isEmpty else { throw Mistakes("names no host") }
    guard parts.path.isEmpty || parts.path == "/", parts.query == nil, parts.fragment == nil else {
      throw Mistakes("holds more than a host and a port")
    }
    guard !parts.hasBadPort else { throw Mistakes("has a port that is not 1 to \(UInt16.max)") }
    guard let port = parts.port ?? defaultPort else { throw Mistakes("names no port") }
    let authorization = parts.user.map { ProxyAuthorization(user: $0, password: parts.password ?? "") }
    self.init(
      host: parts.plainHost, port: port,
      authorization: authorization, setting: setting)
  }
}

extension URLComponents {
  /// The host without the brackets of an IPv6 address; empty if the host is missing.
  var plainHost: String {
    let host = host ?? ""
    return host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
  }
}
