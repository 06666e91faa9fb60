import FoundationEssentials
import Glibc
import RosterCore

@testable import RosterDefinition

/// A configuration file: an accepted file is rendered to a file that is accepted and means the same. A refused file
/// gets one line per fault, with the line number in the file. The JSON of a definition in the cache means the same.
enum TOMLTarget {
  private static let folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
  private static let path = "\(folder)/rosterd-fuzz-\(getpid()).toml"

  static func check(_ input: [UInt8]) {
    defer { unlink(path) }
    guard let configuration = load(input) else { return }
    for resource in configuration.resources {
      let json = TOMLItem.table(resource.definitionItems).json
      var own = resource
      // The parent's definition has them.
      own.each?.windows = nil
      promise(Resource(stored: json, name: resource.name) == own, "stored as JSON, it is another: \(json)")
    }
    let text = configuration.rendered()
    guard let again = load(Array(text.utf8)) else { fatalError("the rendered file is refused:\n\(text)") }
    promise(again.rendered() == text, "rendered again, it is another:\n\(text)\n\(again.rendered())")
    // Masked values cannot be read again.
    if !text.contains("***") {
      promise(again == configuration, "rendered, it means something else:\n\(text)")
      promise(again.changes(from: configuration) == ([], []), "rendered, it has changed:\n\(text)")
    }
  }

  private static func load(_ bytes: [UInt8]) -> Configuration? {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    promise(bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) } == bytes.count, "no room")
    close(file)
    do throws(ConfigurationFaults) {
      return try Configuration.load(file: path, environment: [:], isRoot: true).configuration
    } catch {
      let lines = bytes.count { $0 == UInt8(ascii: "\n") } + 1
      promise(!error.faults.isEmpty, "refused without a fault")
      for fault in error.faults {
        promise((1...lines).contains(fault.line ?? 1), "line \(fault.line ?? 0) of \(lines): \(fault)")
        promise(!"\(fault)".unicodeScalars.contains(where: \.steersTerminal), "no line: \(fault)")
      }
      return nil
    }
  }
}
