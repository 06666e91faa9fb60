import Glibc
import RosterCore

/// The absolute path without links, also if its last parts or the target of a link are missing.
func place(of path: String) -> String {
  func names(_ path: String) -> [String] { path.split(separator: "/").reversed().map { String($0) } }
  var place = path.hasPrefix("/") ? "/" : resolved(".")
  var left = names(path)
  var links = 0
  while let name = left.popLast() {
    if name == "." { continue }
    if name == ".." {
      place = parentFolder(of: place)
      continue
    }
    let next = place == "/" ? "/\(name)" : "\(place)/\(name)"
    if links < maxLinks, let target = linkTarget(next) {
      links += 1
      if target.hasPrefix("/") { place = "/" }
      left += names(target)
    } else {
      place = next
    }
  }
  return place
}

/// The system follows no more (path_resolution(7)).
private let maxLinks = 40

/// The absolute path without links, if the file exists.
package func resolved(_ path: String) -> String {
  guard let real = realpath(path, nil) else { return path }
  defer { free(real) }
  return String(cString: real)
}
