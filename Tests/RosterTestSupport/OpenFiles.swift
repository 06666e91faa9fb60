import FoundationEssentials

/// The open descriptors of a process: how many there are of each kind, or of each file; connections are `socket:[`.
package func openFiles(of process: String = "self", besides transient: String...) throws -> [String: Int] {
  let folder = "/proc/\(process)/fd"
  let numbers = try FileManager.default.contentsOfDirectory(atPath: folder)
  let targets = numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
  let kinds = targets.map { $0.hasPrefix("/") ? $0 : String($0.prefix { !$0.isNumber }) }
  return Dictionary(kinds.filter { !transient.contains($0) }.map { ($0, 1) }, uniquingKeysWith: +)
}
