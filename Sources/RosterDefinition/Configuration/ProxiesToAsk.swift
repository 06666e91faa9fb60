import Glibc
package import RosterCore

extension Configuration {
  /// The proxy for a server that need not belong to a configuration. It comes from `upstream.proxy` in the environment
  /// or in a readable default file, else from the environment's own variables.
  package static func proxies(
    toAsk url: String, environment: [String: String], isRoot: Bool = geteuid() == 0
  ) throws(ConfigurationFaults) -> (rules: ProxyRules, warning: String?) {
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
    return (configuration.proxies, configuration.proxyWarning)
  }
}
