internal import FoundationEssentials
import Glibc

/// A program that copies the cache elsewhere reports its state in `follower.json` in its runtime folder.
/// `rosterctl status` on the same machine reads it.
package struct FollowerFile: Codable, Sendable, Equatable {
  /// Path of the cache.
  package var cache: String
  /// The server without user and password.
  package var server: String
  /// Schema with the copied tables.
  package var schema: String
  /// Sync that published the snapshot that the copy has (syncs.id).
  package var snapshot: Int64
  /// Largest `changes.id` in the copy.
  package var change: Int64
  /// Time of the last transaction, RFC 3339; nil before the first.
  package var appliedAt: String?
  /// One sentence; nil if the last try succeeded.
  package var error: String?

  /// The state before the first transaction.
  package init(
    cache: String, server: String, schema: String, snapshot: Int64 = 0, change: Int64 = 0, appliedAt: String? = nil,
    error: String? = nil
  ) {
    self.cache = cache
    self.server = server
    self.schema = schema
    self.snapshot = snapshot
    self.change = change
    self.appliedAt = appliedAt
    self.error = error
  }

  /// Replaces the file in `RUNTIME_DIRECTORY`. Without that folder, or if it cannot be written, nothing happens: the
  /// copy itself does not need it.
  package func save() {
    guard let path = Self.path, let data = try? JSONEncoder().encode(self) else { return }
    try? WholeFile(path, mode: 0o644).replace(with: Array(data), durably: false)
  }

  /// The file of this process; nil if it has none.
  package static func own() -> Self? { path.flatMap(read) }

  /// The files of all followers that run as services, in the order of their names.
  package static func all() -> [Self] {
    let folder = "/run/rosterd-postgres"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().compactMap { read("\(folder)/\($0)/\(name)") }
  }

  private static let name = "follower.json"

  private static var path: String? {
    ProcessInfo.processInfo.environment["RUNTIME_DIRECTORY"].map { "\($0)/\(name)" }
  }

  private static func read(_ path: String) -> Self? {
    guard let data = FileManager.default.contents(atPath: path) else { return nil }
    return try? JSONDecoder().decode(Self.self, from: data)
  }
}

/// A file of equal slots, each written in place by a single call. It serves data that changes often and need not
/// survive a power cut. Written slots survive the end of the process, because the kernel has them.
package final class SlotFile: Sendable {
  private let path: String
  private let descriptor: CInt

  /// Opens an existing file that has room for all slots.
  package init(_ path: String) throws(FileError) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw .last("open", path: path) }
  }

  deinit { close(descriptor) }

  /// - Parameter bytes: exactly one slot.
  package func write(_ bytes: [UInt8], to slot: Int) throws(FileError) {
    guard pwrite(descriptor, bytes, bytes.count, off_t(slot * bytes.count)) == bytes.count else {
      throw .last("write", path: path)
    }
  }
}
