import Glibc

/// A number of errno(3) with its text for people.
package struct SystemError: Error, Equatable {
  /// The number as in errno, which is positive.
  package var code: CInt

  /// Makes the error of a call that returns the number itself.
  package init(code: CInt) { self.code = code }

  /// The error of the call that just failed.
  package static var last: Self { Self(code: errno) }

  /// A text such as "No such file or directory".
  package var text: String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }
}
