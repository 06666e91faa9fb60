import FoundationEssentials
import Glibc
import Testing

/// A new folder of its own.
struct TemporaryFolder {
  let path: String

  init() throws {
    var template = Array("\(FileManager.default.temporaryDirectory.path)/roster-systemd-XXXXXX".utf8CString)
    path = String(cString: try #require(mkdtemp(&template)))
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }
}
