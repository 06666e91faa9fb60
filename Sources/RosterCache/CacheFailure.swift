internal import RosterFiles
internal import RosterModel

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
