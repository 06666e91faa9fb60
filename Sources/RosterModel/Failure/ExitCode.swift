extension Failure.Kind {
  /// The exit code of `rosterd sync` and `rosterctl`, and the value of `syncs.exit` (section 1 of docs/CONTRACT.md;
  /// from sysexits.h if that has a suitable one).
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

  /// nil if no kind has this code.
  package init?(exitCode: Int32) {
    guard let kind = Self.allCases.first(where: { $0.exitCode == exitCode }) else { return nil }
    self = kind
  }
}
