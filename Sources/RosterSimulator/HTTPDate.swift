internal import FoundationEssentials
import Glibc

/// RFC 9110 §5.6.7: `Sat, 21 Nov 2026 04:15:06 GMT`. The names are English because neither program calls setlocale.
func httpDate(_ date: Date) -> String {
  var seconds = time_t(date.timeIntervalSince1970)
  var fields = tm()
  gmtime_r(&seconds, &fields)
  let length = "Sat, 21 Nov 2026 04:15:06 GMT".utf8.count
  return String(unsafeUninitializedCapacity: length + 1) { buffer in
    buffer.withMemoryRebound(to: CChar.self) {
      strftime($0.baseAddress, length + 1, "%a, %d %b %Y %H:%M:%S GMT", &fields)
    }
  }
}
