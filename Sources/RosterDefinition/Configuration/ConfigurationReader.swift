import Glibc
import RosterCore

extension Configuration {
  /// Reads the file and the environment, which takes precedence. Checks both, and changes nothing.
  /// - Parameters:
  ///   - file: The path from `--config`, which must exist; nil reads the default file, if it exists.
  ///   - known: The default file of an earlier load, which must still exist; nil if there was none.
  ///   - isRoot: True for the defaults of root.
  ///   - further: Finds further conflicts, such as in a file that only other parts can read.
  /// - Returns: The configuration, and its warnings: sentences about settings without effect and likely mistakes.
  package static func load(
    file: String?, again known: String? = nil, environment: [String: String], isRoot: Bool = geteuid() == 0,
    further: (Configuration) -> [Conflict] = { _ in [] }
  ) throws(ConfigurationFaults) -> (configuration: Configuration, warnings: [String]) {
    let defaults = Defaults(of: file ?? known, environment: environment, isRoot: isRoot)
    var reader = ConfigurationReader()
    reader.readFile(file ?? known ?? defaults.configurationFile, mustExist: file != nil || known != nil)
    if let named = file ?? known { reader.checkInstance(ofFile: named, environment: environment) }
    reader.readEnvironment(environment)
    if file != nil { reader.warnOfDefaults() }
    reader.fillIn(defaults)
    reader.check(further)
    guard reader.isGood else {
      throw ConfigurationFaults(faults: reader.faults, logFormat: reader.configuration.log.format)
    }
    return (reader.configuration, reader.warnings + [reader.configuration.proxyWarning].compactMap(\.self))
  }

  /// Enough for hundreds of tables with forty columns. A search for lines need not handle more.
  package static let maxFileBytes = 256 * 1024

  /// Reads a text as the content of the file `path`, without an environment.
  package static func load(_ text: [UInt8], of path: String) throws(ConfigurationFaults) -> Configuration {
    var reader = ConfigurationReader()
    reader.read(text, of: path)
    reader.fillIn(.system)
    reader.check { _ in [] }
    guard reader.isGood else { throw ConfigurationFaults(faults: reader.faults) }
    return reader.configuration
  }
}

/// Collects the settings of the file and the environment, and all mistakes in them.
struct ConfigurationReader {
  private struct Misplaced {
    enum Place {
      case file(line: Int?, key: String? = nil)
      case path([String])
      /// A variable, or a key that is not set.
      case outside(String)
    }

    var place: Place
    var problem: String
    var allowed: String
    var rule: String?
  }

  private(set) var configuration = Configuration()
  private(set) var warnings: [String] = []
  private var misplaced: [Misplaced] = []
  private var document: TOMLDocument?
  private var file = ""
  private var keysInFile: Set<String> = []
  private var variables: [String: String] = [:]
  private var refused: Set<String> = []

  var isGood: Bool { misplaced.isEmpty }
  /// True if the file exists and is TOML.
  var isParsed: Bool { document != nil }

  // MARK: - The file

  /// Errors that mean that the file does not exist. A part of its path may not be a folder, for example if HOME is
  /// /dev/null.
  static let absences: Set = [ENOENT, ENOTDIR]

  mutating func readFile(_ path: String, mustExist: Bool) {
    file = path
    do {
      read(try contents(of: path, limit: Configuration.maxFileBytes), of: path)
    } catch  where Self.absences.contains(error.code) && !mustExist {
      return
    } catch {
      refuseFile(nil, problem: "cannot be read: \(error.text)", allowed: "a readable file of at most 256 KiB")
    }
  }

  /// Refuses an instance of the service whose name has a colon. systemd separates the folders in STATE_DIRECTORY by
  /// colons, and loads no credential for such a name.
  mutating func checkInstance(ofFile path: String, environment: [String: String]) {
    guard environment["STATE_DIRECTORY"] != nil, let unit = Defaults.system.unit(ofFile: path), unit.contains(":")
    else {
      return
    }
    refuseFile(
      nil, problem: "belongs to \(unit).service, and systemd has no folders and credentials for a name with a colon",
      allowed: "an instance name without a colon")
  }

