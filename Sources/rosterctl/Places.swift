import ArgumentParser
import FoundationEssentials
import Glibc
import RosterCache
import RosterCore
import RosterDefinition
import RosterStatusClient

/// Which daemon is meant. Every command takes all four options.
struct Places: ParsableArguments {
  @Option(help: "The daemon's status socket.", completion: .file())
  var socket: String?
  @Option(help: "The cache, a file that ends in .db.", completion: .file())
  var cache: String?
  @Option(help: ArgumentHelp("The daemon of rosterd@NAME.service.", valueName: "name"))
  var instance: String?
  @Option(
    help: ArgumentHelp("The daemon's configuration file.", valueName: "file"), completion: .file(extensions: ["toml"]))
  var config: String?

  func validate() throws {
    if let instance, instance.isEmpty || instance.contains("/") || instance.hasPrefix(".") {
      throw ValidationError("--instance is '\(instance)'; it must be the NAME of a rosterd@NAME.service")
    }
    let whole = [("--instance", instance), ("--config", config)].filter { $0.1 != nil }.map(\.0)
    let others = whole.dropFirst() + [("--socket", socket), ("--cache", cache)].filter { $0.1 != nil }.map(\.0)
    if let first = whole.first, let other = others.first {
      throw ValidationError("\(first) names both the socket and the cache; it cannot be combined with \(other)")
    }
  }

  func client() async throws -> StatusClient { StatusClient(try await daemonSocket()) }

  func daemonSocket() async throws -> DaemonSocket {
    DaemonSocket(try await socketPath(), unit: try? daemon()?.unit)
  }

  func reader() async throws -> CacheReader { try CacheReader(path: try await cachePath()) }

  /// Throws `Failure` (64) if only a cache is named and its daemon is unknown. Throws it too if both are named and
  /// belong to different daemons.
  func socketPath() async throws -> String {
    try await expectOneDaemon()
    if let socket = socket.named { return socket }
    if let found = try daemon() { return told(found.socket) }
    if let cache = cache.named { return try await findSocket(of: cache) }
    return told(usual.socket)
  }

  /// Throws `Failure` (64) if only a socket is named and the cache of its daemon is unknown. Throws it too if both are
  /// named and belong to different daemons.
  func cachePath() async throws -> String {
    try await expectOneDaemon()
    if let cache = cache.named { return cache }
    if let found = try daemon() { return told(found.cache) }
    if let socket = socket.named { return try await findCache(of: socket) }
    return told(usual.cache)
  }

  /// The systemd unit of the daemon, without `.service`; nil if it is unknown.
  func unit() -> String? {
    if let found = try? daemon() { return found.unit }
    if let socket = socket.named { return DaemonPlaces.installed(socket: socket)?.unit }
    if let cache = cache.named { return DaemonPlaces.installed(cache: cache)?.unit }
    return usual.unit
  }

  /// The cache for completions, which ask no daemon; nil if it is unknown then.
  func probableCache() -> String? {
    if let cache = cache.named { return cache }
    if instance != nil || config != nil { return try? daemon()?.cache.path }
    return socket.named.map { DaemonPlaces.installed(socket: $0)?.cache.path } ?? usual.cache.path
  }

  /// The cache, if it is not that of the system's or the user's own daemon; nil also if it is unknown.
  func unusualCache() -> String? {
    let own = environment.filter { !$0.key.hasPrefix("ROSTERD_") }
    let usual = DaemonPlaces.usual(environment: own).cache.path
    return probableCache().flatMap { isSameFile($0, usual) ? nil : $0 }
  }

  // MARK: What names both places

  private var usual: DaemonPlaces { .usual(environment: environment) }

  private func daemon() throws(Failure) -> DaemonPlaces? {
    if let instance { return try .instance(instance) }
    if let config = config.named { return try .file(config, environment: environment) }
    return nil
  }

  /// Says on stderr if the configuration file did not name the place and nothing is there.
  private func told(_ found: DefaultPaths) -> String {
    let isNamed = instance != nil || config != nil
    switch found.doubt {
    case .bad(let text): Output.error.tell("note: \(text)")
    case .unreadable(let text) where isNamed && access(found.path, F_OK) != 0: Output.error.tell("note: \(text)")
    case .unreadable, nil: break
    }
    return found.path
  }

  // MARK: One place by the other

  /// Throws `Failure` (64) if a socket and a cache are named that belong to different daemons. A daemon that does not
  /// answer may be any.
  func expectOneDaemon() async throws {
    guard let socket = socket.named, let cache = cache.named else { return }
    let answered = (try? await Self.status(socket))?.cache.path
    guard let own = answered ?? DaemonPlaces.installed(socket: socket)?.cache.path, !isSameFile(own, cache),
      answered != nil || DaemonPlaces.installed(cache: cache) != nil
    else { return }
    throw Failure(
      .usage, step: "take that cache", subject: cache, cause: "the daemon of \(socket) has the cache \(own)",
      hint: "give --socket or --cache alone")
  }

  /// Asks the daemon on the socket, else looks at the folders of the package's units.
  private func findCache(of socket: String) async throws -> String {
    let silence: Failure
    do { return try await Self.status(socket).cache.path } catch let failure as Failure { silence = failure }
    if let known = DaemonPlaces.installed(socket: socket) { return known.cache.path }
    if usual.socket.path == socket || environment["ROSTERD_CACHE_PATH"] != nil { return usual.cache.path }
    throw Failure(
      .usage, step: "find the cache of that daemon", subject: socket, cause: silence.cause, hint: "add --cache FILE")
  }

