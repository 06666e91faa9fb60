import FoundationEssentials
import Glibc
import RosterAuth
import RosterFetch
import RosterModel

extension Configuration {
  /// Reads the file and the environment, which wins. Throws every fault at once.
  /// - Parameters:
  ///   - file: named by the user, must exist; nil: the default one, which need not.
  ///   - isRoot: where the defaults are.
  /// - Returns: the configuration, and a warning for each ROSTERD_ variable that is none.
  package static func load(
    file: String?, environment: [String: String], isRoot: Bool
  ) throws(ConfigurationFaults) -> (configuration: Configuration, warnings: [String]) {
    let defaults = DefaultPaths(environment: environment, isRoot: isRoot)
    var reader = ConfigurationReader(defaults)
    reader.read(file: file ?? defaults.configuration, mustExist: file != nil)
    let warnings = reader.read(environment: environment)
    reader.checkTogether()
    guard reader.faults.isEmpty else { throw ConfigurationFaults(faults: reader.faults) }
    return (reader.configuration, warnings)
  }

  /// TOML that `load` takes again, every key, with the values of secret-looking headers masked.
  package func rendered() -> String {
    var shown = self
    for name in upstream.headers.keys where HeaderName.looksSecret(name) { shown.upstream.headers[name] = "masked" }
    var text = ""
    var section = ""
    for key in Key.all {
      if key.section != section {
        section = key.section
        text += "\(text.isEmpty ? "" : "\n")[\(section)]\n"
      }
      text += "\(key.path.last ?? "") = \(key.show(shown).toml)\n"
    }
    return text
  }
}

/// Collects values, where each came from, and what is wrong.
private struct ConfigurationReader {
  private(set) var configuration: Configuration
  private(set) var faults: [ConfigurationFaults.Fault] = []
  /// By key, of those that were set.
  private var places: [String: String] = [:]

  init(_ defaults: DefaultPaths) {
    configuration = Configuration(defaults)
  }

  mutating func read(file: String, mustExist: Bool) {
    if !mustExist, access(file, F_OK) != 0, errno == ENOENT { return }
    configuration.path = file
    guard let data = FileManager.default.contents(atPath: file) else {
      return fault(file, nil, "cannot be read (\(Self.whyUnreadable(file)))")
    }
    guard let text = String(data: data, encoding: .utf8) else { return fault(file, nil, "is not UTF-8") }
    do throws(TOMLText.SyntaxFault) {
      let document = try TOMLText(text)
      for key in Key.all where key.section != "upstream.headers" {
        guard let setting = Self.find(key.path[...], in: .table(document.root)) else { continue }
        set(key, setting, at: "\(file):\(document.line(of: key.path) ?? 1)")
      }
      findUnknown(in: document.root, below: [], document, file)
    } catch {
      fault("\(file):\(error.line)", nil, "is not TOML: \(error.problem)")
    }
  }

  mutating func read(environment: [String: String]) -> [String] {
    for key in Key.all {
      guard let text = environment[key.variable] else { continue }
      do throws(TOMLText.SyntaxFault) {
        set(key, key.isText ? .string(text) : try TOMLText.value(text), at: key.variable)
      } catch {
        fault(key.variable, key, "is not a value in TOML syntax")
      }
    }
    let known = Set(Key.all.map(\.variable))
    return environment.keys.sorted().filter { $0.hasPrefix("ROSTERD_") && !known.contains($0) }
      .map { "\($0) is set, but there is no such key" }
  }

  private mutating func set(_ key: Key, _ setting: Setting, at place: String) {
    if let problem = key.read(setting, &configuration) { return fault(place, key, problem) }
    places[key.name] = place
  }

  private mutating func findUnknown(
    in table: [String: Setting], below path: [String], _ document: TOMLText, _ file: String
  ) {
    for (name, setting) in table.sorted(by: { $0.key < $1.key }) {
      let whole = path + [name]
      let dotted = whole.joined(separator: ".")
      if Key.all.contains(where: { $0.name == dotted }) { continue }
      if case .table(let members) = setting, Key.all.contains(where: { $0.name.hasPrefix(dotted + ".") }) {
        findUnknown(in: members, below: whole, document, file)
        continue
      }
      let place = "\(file):\(document.line(of: whole) ?? 1)"
      faults.append(.init(place: place, key: dotted, problem: "is unknown", allowed: Self.names(below: path)))
    }
  }

  private static func names(below path: [String]) -> String {
    let depth = path.count
    let names = Key.all.filter { $0.path.count > depth && Array($0.path.prefix(depth)) == path }.map { $0.path[depth] }
    return Set(names).sorted().joined(separator: ", ")
  }

  private static func find(_ path: ArraySlice<String>, in setting: Setting) -> Setting? {
    guard let name = path.first else { return setting }
    guard case .table(let members) = setting, let member = members[name] else { return nil }
    return find(path.dropFirst(), in: member)
  }

  private static func whyUnreadable(_ file: String) -> String {
    access(file, R_OK) == 0 ? "it is no file" : String(cString: strerror(errno))
  }

  private mutating func fault(_ place: String, _ key: Key?, _ problem: String) {
    faults.append(.init(place: place, key: key?.name, problem: problem, allowed: key?.allowed))
  }
}

// MARK: What must fit together

extension ConfigurationReader {
  mutating func checkTogether() {
    if configuration.retry.maxDelay < configuration.retry.baseDelay {
      reject(
        "retry.max_delay", or: "retry.base_delay", "is below retry.base_delay (\(configuration.retry.baseDelay.text))")
    }
    checkTokenURL()
    if configuration.auth.flow != .none,
      configuration.upstream.headers.keys.contains(where: { $0.lowercased() == "authorization" })
    {
      reject("upstream.headers", or: "auth.flow", "holds Authorization, which auth.flow sends itself")
    }
    if !configuration.upstream.caFile.isEmpty, access(configuration.upstream.caFile, R_OK) != 0 {
      reject("upstream.tls.ca_file", or: nil, "cannot be read (\(String(cString: strerror(errno))))")
    }
  }

  private mutating func checkTokenURL() {
    guard configuration.auth.flow.refreshes || !configuration.auth.tokenURL.isEmpty else { return }
    if configuration.auth.tokenURL.isEmpty {
      return reject(
        "auth.token_url", or: "auth.flow", "is empty, and auth.flow = \"\(configuration.auth.flow.rawValue)\" needs it")
    }
    guard let token = Origin(url: configuration.tokenURL), let base = Origin(url: configuration.upstream.baseURL) else {
      return reject("auth.token_url", or: nil, "is neither an http or https URL nor a path")
    }
    if URL(string: configuration.tokenURL)?.user() != nil {
      reject("auth.token_url", or: nil, "holds a user or a password")
    }
    if base.scheme == "https", token.scheme == "http" {
      reject("auth.token_url", or: nil, "is http where upstream.base_url is https")
    }
  }

  /// The place of the key that was set; of the other where only that one was.
  private mutating func reject(_ name: String, or other: String?, _ problem: String) {
    guard let key = Key.all.first(where: { $0.name == name }) else { return }
    let place = places[name] ?? other.flatMap { places[$0] } ?? key.variable
    fault(place, key, problem)
  }
}
