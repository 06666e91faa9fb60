import FoundationEssentials
import Glibc

/// The address or thread sanitizer with which `make asan` and `make tsan` build tests and programs.
package enum Sanitizer {
  /// True if a sanitizer is present. It needs time and memory of its own, so limits on them prove nothing about
  /// rosterd.
  package static let isPresent = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

  /// The sanitizer's settings, for programs that a test starts with an environment of its own.
  package static let settings = ProcessInfo.processInfo.environment.filter {
    ["ASAN_OPTIONS", "TSAN_OPTIONS", "SWIFT_BACKTRACE"].contains($0.key)
  }
}
