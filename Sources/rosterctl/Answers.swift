import Dispatch
import FoundationEssentials
import Glibc
import RosterCore
import RosterDecode
import RosterStatusClient
import RosterTerminal

extension Response {
  /// The body of a 2xx answer. Throws a `Failure` with the daemon's reason for another status.
  func body(of step: String) throws -> [UInt8] {
    if (200..<300).contains(status) { return body }
    struct Problem: Decodable {
      var detail: String?
      var exit: Int32?
    }
    guard let problem = try? JSONDecoder().decode(Problem.self, from: Data(body)) else {
      throw Self.strange(step, cause: "it answered \(status) without a reason")
    }
    let exit = problem.exit.flatMap(Failure.Kind.init(rawValue:)) ?? (status == 403 ? .refused : .badAnswer)
    throw Failure(exit, step: step, subject: "the daemon", cause: problem.detail ?? "it answered \(status)")
  }

  func decoded<Value: Decodable>(_ type: Value.Type, of step: String) throws -> Value {
    let body = try body(of: step)
    do { return try JSONDecoder().decode(type, from: Data(body)) } catch {
      if let version = Self.otherVersion(body) {
        throw Failure(
          .noDaemon, step: step, subject: "the daemon",
          cause: "rosterd \(version) answers, which rosterctl \(rosterdVersion) does not understand",
          hint: "restart rosterd, so that it runs the installed version")
      }
      throw Self.strange(step, cause: "its answer is not rosterd's")
    }
  }

  /// The body unchanged. Throws if it is not a JSON object.
  func json(of step: String) throws -> [UInt8] {
    struct Member: Decodable {}
    _ = try decoded([String: Member].self, of: step)
    return body
  }

  /// The version of the daemon that answers, if it is another one.
  private static func otherVersion(_ body: [UInt8]) -> String? {
    struct Version: Decodable { var version: String }
    let version = (try? JSONDecoder().decode(Version.self, from: Data(body)))?.version
    return version == rosterdVersion ? nil : version
  }

  private static func strange(_ step: String, cause: String) -> Failure {
    Failure(
      .noDaemon, step: step, subject: "the daemon", cause: "no rosterd answers: \(cause)",
      hint: "see whether --socket names rosterd's status.socket")
  }
}

extension DaemonStatus {
  static let step = "ask for the status"
}

/// `/v1/syncs`.
struct SyncList: Codable {
  static let step = "ask for the syncs"

  var syncs: [SyncRecord]
}

extension StatusClient {
  /// The default limit of `send`.
  static let patience = Duration.seconds(10)

  func status(within limit: Duration = patience) async throws -> DaemonStatus {
    try await send("GET", target: "/v1/status", within: limit).decoded(DaemonStatus.self, of: DaemonStatus.step)
  }

  /// The latest first.
  func syncs(_ count: Int, within limit: Duration = patience) async throws -> [SyncRecord] {
    try await send("GET", target: "/v1/syncs?limit=\(count)", within: limit).decoded(SyncList.self, of: SyncList.step)
      .syncs
  }
}

/// The message of a command that finds no snapshot to show.
func noSnapshot(in cache: String) -> String {
  "the cache \(cache) holds no snapshot yet: no sync has been published"
}

/// A stream of this process, written to at once.
struct Output {
  static let standard = Output(descriptor: STDOUT_FILENO)
  static let error = Output(descriptor: STDERR_FILENO)

  /// The reader has closed the pipe, such as `head` after its last line. The program then ends without an error.
  struct Unread: Error {}

  let descriptor: Int32

  var terminal: Terminal { Terminal.of(descriptor, environment: environment) }

  func write(_ text: String) throws { try write(Array(text.utf8)) }

  /// Throws `Unread`, or `Failure` (73) where the text cannot be written.
  func write(_ bytes: [UInt8]) throws {
    do throws(SystemError) { try RosterCore.write(bytes, to: descriptor) } catch {
      if error.code == EPIPE { throw Unread() }
      throw Failure(.cannotWrite, step: "write the answer", subject: "standard output", cause: error.text)
    }
  }

  /// Writes JSON unchanged, except that text of upstream's cannot control a terminal.
  func write(json text: String) throws { try write(isatty(descriptor) == 1 ? text.printableJSON : text) }

  func write(json bytes: [UInt8]) throws {
    isatty(descriptor) == 1 ? try write(json: String(decoding: bytes, as: UTF8.self)) : try write(bytes)
  }

  /// Writes a value as the JSON that the daemon sends.
  func write(asJSON value: some Encodable) throws {
    try write(json: Array(try value.jsonLine()))
  }

  /// Writes an answer, and ignores that its reader is gone. The exit code is that of the command.
  static func ifRead(_ write: () throws -> Void) throws {
    do { try write() } catch is Unread {}
  }

  /// Writes a note beside the answer. A failure is ignored, because it could not be reported either.
  func say(_ text: String) { try? write(text) }

  /// A sentence for people, which may hold upstream's words.
  func tell(_ sentence: String) { say("rosterctl: \(sentence.printable)\n") }

  /// Draws a line of a terminal again (ECMA-48 EL).
  func redraw(_ line: String) { say("\r\(line)\u{1b}[K") }

  /// Ends the program when its reader has closed the pipe, even if there is nothing to write for hours.
  func endWhenUnread() {
    // A thread of its own: it waits for as long as the program lives.
    DispatchQueue(label: "unread").async { [descriptor] in
      var reader = pollfd(fd: descriptor, events: 0, revents: 0)
      while poll(&reader, 1, -1) < 0 && errno == EINTR {}
      if reader.revents & Int16(POLLERR) != 0 { _exit(0) }
    }
  }
}
