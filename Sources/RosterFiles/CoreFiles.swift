import Glibc

/// Prevents a core file of this process, which would contain credentials and tokens (T9.4).
///
/// A core file has at least one page, so that the kernel writes none if the limit is 1 byte. At this limit it does not
/// start the program in `kernel.core_pattern` either, as it does at 0. A hard limit of 0 cannot be raised.
package func preventCoreFiles() {
  let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
  var limit = rlimit()
  guard getrlimit(resource, &limit) == 0 else { return }
  limit.rlim_max = min(1, limit.rlim_max)
  limit.rlim_cur = limit.rlim_max
  _ = setrlimit(resource, &limit)
}
