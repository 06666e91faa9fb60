package import Glibc

/// The result of stat(2), which follows links; nil if the file is missing or may not be looked at (errno says which).
package func fileStatus(_ path: String) -> stat? {
  var found = stat()
  return stat(path, &found) == 0 ? found : nil
}

/// Size in bytes; 0 if the file is missing.
package func fileSize(_ path: String) -> Int64 { fileStatus(path).map { Int64($0.st_size) } ?? 0 }

/// The text of a symbolic link; nil if the path names no link.
package func linkTarget(_ path: String) -> String? {
  var text = [CChar](repeating: 0, count: Int(PATH_MAX))
  let count = readlink(path, &text, text.count)
  return count < 0 ? nil : String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
