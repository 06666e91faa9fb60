import FoundationEssentials

/// Number of open descriptors of a process by kind or file; connections are `socket:[`.
/// - Parameter others: descriptors to leave out.
package func openFiles(
  of process: String = "self", besides transient: String..., others: Set<String> = []
) throws -> [String: Int] {
  let folder = "/proc/\(process)/fd"
  let targets = try openDescriptors(of: process).subtracting(others).compactMap {
    try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
  }
  let kinds = targets.map { $0.hasPrefix("/") ? $0 : String($0.prefix { !$0.isNumber }) }
  return Dictionary(kinds.filter { !transient.contains($0) }.map { ($0, 1) }, uniquingKeysWith: +)
}

/// The numbers of the open descriptors.
package func openDescriptors(of process: String = "self") throws -> Set<String> {
  Set(try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd"))
}
