import Glibc
import RosterAuth
package import RosterConfiguration
import RosterFiles
import RosterModel

extension Configuration {
  /// The folders in systemd's search order. The encrypted ones belong to `LoadCredentialEncrypted=`.
  package static let credentialStores = [
    "/etc/credstore", "/etc/credstore.encrypted", "/run/credstore", "/run/credstore.encrypted",
  ]

  /// One sentence for each missing credential that `auth.flow` needs. A path that this user may not look at counts as
  /// an existing credential.
  /// - Parameter stores: Folders in which systemd looks for the credentials of the package's units (systemd.exec(5)).
  package func missingCredentials(stores: [String] = credentialStores) -> [String] {
    if auth.flow.isKept, Self.mayExist(tokenStore) { return [] }
    return auth.flow.neededCredentials.compactMap { name in
      let places = places(of: name, stores)
      if places.contains(where: Self.mayExist) { return nil }
      let needed = "auth.flow = \"\(auth.flow.rawValue)\" needs the credential \(name)"
      guard let first = places.first else { return "\(needed), and auth.credentials_dir is not set" }
      return "\(needed), and \(first) does not exist: create it before you start rosterd, which ends with 78 otherwise"
    }
  }

  private func places(of name: String, _ stores: [String]) -> [String] {
    if !auth.credentialsDir.isEmpty { return ["\(auth.credentialsDir)/\(name)"] }
    guard let unit else { return [] }
    let prefix = unit == Self.mainUnit ? unit : "\(Self.mainUnit).\(unit)"
    return stores.map { "\($0)/\(prefix).\(name)" }
  }

  /// The token store of the unit that reads this file. Outside a service, the default path is that of
  /// `rosterd.service`.
  private var tokenStore: String {
    let system = Defaults.system
    guard let unit, unit != Self.mainUnit, auth.tokenStore == system.tokenStore else { return auth.tokenStore }
    return "\(system.stateDirectory)/\(unit)/token.json"
  }

  /// `rosterd`, or the name of the instance whose unit reads this file; nil if no unit of the package reads it.
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
