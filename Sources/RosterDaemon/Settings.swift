package import Logging
import RosterAuth
import RosterFetch
import RosterModel
import RosterSync
package import RosterSystemd

// What each part takes of the configuration.

extension Configuration {
  /// - Parameter level: what a reload changes; nil: nothing will.
  package func logger(level: LogLevel? = nil) -> Logger {
    rosterLog(format: log.format, level: level ?? LogLevel(log.level))
  }
}

extension HTTPTransport.Settings {
  init(_ configuration: Configuration) {
    let upstream = configuration.upstream
    self.init(
      timeout: upstream.timeout, connections: configuration.sync.concurrency,
      caFile: upstream.tls.caFile.isEmpty ? nil : upstream.tls.caFile)
  }
}

extension Schedule.Settings {
  init(_ configuration: Configuration) {
    let sync = configuration.sync
    self.init(interval: sync.interval, jitter: sync.jitter, retryInterval: sync.retryInterval)
  }
}
