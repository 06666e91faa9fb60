import FoundationEssentials
import RosterCache
import RosterModel

/// The cache, where no daemon answers.
struct CacheAlone {
  /// Why no daemon answers.
  let silence: Failure
  let socket: String
  let path: String

  init(_ place: CacheOption, socket: String, after silence: Failure) {
    self.silence = silence
    self.socket = socket
    path = place.path()
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
      let begun = running.map { "; sync \($0.id) began at \($0.startedAt) and has not ended" } ?? ""
      return CacheStatus(
        message: "\(silence.cause) (\(socket)); this is what the cache contains\(begun)",
        cache: DaemonStatus.Cache(
          path: reader.resolvedPath, facts, sizeBytes: sizes.database, walBytes: sizes.wal, now: now),
        last: facts.last)
    }
  }

  /// What the last lines of a command end with.
  var note: String { "note: \(silence.cause) (\(socket)); this is what the cache contains" }
}
