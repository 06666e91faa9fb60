import CSQLite
import Glibc
internal import RosterCore

/// An error of SQLite: an extended result code (sqlite.org/rescode.html) and its message.
struct SQLiteError: Error, Equatable {
  enum Kind { case damaged, full, locked, readOnly, cannotOpen, disk, interrupted, other }

  var code: Int32
  var message: String
  /// errno of the failed system call; 0 if no system call failed.
  var system: Int32 = 0

  var kind: Kind {
    if system == ENOSPC || system == EDQUOT { return .full }
    return switch code & 0xff {
    case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
    case SQLITE_FULL: .full
    case SQLITE_BUSY, SQLITE_LOCKED: .locked
    case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: .readOnly
    case SQLITE_CANTOPEN: .cannotOpen
    // SQLITE_PROTOCOL: the system does not grant or release a lock.
    case SQLITE_IOERR, SQLITE_PROTOCOL: .disk
    case SQLITE_INTERRUPT: .interrupted
    default: .other
    }
  }
}

extension SQLiteError {
  /// Damage that SQLite itself does not recognise.
  static func damaged(_ message: String) -> SQLiteError { SQLiteError(code: SQLITE_CORRUPT, message: message) }

  /// The failure of a call on a file that is not SQLite's. A full disk then has the same message for every file.
  static func disk(_ message: String, errno: Int32) -> SQLiteError {
    SQLiteError(code: SQLITE_IOERR, message: message, system: errno)
  }

  /// The error of the last call on a connection.
  init(last handle: OpaquePointer?) {
    code = sqlite3_extended_errcode(handle)
    message = String(cString: sqlite3_errmsg(handle))
    // SQLite does not reset the system error if a call failed without a system call.
    system = [SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_FULL].contains(code & 0xff) ? sqlite3_system_errno(handle) : 0
  }
}

extension SQLiteError {
  /// The failure that the user sees: 73 with a hint, or a defect (70) if no disk explains the code.
  func failure(_ step: String, _ path: String) -> Failure {
    func cannot(_ trouble: Diagnosis.Kind, cause: String, hint: String) -> Failure {
      Failure(.cannotWrite, step: step, subject: path, cause: cause, hint: hint).with(trouble)
    }
    return switch kind {
    case .damaged:
      cannot(
        .damaged, cause: "the file is damaged (\(message))",
        hint: "look at the disk; rosterd moves it aside and pulls all again")
    case .full:
      cannot(.diskFull, cause: "the disk is full", hint: "make room on its file system, \(mountPoint(of: path))")
    case .locked:
      cannot(.locked, cause: "another program keeps it locked", hint: "end that program's transaction (fuser names it)")
    case .readOnly:
      cannot(.unwritable, cause: "it cannot be written (\(message))", hint: Failure.writeHint(path))
    case .cannotOpen:
      cannot(
        .unwritable, cause: "it cannot be opened (\(message))",
        hint: Failure.hint(for: system, writing: path, else: "see that the folder exists and rosterd's user may use it")
      )
    case .disk: cannot(.disk, cause: "\(message) (code \(code))", hint: "look at the disk and the kernel's log")
    case .interrupted, .other:
      Failure(.defect, step: step, subject: path, cause: "\(message) (SQLite code \(code))")
    }
  }
}
