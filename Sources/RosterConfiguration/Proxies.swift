import FoundationEssentials
import Glibc
package import RosterModel

/// `upstream.proxy`.
package enum ProxyChoice: Sendable, Equatable {
  /// What `EnvironmentProxies` says.
  case environment
  case none
  case server(ProxyServer)
}

/// What `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY` and their lower-case forms say, which win, as curl has it. An empty one
/// is as if not set.
package struct EnvironmentProxies: Sendable, Equatable {
  var http: Variable?
  var https: Variable?
  var exceptions: [ProxyException] = []

  struct Variable: Sendable, Equatable {
    var name: String
    var value: String

    func server() throws(Mistakes) -> ProxyServer { try ProxyServer(variable: name, value) }
  }

  /// Nothing is set.
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
  }
}

extension Configuration {
  /// By way of which proxy each server is asked. What a variable says of no server that is asked is never looked at.
  package var proxies: ProxyRules {
    let environment = upstream.environmentProxies
    return switch upstream.proxy {
    case .none: ProxyRules()
    case .server(let server): ProxyRules(http: server, https: server)
    case .environment:
      ProxyRules(
        http: try? environment.http?.server(), https: try? environment.https?.server(),
        exceptions: environment.exceptions)
    }
  }

  /// Variables that name no proxy that rosterd could use, though a server is to be asked by way of it.
  var unusableProxies: [Conflict] {
    let environment = upstream.environmentProxies
    guard upstream.proxy == .environment else { return [] }
    let servers = [upstream.baseURL, resolvedTokenURL ?? ""].compactMap { URLComponents(string: $0) }
    return [("http", environment.http), ("https", environment.https)].compactMap { scheme, variable in
      guard let variable else { return nil }
      let isAsked = servers.contains { server in
        let port = server.port ?? (scheme == "https" ? 443 : 80)
        return server.scheme?.lowercased() == scheme
          && !environment.exceptions.contains { $0.covers(host: server.plainHost, port: port) }
      }
      guard isAsked else { return nil }
      do throws(Mistakes) { _ = try variable.server() } catch {
        return Conflict(
          keys: [variable.name], problem: error.list.first?.problem ?? "",
          allowed: "http://[USER:PASSWORD@]HOST[:PORT]; or upstream.proxy = \"none\"")
      }
      return nil
    }
  }
}

extension Configuration {
  /// By way of which proxy a server is asked that need not be a configuration's: as `upstream.proxy` of the environment
  /// or of the default file says, where that can be read, else as the environment's own variables do.
  package static func proxies(
    toAsk url: String, environment: [String: String], isRoot: Bool = geteuid() == 0
  ) throws(ConfigurationFaults) -> ProxyRules {
    var reader = ConfigurationReader()
    reader.readFile(Defaults(environment: environment, isRoot: isRoot).configurationFile, mustExist: false)
    reader.readEnvironment(environment)
    var configuration = reader.configuration
    (configuration.upstream.baseURL, configuration.auth.tokenURL) = (url, "")
    let key = "upstream.proxy"
    let faults =
      reader.faults.filter { $0.key == key || $0.key == "\(ConfigurationKey.variablePrefix)UPSTREAM_PROXY" }
      + configuration.unusableProxies.map {
        ConfigurationFault(file: nil, line: nil, key: $0.keys.first ?? key, problem: $0.problem, allowed: $0.allowed)
      }
    guard faults.isEmpty else { throw ConfigurationFaults(faults: faults) }
    return configuration.proxies
  }
}

extension ValueType<ProxyChoice> {
  static var proxy: Self {
    .text(
      "a string", allowed: "\"http://[USER:PASSWORD@]HOST:PORT\", \"none\", or nothing",
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
          // A user alone is taken again.
          server.authorization == nil ? server.url : server.url.replacing("http://", with: "http://***@")
        }
      })
  }
}

extension ProxyServer {
  /// curl's, where a variable names none (curl(1), --proxy).
  private static let usualPort = 1080

  fileprivate init(variable: String, _ text: String) throws(Mistakes) {
    let url = text.contains("://") ? text : "http://\(text)"
    try self.init(url, defaultPort: Self.usualPort, setting: variable)
  }

  /// The sentences do not repeat the address: it may hold a password (T9).
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
    guard let port = parts.port ?? defaultPort else { throw Mistakes("names no port") }
    guard (1...Int(UInt16.max)).contains(port) else {
      throw Mistakes("has a port that is not 1 to \(UInt16.max)")
    }
    let authorization = parts.user.map { ProxyAuthorization(user: $0, password: parts.password ?? "") }
    self.init(
      host: parts.plainHost, port: port,
      authorization: authorization, setting: setting)
  }
}

extension URLComponents {
  /// Without the brackets of an IPv6 address; empty where there is none.
  fileprivate var plainHost: String {
    let host = host ?? ""
    return host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
  }
}
