import FoundationEssentials
import RosterCache
import RosterModel
import RosterStatusClient

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