  /// - Parameter path: The file that has these bytes.
  mutating func read(_ bytes: [UInt8], of path: String) {
    (file, configuration.path) = (path, path)
    // The text must not contain the mark, which would precede the first line's key or table.
    let bytes = bytes.withoutByteOrderMark
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return refuseFile(Self.lineOfInvalidText(bytes), problem: "is not UTF-8", allowed: "TOML 1.0, in UTF-8")
    }
    do {
      let document = try TOMLDocument(text, known: Self.words)
      self.document = document
      readTable(document.items, below: [])
    } catch {
      let key = Self.key(in: text, line: error.line)
      let place = Misplaced.Place.file(line: error.line, key: key?.name)
      let allowed = key?.allowed.map { "\($0), in TOML 1.0, once" } ?? "TOML 1.0, each key and table once"
      misplaced.append(Misplaced(place: place, problem: "is not TOML: \(error.cause)", allowed: allowed))
    }
  }

  private mutating func readTable(_ members: TOMLMembers, below: [String]) {
    for member in members.list {
      let (item, path) = (member.item, below + [member.name])
      if path == [Self.resource] {
        readDefinitions(item)
      } else if let key = Self.keys[path] {
        keysInFile.insert(key.name)
        read(key, item: item, at: .path(path))
      } else if !Self.names(in: path).isEmpty {
        if case .table(let inner) = item {
          readTable(inner, below: path)
        } else {
          let allowed = "[\(dotted(path))]"
          misplaced.append(Misplaced(place: .path(path), problem: item.isNot("a table"), allowed: allowed))
        }
      } else {
        let names = Self.names(in: below) + (below.isEmpty ? [Self.resource] : [])
        let allowed = names.joined(separator: ", ")
        misplaced.append(Misplaced(place: .path(path), problem: "is unknown", allowed: allowed))
      }
    }
  }

  private mutating func readDefinitions(_ item: TOMLItem) {
    var reader = DefinitionsReader()
    let resources = reader.resources(item)
    if !resources.isEmpty { configuration.resources = resources }
    warnings += reader.warnings
    misplaced += reader.faults.list.map {
      Misplaced(place: .path($0.path), problem: $0.problem, allowed: $0.allowed, rule: $0.rule)
    }
  }

  private mutating func refuseFile(_ line: Int?, problem: String, allowed: String) {
    misplaced.append(Misplaced(place: .file(line: line), problem: problem, allowed: allowed))
  }

  // MARK: - The environment

  mutating func readEnvironment(_ environment: [String: String]) {
    configuration.upstream.environmentProxies = EnvironmentProxies(environment)
    configuration.upstream.tls.systemRoots = RootPlaces(environment: environment)
    for (variable, text) in environment.sorted(by: { $0.key < $1.key })
    where variable.hasPrefix(ConfigurationKey.variablePrefix) {
      guard let key = ConfigurationKey.all.first(where: { $0.variable == variable }) else {
        warnings.append("\(variable) names no key of rosterd and is ignored")
        continue
      }
      variables[key.name] = variable
      refused.remove(key.name)
      if let item = key.isBare ? .string(text) : TOMLDocument.item(text) {
        read(key, item: item, at: .outside(variable))
      } else {
        refuse(key, mistake: Mistake("is not \(key.type) in TOML's notation"), at: .outside(variable))
      }
    }
  }

  private mutating func read(_ key: ConfigurationKey, item: TOMLItem, at place: Misplaced.Place) {
    do {
      try key.read(item, &configuration)
    } catch {
      for mistake in error.list { refuse(key, mistake: mistake, at: place) }
    }
  }

  private mutating func refuse(_ key: ConfigurationKey, mistake: Mistake, at place: Misplaced.Place) {
    refused.insert(key.name)
    add(mistake, at: place, allowed: mistake.allowed ?? key.allowed)
  }

  /// The entry of a table becomes a part of the path in the file, or of the message.
  private mutating func add(_ mistake: Mistake, at place: Misplaced.Place, allowed: String, rule: String? = nil) {
    var (place, problem) = (place, mistake.problem)
    switch (place, mistake.entry) {
    case (.path(let path), let entry?): place = .path(path + [entry])
    case (.outside, let entry?): problem = "\(entry): \(problem)"
    case (.file, _), (_, nil): break
    }
    misplaced.append(Misplaced(place: place, problem: problem, allowed: allowed, rule: rule))
  }

  // MARK: - Omitted and contradictory settings

  /// Warns about a named file without an API. An empty file, such as the output of a failed `rosterd infer`, would
  /// otherwise mirror the default upstream silently.
  mutating func warnOfDefaults() {
    let key = "upstream.base_url"
    guard let document, !keysInFile.contains(key), variables[key] == nil else { return }
    if case .table(let resources)? = document.items[Self.resource], !resources.list.isEmpty { return }
    let (name, upstream) = (Resource.character.name, configuration.upstream.baseURL)
    warnings.append(
      "\(file) sets neither \(key) nor a [resource.*], so the defaults hold: \(name) of \(upstream) is mirrored. Name your API in the file, or set \(key) if the default is meant"
    )
  }

  mutating func fillIn(_ defaults: Defaults) {
    configuration.fillIn(defaults)
  }

  mutating func check(_ further: (Configuration) -> [Conflict]) {
    for conflict in configuration.conflicts() + further(configuration) where refused.isDisjoint(with: conflict.keys) {
      add(
        Mistake(conflict.problem, entry: conflict.entry), at: place(ofFirst: conflict.keys),
        allowed: conflict.allowed, rule: conflict.rule)
    }
  }

  /// The first key that the user has set is the place of the correction. If there is a wrong entry, it is in the first
  /// of all keys, which is then set.
  private func place(ofFirst keys: [String]) -> Misplaced.Place {
    for key in keys {
      if let variable = variables[key] { return .outside(variable) }
      if keysInFile.contains(key) { return .path(key.split(separator: ".").map(String.init)) }
    }
    return .outside(keys.first ?? "")
  }

  // MARK: - Sentences

  /// All mistakes; those of the file come first, by line.
  var faults: [ConfigurationFault] {
    let lines = document?.lines() ?? [:]
    let faults = misplaced.map { misplaced in
      let (file, line, key): (String?, Int?, String?) =
        switch misplaced.place {
        case .file(let line, let key): (file, line, key)
        case .path(let path): (file, Self.line(of: path, lines), dotted(path))
        case .outside(let name): (nil, nil, name)
        }
      return ConfigurationFault(
        file: file, line: line, key: key, problem: misplaced.problem, allowed: misplaced.allowed,
        rule: misplaced.rule)
    }
    let inFile = faults.filter { $0.file != nil }
    return inFile.sorted { ($0.line ?? 0) < ($1.line ?? 0) } + faults.filter { $0.file == nil }
  }

  /// A missing key has the line of its table.
  private static func line(of path: [String], _ lines: [[String]: Int]) -> Int? {
    path.indices.reversed().lazy.compactMap { lines[Array(path[...$0])] }.first
  }

  /// The next names below a path, in the order of the list. Empty if the path is not a table.
  private static func names(in path: [String]) -> [String] { tables[path] ?? [] }

  /// The keys by their paths. A file of unknown names causes one look-up per line.
  private static let keys = Dictionary(ConfigurationKey.all.map { ($0.path, $0) }) { first, _ in first }

  /// The next names below each table, in the order of the list.
  private static let tables: [[String]: [String]] = ConfigurationKey.all.reduce(into: [:]) { tables, key in
    let path = key.path
    for (depth, name) in path.enumerated() where !tables[Array(path[..<depth]), default: []].contains(name) {
      tables[Array(path[..<depth]), default: []].append(name)
    }
  }

  private static let resource = "resource"

  /// The words of all keys and tables, which a syntax error may repeat.
  private static let words = Set(
    ConfigurationKey.all.flatMap { $0.path + [$0.name] } + [resource] + Resource.keys.map(\.name)
      + Resource.tables + Resource.Pages.keys.map(\.name) + Since.keys.map(\.name) + Each.keys.map(\.name)
      + Resource.Column.keys.map(\.name))

  /// The key or table on a line of a file that does not parse; nil if the line does not show it.
  /// - Returns: Its name, and its values in words. A table has no values.
  private static func key(in text: String, line: Int) -> (name: String, allowed: String?)? {
    let rows = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).prefix(line)
      .map { String(Substring($0)).filter { !$0.isWhitespace } }
    func tableName(_ row: String) -> String { String(row.drop { $0 == "[" }.prefix { $0 != "]" }) }
    guard let row = rows.last else { return nil }
    if row.hasPrefix("["), isTable(tableName(row)) { return (tableName(row), nil) }
    guard let end = row.firstIndex(of: "=") else { return nil }
    let table = rows.last { $0.hasPrefix("[") && !$0.hasPrefix("[[") }.map { tableName($0) + "." }
    let name = (table ?? "") + row[..<end]
    if let key = ConfigurationKey.all.first(where: { $0.name == name || name.hasPrefix("\($0.name).") }) {
      return (key.name, key.allowed)
    }
    let definition = name.wholeMatch(of: /(resource\.[a-z][a-z0-9_]{0,39})\.([a-z_]+)/)
    guard let definition, let key = Resource.keys.first(where: { $0.name == definition.2 }) else { return nil }
    return ("\(definition.1).\(key.name)", key.allowed)
  }

  /// True if rosterd has a table of that name. Such a name contains no secret.
  private static func isTable(_ name: String) -> Bool {
    if !names(in: name.split(separator: ".").map(String.init)).isEmpty { return true }
    let definition =
      /resource(\.[a-z][a-z0-9_]{0,39}(\.(pages|columns|inline|windows|headers|since(\.pages)?|each|lists(\.[A-Za-z_][A-Za-z0-9_]*)?))?)?/
    return name.wholeMatch(of: definition) != nil
  }

  private static func lineOfInvalidText(_ bytes: [UInt8]) -> Int? {
    bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .firstIndex { String(validating: $0, as: UTF8.self) == nil }.map { $0 + 1 }
  }
}
