import Glibc

/// A number of errno(3) with its text for people.
package struct SystemError: Error, Equatable {
  /// As errno holds it: positive.
  package var code: CInt

  /// For calls that return the number themselves.
  package init(code: CInt) { self.code = code }

  /// As errno was left by the call that just failed.
  package static var last: Self { Self(code: errno) }

  /// "No such file or directory".
  package var text: String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }
}
