import FoundationEssentials
import Glibc
import RosterAuth
import RosterCore
package import RosterDefinition

extension Configuration {
  /// The folders in systemd's search order. The encrypted ones belong to `LoadCredentialEncrypted=`.
  package static let credentialStores = [
    "/etc/credstore", "/etc/credstore.encrypted", "/run/credstore", "/run/credstore.encrypted",
  ]

  /// One sentence for each missing credential that `auth.flow` needs. A path that this user may not look at counts as
  /// an existing credential. The token store of this server, flow and client replaces a missing token, and no empty
  /// file.
  /// - Parameters:
  ///   - stores: Folders in which systemd looks for the credentials of the package's units (systemd.exec(5)).
  ///   - unitFolders: Folders in which systemd looks for drop-ins.
  package func missingCredentials(
    stores: [String] = credentialStores, unitFolders: [String] = unitFolders
  ) -> [String] {
    let settings = TokenSettings(self)
    return settings.neededCredentials.compactMap { name in
      let places = places(of: name, stores, unitFolders: unitFolders)
      let needed = "auth.flow = \"\(auth.flow.rawValue)\" needs the credential \(name)"
      if let found = places.first(where: Self.mayExist) {
        guard Self.isEmpty(found), settings.refusesEmpty(name) else { return nil }
        return "\(needed), and \(found) is empty: write it before you start rosterd, which ends with 78 otherwise"
      }
      if settings.mayKeep(name), !settings.lacksStored(name, at: tokenStore, client: client(stores)) {
        return nil
      }
      guard let first = places.first else { return "\(needed), and auth.credentials_dir is not set" }
      return "\(needed), and \(first) does not exist: create it before you start rosterd, which ends with 78 otherwise"
    }
  }

  /// One sentence for each credential file whose content looks like more than a credential, or like none.
  package func oddCredentials(stores: [String] = credentialStores) -> [String] {
    guard auth.flow.sendsToken else { return [] }
    return CredentialFile.allCases.filter(\.isSentAsItIs).compactMap { file in
      guard let path = places(of: file.rawValue, stores).first(where: Self.mayExist), !path.contains(".encrypted/"),
        let bytes = try? contents(of: path, limit: Credentials.maxBytes), let text = Credentials.text(bytes)
      else { return nil }
      if file == .clientSecret, Credentials.isEmpty(bytes), auth.flow.identifiesClient {
        return "\(path) is empty, and is sent as an empty secret; a client without a secret has no such file"
      }
      return Secret(text).oddity.map { "\(path) \($0), which rosterd sends: write only the credential into it" }
    }
  }

  /// A sentence if the token store has the session of another server, flow or client; else nil.
  package func foreignSession(stores: [String] = credentialStores) -> String? {
    TokenSettings(self).foreignSession(at: tokenStore, client: client(stores))
  }

  /// A sentence if the refresh token lives shorter than the time between two syncs; nil otherwise. Only a
  /// running daemon keeps such a session.
  package var renewalWarning: String? {
    guard let life = TokenSettings(self).renewalLife(at: tokenStore), life < sync.interval else { return nil }
    return "the session ends \(life.text) after its last token, and sync.interval is \(sync.interval.text): "
      + "only a running daemon renews it in between"
  }

  /// How a sync by hand gets the credentials that systemd has for the unit that reads this file: the arguments of
  /// systemd-run(1). nil if systemd has none, or if rosterd looks elsewhere.
  package func serviceCredentialHint(stores: [String] = credentialStores) -> String? {
    guard auth.credentialsDir.isEmpty else { return nil }
    let loads = TokenSettings(self).neededCredentials.compactMap { name in
      places(of: name, stores).first { fileStatus($0) != nil }.map { path in
        let key = path.contains(".encrypted/") ? "LoadCredentialEncrypted" : "LoadCredential"
        return "-p \(key)=\(name):\(path.split(separator: "/").last ?? "")"
      }
    }
    guard !loads.isEmpty else { return nil }
    return "only the service gets that credential: run the sync by systemd-run with "
      + "\(loads.joined(separator: " ")), as EXAMPLES of rosterd(8) shows"
  }

  /// The file of this credential, or the file that systemd copies; nil if no unit of the package reads this
  /// configuration.
  func credentialSource(of name: String, stores: [String]) -> String? { places(of: name, stores).first }

  /// The encrypted file of this credential; nil if it is missing.
  func encryptedSource(of name: String, stores: [String]) -> String? {
    places(of: name, stores).first { $0.contains(".encrypted/") && fileStatus($0) != nil }
  }

  /// The client's id and secret, as far as this user can read them. They are in `auth.credentials_dir`, or in the files
  /// that systemd copies for the unit of this configuration.
  /// - Throws: 78 for a file that exists and cannot be used, also for an encrypted one.
  func clientCredentials(stores: [String]) throws(Failure) -> Credentials {
    try Credentials { name in
      ["client_id", "client_secret"].contains(name) ? places(of: name, stores).first(where: Self.mayExist) : nil
    }
  }

  /// The unit that reads this file; nil if the package has no such unit.
  var unitName: String? { unit.map { $0 == Self.mainUnit ? $0 : "\(Self.mainUnit)@\($0)" } }

  /// The files of this credential, in the order in which they are looked for.
  func places(of name: String, _ stores: [String], unitFolders: [String] = unitFolders) -> [String] {
    if !auth.credentialsDir.isEmpty { return ["\(auth.credentialsDir)/\(name)"] }
    guard let unit else { return [] }
    let prefix = unit == Self.mainUnit ? unit : "\(Self.mainUnit).\(unit)"
    let dropIn = DropInCredential.all(ofUnit: unitName, in: unitFolders)[name]
    if let dropIn, dropIn.isPath, !dropIn.isEncrypted { return [dropIn.source] }
    return stores.map { "\($0)/\(dropIn.flatMap { $0.isPath ? nil : $0.source } ?? "\(prefix).\(name)")" }
  }

