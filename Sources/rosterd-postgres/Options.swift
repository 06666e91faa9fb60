import ArgumentParser
import FoundationEssentials
import RosterCore
import RosterDefinition
import RosterPostgres

/// Which cache is copied, and where to.
struct Options: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The database, as psql takes it, without a password; by default the credential file `url`.", valueName: "url"))
  var to: String?
  @Option(
    name: .customLong("schema"),
    help: ArgumentHelp(
      "The schema of the tables; by default $ROSTERD_POSTGRES_SCHEMA, else the name of the instance, else rosterd.",
      valueName: "schema"))
  var givenSchema: String?
  @Option(help: "The cache, a file that ends in .db.", completion: .file())
  var cache: String?
  @Option(help: ArgumentHelp("The cache of rosterd@NAME.service.", valueName: "name"))
  var instance: String?
  @Option(
    help: ArgumentHelp("The daemon's configuration file.", valueName: "file"), completion: .file(extensions: ["toml"]))
  var config: String?
  @Option(
    help: ArgumentHelp("Metrics for the textfile collector of node_exporter.", valueName: "file"),
    completion: .file())
  var textfile: String?

  func validate() throws {
    if [cache, instance, config].compactMap(\.self).count > 1 {
      throw ValidationError("--cache, --instance and --config exclude each other")
    }
    guard let schema = givenSchema else { return }
    if schema.isEmpty || schema.utf8.count > 63 || schema.hasPrefix("pg_") {
      throw ValidationError("--schema is '\(schema)'; it must be the name of a schema, with 1 to 63 bytes")
    }
  }

  private var environment: [String: String] { ProcessInfo.processInfo.environment }

  /// - Throws: `Failure` (78) if the configuration file is missing.
  func cachePath() throws(Failure) -> String {
    if let cache { return cache }
    return try places().cache.path
  }

  /// The schema of the tables. Instances with one database have a schema each.
  var schema: String {
    if let schema = givenSchema ?? environment["ROSTERD_POSTGRES_SCHEMA"].flatMap({ $0.isEmpty ? nil : $0 }) {
      return schema
    }
    let unit = cache.map { DaemonPlaces.installed(cache: $0)?.unit } ?? (try? places())?.unit
    return unit?.split(separator: "@").last.map(String.init) ?? "rosterd"
  }

  private func places() throws(Failure) -> DaemonPlaces {
    if let instance { return try DaemonPlaces.instance(instance) }
    if let config { return try DaemonPlaces.file(config, environment: environment) }
    return DaemonPlaces.usual(environment: environment)
  }

  /// - Throws: `Failure`: 64 for a password on the command line, where other users can read it; 78 for a bad URL.
  func target() throws(Failure) -> PostgresTarget {
    if let to {
      let target = try PostgresTarget(to)
      guard !target.hasPassword else {
        throw Failure(
          .usage, step: "use the connection URL", subject: "--to",
          cause: "it has a password, which every user can read",
          hint: "leave it out, and use a passfile (PGPASSFILE) or the credential file `url`")
      }
      return target
    }
    guard let folder = environment["CREDENTIALS_DIRECTORY"] else {
      throw Failure(
        .usage, step: "find the database", subject: "--to", cause: "it is missing",
        hint: "name one: --to postgresql://HOST/NAME")
    }
    let file = "\(folder)/url"
    let text: String
    do { text = try String(contentsOfFile: file, encoding: .utf8) } catch {
      throw Failure(
        .configuration, step: "read the connection URL", subject: file, cause: "there is no such credential",
        hint: "write it to /etc/credstore/rosterd-postgres.NAME.url (mode 0600), and restart the unit")
    }
    return try PostgresTarget(String(text.drop(while: \.isWhitespace).prefix { !$0.isNewline }), from: file)
  }
}
