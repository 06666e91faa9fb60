import FoundationEssentials
import Glibc
import RosterModel
import RosterTerminal

/// A progress bar on stderr, redrawn while a sync runs. It draws nothing if stderr is not a terminal.
struct LiveBar: Sendable {
  /// Read for each frame, because the user may resize the terminal.
  private var terminal: Terminal { .of(STDERR_FILENO, environment: ProcessInfo.processInfo.environment) }

  /// Fast enough for a smooth bar, slow enough to cost nothing.
  private static let frame = Duration.milliseconds(100)

  /// Returns when its task is cancelled.
  @Sendable func follow(_ status: @Sendable () -> DaemonStatus) async {
    guard terminal.isInteractive else { return }
    repeat { draw(status()) } while (try? await Task.sleep(for: Self.frame)) != nil
    draw(status())
    say("\n")
  }

  private func draw(_ status: DaemonStatus) {
    if let current = status.sync.current { draw(ProgressBar(current)) }
  }

  func draw(_ bar: ProgressBar) {
    let terminal = terminal
    guard terminal.isInteractive else { return }
    let line = bar.text(width: terminal.columns - 1, colour: terminal.colour)
    say("\r\u{1B}[K\(line)")
  }
}
