import RosterAuth
package import RosterConfiguration
import RosterFetch
import RosterModel
import RosterSync
package import RosterSystemd

// The settings that each part takes from the configuration.

extension Configuration {
  /// Settings of the log.
  package var logSettings: LogSettings { LogSettings(level: log.level, format: log.format) }
}

extension HTTPTransport.Settings {
  /// Throws a Failure (78) if the ca_file has become invalid since it was checked.
  init(_ configuration: Configuration) throws(Failure) {
    let upstream = configuration.upstream
    let identity: ClientIdentity?
    do { identity = try configuration.clientIdentity() } catch { throw error.failure }
    self.init(
      timeout: upstream.timeout, connections: configuration.sync.concurrency,
      roots: try TrustedRoots(upstream.tls), pins: upstream.tls.pins, proxies: configuration.proxies,
      identity: identity)
  }
}

extension TrustedRoots {
  fileprivate init(_ tls: Configuration.TLS) throws(Failure) {
    self = tls.caFile.isEmpty ? .system(SystemRoots(tls.systemRoots)) : .bundle(try CABundle(path: tls.caFile))
  }
}

extension Schedule.Settings {
  init(_ configuration: Configuration) {
    let sync = configuration.sync
    self.init(interval: sync.interval, jitter: sync.jitter, retryInterval: sync.retryInterval)
  }
}