  /// Searches in the same order. Skips a daemon that answers but has another cache.
  private func findSocket(of cache: String) async throws -> String {
    let usual = usual
    if usual.cache.path == cache { return usual.socket.path }
    let installed = DaemonPlaces.installed(cache: cache)
    var silent: [String] = []
    for socket in [installed?.socket.path, usual.socket.path].compactMap(\.self) {
      guard let status = try? await Self.status(socket) else {
        silent.append(socket)
        continue
      }
      if isSameFile(status.cache.path, cache) { return socket }
    }
    if let socket = installed?.socket.path, silent.contains(socket) { return socket }
    if environment["ROSTERD_STATUS_SOCKET"] != nil, silent.contains(usual.socket.path) { return usual.socket.path }
    throw Failure(
      .usage, step: "find the daemon of that cache", subject: cache, cause: "no daemon is known to have it",
      hint: "add --socket FILE")
  }

  private static func status(_ socket: String) async throws -> DaemonStatus {
    try await StatusClient(socket: socket).status(within: .seconds(2))
  }

  private func isSameFile(_ one: String, _ other: String) -> Bool {
    one == other || Inode(one).map { $0 == Inode(other) } ?? false
  }
}

extension String? {
  /// nil also if it is empty, as an unset variable of a script leaves it.
  fileprivate var named: String? { flatMap { $0.isEmpty ? nil : $0 } }
}

/// A possible cause of the failure: the path was a guess.
func doubt(about failure: Failure) -> String? {
  let usual = DaemonPlaces.usual(environment: environment)
  return [usual.socket, usual.cache].lazy
    .compactMap { found in
      guard found.path == failure.subject, case .unreadable(let text) = found.doubt else { return nil }
      return text
    }.first
}

var environment: [String: String] { ProcessInfo.processInfo.environment }

/// The cache, where no daemon answers.
struct CacheAlone {
  /// Why no daemon answers.
  let silence: Failure
  /// The daemon's socket; the cache if no daemon of it is known.
  let socket: String
  let path: String

  /// Throws `silence` if the cache is unknown.
  init(_ place: Places, after silence: Failure) async throws {
    self.silence = silence
    socket = (try? await place.socketPath()) ?? silence.subject
    do { path = try await place.cachePath() } catch let failure as Failure where failure.kind == .usage {
      var silence = silence
      silence.hint = [silence.hint, "to see what its cache contains, add --cache FILE"].compactMap { $0 }
        .joined(separator: "; ")
      throw silence
    }
  }

  /// Throws one `Failure` (3) that names both if the cache cannot be read either.
  func read<Value>(_ body: (CacheReader) throws -> Value) throws -> Value {
    do { return try body(try CacheReader(path: path)) } catch let failure as Failure {
      var both = silence
      both.cause += "; the cache cannot be read either (\(failure.subject)): \(failure.cause)"
      both.hint = [silence.hint, failure.hint].compactMap { $0 }.joined(separator: "; ")
      throw both
    }
  }

  /// The status, as far as the cache knows it.
  func status(now: Date) throws -> CacheStatus {
    try read { reader in
      let (facts, running, sizes) = (try reader.facts(), try reader.running(), reader.sizes)
      return CacheStatus(
        silence: "\(silence.cause) (\(socket))",
        cache: DaemonStatus.Cache(
          path: reader.resolvedPath, facts, sizeBytes: sizes.database, walBytes: sizes.wal, now: now),
        last: facts.last, running: running)
    }
  }

  /// Last line of a command that had to read the cache instead.
  var note: String { "note: \(silence.cause) (\(socket)); this is what the cache contains" }
}

extension Places {
  /// The client of a command that reads the cache if no daemon answers (3). A cache without a known daemon is one such
  /// case.
  func clientOrSilence() async throws -> StatusClient {
    try await expectOneDaemon()
    do { return try await client() } catch let failure as Failure where failure.kind == .usage {
      throw Failure(
        .noDaemon, step: "ask the daemon", subject: failure.subject,
        cause: "no daemon is known to have this cache", hint: failure.hint)
    }
  }
}

/// Lines for people about the services that copy this cache elsewhere; empty if no such service runs. The path of a
/// follower may be a link.
func followerLines(of cache: DaemonStatus.Cache) -> String {
  FollowerFile.all().filter { resolved($0.cache) == resolved(cache.path) }.map { follower in
    let place = "\(follower.schema) of \(follower.server)"
    if let error = follower.error { return "   follower  \(place): \(error.printable)\n" }
    let behind = cache.snapshot.map { $0 != follower.snapshot } ?? false
    let state = behind ? "has snapshot \(follower.snapshot), the newest is not copied yet" : "has this snapshot"
    return "   follower  \(place) \(state)\n"
  }.joined()
}

extension CompletionKind {
  /// The resources of the cache. If it cannot be read, there are no proposals, because a message would disturb the
  /// command line.
  static var resources: CompletionKind {
    .custom { words, _, _ in
      guard let path = places(in: words).probableCache() else { return [] }
      return (try? CacheReader(path: path).resources().entries.map(\.name)) ?? []
    }
  }

  private static func places(in words: [String]) -> Places {
    var places = Places()
    places.socket = value(of: "--socket", in: words)
    places.cache = value(of: "--cache", in: words)
    places.instance = value(of: "--instance", in: words)
    places.config = value(of: "--config", in: words)
    return places
  }

  /// The value of an option in an unfinished command line. Bash splits `--cache=PATH` into three words.
  private static func value(of option: String, in words: [String]) -> String? {
    if let word = words.last(where: { $0.hasPrefix("\(option)=") && $0 != "\(option)=" }) {
      return String(word.dropFirst(option.count + 1))
    }
    guard let place = words.lastIndex(of: option) else { return nil }
    return words[(place + 1)...].first { $0 != "=" }
  }
}