  /// One sentence for each credential of a drop-in with which systemd would end the start of the unit with 243. The
  /// journal does not name that file.
  package func refusedCredentials(
    stores: [String] = credentialStores, unitFolders: [String] = unitFolders
  ) -> [String] {
    DropInCredential.all(ofUnit: unitName, in: unitFolders).sorted { $0.key < $1.key }.compactMap { name, dropIn in
      let end = "systemd would end the start of \(unitName ?? "") with 243"
      if dropIn.isPath {
        return Self.mayExist(dropIn.source)
          ? nil : "\(dropIn.file) loads the credential \(name) from \(dropIn.source), which does not exist: \(end)"
      }
      let found = stores.map { "\($0)/\(dropIn.source)" }.filter(Self.mayExist)
      guard dropIn.isEncrypted, let plain = found.first, found.allSatisfy({ !$0.contains(".encrypted/") }) else {
        return nil
      }
      return "\(dropIn.file) expects the credential \(name) encrypted, and \(plain) is not: \(end)"
    }
  }

  /// systemd's folders of units, the strongest first (systemd.unit(5)).
  package static let unitFolders = [
    "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
  ]

  /// The token store of the unit that reads this file. Outside a service, the default path is that of
  /// `rosterd.service`.
  private var tokenStore: String {
    let system = Defaults.system
    guard let unit, unit != Self.mainUnit, auth.tokenStore == system.tokenStore else { return auth.tokenStore }
    return "\(system.stateDirectory)/\(unit)/token.json"
  }

  /// `rosterd`, or the name of the instance whose unit reads this file; nil if no unit of the package reads it.
  private var unit: String? { path.flatMap { Self.unit(ofFile: $0) } }

  /// The unit of a configuration file in the folder; nil if no unit of the package reads it. The path may be relative,
  /// and the file may be a link, which systemd follows.
  static func unit(ofFile path: String, in folder: String = parentFolder(of: Defaults.system.configurationFile))
    -> String?
  {
    guard resolved(parentFolder(of: path)) == resolved(folder), let file = path.split(separator: "/").last,
      file.hasSuffix(".toml")
    else { return nil }
    return String(file.dropLast(".toml".count))
  }

  private static let mainUnit = "rosterd"

  /// Credentials with the client's id alone; nil if its file is encrypted or cannot be read. It may also be in a place
  /// that only the unit names.
  private func client(_ stores: [String]) -> Credentials? {
    guard let path = places(of: "client_id", stores).first(where: Self.mayExist) else {
      return auth.credentialsDir.isEmpty ? nil : Credentials()
    }
    return Self.text(at: path).map { Credentials(clientID: Secret($0)) }
  }

  /// The credential in a file; nil if it is encrypted or cannot be read.
  static func text(at path: String) -> String? {
    guard !path.contains(".encrypted/"), let bytes = try? contents(of: path, limit: Credentials.maxBytes) else {
      return nil
    }
    return Credentials.text(bytes)
  }

  /// A file that cannot be read is assumed to contain a credential.
  private static func isEmpty(_ path: String) -> Bool {
    (try? contents(of: path, limit: Credentials.maxBytes)).map(Credentials.isEmpty) ?? false
  }

  static func mayExist(_ path: String) -> Bool {
    fileStatus(path) != nil || ![ENOENT, ENOTDIR].contains(errno)
  }
}

/// A line `LoadCredential=NAME:SOURCE` of a drop-in (systemd.exec(5)).
private struct DropInCredential {
  /// A path, or the name of a file in a credential store.
  var source: String
  var isEncrypted: Bool
  /// The drop-in.
  var file: String

  var isPath: Bool { source.hasPrefix("/") }

  /// The credentials that drop-ins add to the unit, by name. The last line wins, and an empty one removes those before
  /// it. A source with a specifier other than `%i` is left out.
  static func all(ofUnit unit: String?, in folders: [String]) -> [String: DropInCredential] {
    guard let unit else { return [:] }
    let parts = unit.split(separator: "@", maxSplits: 1)
    let units = parts.count == 1 ? [unit] : ["\(parts[0])@", unit]
    var files: [String: String] = [:]
    for folder in folders.reversed().flatMap({ folder in units.map { "\(folder)/\($0).service.d" } }) {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where name.hasSuffix(".conf") {
        files[name] = "\(folder)/\(name)"
      }
    }
    var found: [String: DropInCredential] = [:]
    for (_, file) in files.sorted(by: { $0.key < $1.key }) {
      let text = (try? contents(of: file, limit: 65_536)).map { String(decoding: $0, as: UTF8.self) } ?? ""
      for line in text.split(separator: "\n") {
        let pair = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmed)
        guard pair.count == 2, ["LoadCredential", "LoadCredentialEncrypted"].contains(pair[0]) else { continue }
        let value = pair[1].split(separator: ":", maxSplits: 1).map(String.init)
        if value.isEmpty { found = [:] }
        let source = (value.last ?? "").replacing("%i", with: parts.last ?? "")
        guard value.count == 2, !source.contains("%") else { continue }
        found[value[0]] = DropInCredential(
          source: source, isEncrypted: pair[0].hasSuffix("Encrypted"), file: file)
      }
    }
    return found
  }
}
