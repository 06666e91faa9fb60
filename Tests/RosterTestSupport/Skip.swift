import FoundationEssentials
import Testing

/// Ends the test because this machine lacks a requirement. In CI that is a failure: a test that is always skipped
/// proves nothing.
package func skip(_ lack: String) throws -> Never {
  if ProcessInfo.processInfo.environment["CI"] == "true" { throw Lack(what: lack) }
  try Test.cancel("\(lack)")
}

private struct Lack: Error, CustomStringConvertible {
  var what: String
  var description: String { "CI must not skip this: \(what)" }
}
