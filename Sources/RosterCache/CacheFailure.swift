internal import RosterFiles
internal import RosterModel

extension SQLiteError {
  /// The failure that the user sees: 73 with a hint, or a defect (70) if no disk explains the code.
  func failure(_ step: String, _ path: String) -> Failure {
    func cannot(_ trouble: Diagnosis.Kind, _ cause: String, _ hint: String) -> Failure {
      Failure(.cannotWrite, step: step, subject: path, cause: cause, hint: hint).with(trouble)
    }
    return switch kind {
    case .damaged:
      cannot(
        .damaged, "the file is damaged (\(message))", "look at the disk; rosterd moves it aside and pulls all again")
    case .full:
      cannot(.diskFull, "the disk is full", "make room on its file system, \(mountPoint(of: path))")
    case .locked:
      cannot(.locked, "another program keeps it locked", "end that program's transaction (fuser names it)")
    case .readOnly:
      cannot(.unwritable, "it cannot be written (\(message))", Failure.writeHint(path))
    case .cannotOpen:
      cannot(
        .unwritable, "it cannot be opened (\(message))",
        Failure.hint(for: system, writing: path, else: "see that the folder exists and rosterd's user may use it"))
    case .disk: cannot(.disk, "\(message) (code \(code))", "look at the disk and the kernel's log")
    case .interrupted, .other:
      Failure(.defect, step: step, subject: path, cause: "\(message) (SQLite code \(code))")
    }
  }
}
