import Glibc
import RosterAuth
package import RosterConfiguration
import RosterFiles
import RosterModel

extension Configuration {
  /// Folders, in the order in which systemd looks at them; the encrypted ones are for `LoadCredentialEncrypted=`.
  package static let credentialStores = [
    "/etc/credstore", "/etc/credstore.encrypted", "/run/credstore", "/run/credstore.encrypted",
  ]

  /// A sentence for each credential that `auth.flow` needs and that does not exist. A place that this user may not look
  /// at counts as one that has the credential.
  /// - Parameter stores: Folders in which systemd looks for the credentials of the package's units (systemd.exec(5)).
  package func missingCredentials(stores: [String] = credentialStores) -> [String] {
    let settings = TokenSettings(self)
    if settings.isKept, Self.mayExist(tokenStore) { return [] }
    return settings.neededCredentials.compactMap { name in
      let places = places(of: name, stores)
      if places.contains(where: Self.mayExist) { return nil }
      let needed = "auth.flow = \"\(auth.flow.rawValue)\" needs the credential \(name)"
      guard let first = places.first else { return "\(needed), and auth.credentials_dir is not set" }
      return "\(needed), and \(first) does not exist: create it before you start rosterd, which ends with 78 otherwise"
    }
  }

  /// The file of this credential, or the file that systemd copies; nil if no unit of the package reads this
  /// configuration.
  func credentialSource(of name: String) -> String? { places(of: name, Self.credentialStores).first }

  /// The unit that reads this file; nil if the package has no such unit.
  var unitName: String? { unit.map { $0 == Self.mainUnit ? $0 : "\(Self.mainUnit)@\($0)" } }

  private func places(of name: String, _ stores: [String]) -> [String] {
    if !auth.credentialsDir.isEmpty { return ["\(auth.credentialsDir)/\(name)"] }
    guard let unit else { return [] }
    let prefix = unit == Self.mainUnit ? unit : "\(Self.mainUnit).\(unit)"
    return stores.map { "\($0)/\(prefix).\(name)" }
  }

  /// The token store of the unit that reads this file: outside a service the default is that of `rosterd.service`.
  private var tokenStore: String {
    let system = Defaults.system
    guard let unit, unit != Self.mainUnit, auth.tokenStore == system.tokenStore else { return auth.tokenStore }
    return "\(system.stateDirectory)/\(unit)/token.json"
  }

  /// `rosterd`, or the name of the instance whose unit reads this file; nil if no unit of the package does.
  private var unit: String? {
    guard let path, parentFolder(of: path) == parentFolder(of: Defaults.system.configurationFile) else { return nil }
    let file = path.dropFirst(parentFolder(of: path).count + 1)
    return file.hasSuffix(".toml") ? String(file.dropLast(".toml".count)) : nil
  }

  private static let mainUnit = "rosterd"

  private static func mayExist(_ path: String) -> Bool {
    fileStatus(path) != nil || ![ENOENT, ENOTDIR].contains(errno)
  }
}
