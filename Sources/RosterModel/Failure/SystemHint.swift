import Glibc

extension Failure {
  /// Advice for a user after a call on a file failed with this errno (errno(3)).
  package static func hint(for code: Int32, else hint: String) -> String {
    switch code {
    case ENOSPC, EDQUOT: "make room on the file system that holds it"
    case EROFS: "its file system is read-only: mount it for writing, or name a place on another"
    case EIO: "look at the disk and the kernel's log"
    default: hint
    }
  }
}

extension Diagnosis.Kind {
  /// The trouble after a call on a file failed with this errno (errno(3)).
  package init(errno code: Int32) {
    self = code == ENOSPC || code == EDQUOT ? .diskFull : code == EIO ? .disk : .unwritable
  }
}
