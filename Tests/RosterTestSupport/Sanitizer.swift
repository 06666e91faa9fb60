import FoundationEssentials
import Glibc

/// The address or the thread sanitizer, with which `make asan` and `make tsan` build tests and programs.
package enum Sanitizer {
  /// Where it is, it takes time and memory of its own: a bound on either says nothing of rosterd.
  package static let isPresent = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

  /// How it was told where reports go, for programs that a test gives an environment of its own.
  package static let settings = ProcessInfo.processInfo.environment.filter {
    ["ASAN_OPTIONS", "TSAN_OPTIONS", "SWIFT_BACKTRACE"].contains($0.key)
  }
}
