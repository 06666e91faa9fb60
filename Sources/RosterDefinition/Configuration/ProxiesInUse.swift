import FoundationEssentials
package import RosterCore

extension Configuration {
  /// The proxies for the servers. A variable that no request needs is never checked.
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

  /// A sentence if the environment names a proxy only in a variable that rosterd does not read.
  var proxyWarning: String? {
    guard upstream.proxy == .environment, let name = upstream.environmentProxies.ignored else { return nil }
    return
      "\(name) is ignored, so upstream is asked without a proxy; set HTTPS_PROXY and HTTP_PROXY, or upstream.proxy (\"none\" to confirm)"
  }

  /// Variables without a usable proxy that a request would need.
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
