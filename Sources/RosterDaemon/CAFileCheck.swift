import Glibc
package import RosterConfiguration
import RosterFetch
import RosterFiles
import RosterModel

extension Configuration {
  /// Like `load`, and checks the certificates of `upstream.tls.ca_file`, which only the transport can read.
  package static func loadChecked(
    file: String?, again known: String? = nil, environment: [String: String], isRoot: Bool = geteuid() == 0
  ) throws(ConfigurationFaults) -> (configuration: Configuration, warnings: [String]) {
    let (configuration, warnings) = try load(
      file: file, again: known, environment: environment, isRoot: isRoot
    ) { configuration in
      let caFile = configuration.caFileProblem.map {
        Conflict(keys: ["upstream.tls.ca_file"], problem: $0, allowed: "a readable PEM bundle")
      }
      return [caFile, configuration.clientCertificateConflict].compactMap { $0 }
    }
    return (configuration, warnings + [configuration.systemRootsProblem].compactMap(\.self))
  }

  /// A sentence; nil if `SSL_CERT_FILE` is not used, or if it has valid certificates. The check takes some milliseconds
  /// and megabytes, so it is skipped if all addresses are `http`.
  private var systemRootsProblem: String? {
    guard asksByTLS, upstream.tls.caFile.isEmpty, let path = upstream.tls.systemRoots.file else { return nil }
    return problem(ofCertificatesAt: path).map { "SSL_CERT_FILE is ignored: \($0)" }
  }

  private var asksByTLS: Bool {
    ([upstream.baseURL, resolvedTokenURL ?? ""] + resources.compactMap(\.baseURL)).contains {
      Origin(url: $0)?.scheme == "https"
    }
  }

  /// A clause; nil if there is no problem.
  private var caFileProblem: String? {
    let path = upstream.tls.caFile
    return path.isEmpty ? nil : problem(ofCertificatesAt: path)
  }

  private func problem(ofCertificatesAt path: String) -> String? {
    do throws(SystemError) { _ = try contents(of: path, limit: Self.maxBytesOfCertificates) } catch {
      return "\(path.tomlString) cannot be read: \(error.text)"
    }
    do { _ = try CABundle(path: path) } catch { return "\(path.tomlString) cannot be used: \(error.cause)" }
    return nil
  }

  /// Far above real bundles: that of Debian has a quarter of a megabyte.
  private static let maxBytesOfCertificates = 16 * 1024 * 1024
}
