extension Failure.Kind {
  /// What `rosterd sync` and `rosterctl` exit with, and what `syncs.exit` holds (section 1 of docs/CONTRACT.md;
  /// sysexits.h where it has one).
  package var exitCode: Int32 {
    switch self {
    case .cancelled: 1
    case .noDaemon: 3
    case .usage: 64
    case .badAnswer: 65
    case .unreachable: 69
    case .defect: 70
    case .cannotWrite: 73
    case .owned: 75
    case .refused: 77
    case .configuration: 78
    }
  }

  /// nil: no kind has that code.
  package init?(exitCode: Int32) {
    guard let kind = Self.allCases.first(where: { $0.exitCode == exitCode }) else { return nil }
    self = kind
  }
}
