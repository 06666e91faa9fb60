import Dispatch
import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

/// Tests of the cache against faults. They run one at a time, because each starts several programs.
@Suite(.serialized) enum CacheTrials {}

/// Makes file calls of the real program fail, and name look-ups hang, as long as a test requests it (Tests/DiskFaults).
struct DiskFaults {
  enum Call: String, CaseIterable { case open, read, write, sync }

  private let folder: String
  let settings: [String: String]

  init(in site: Site) throws {
    folder = "\(site.folder)/faults"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    settings = ["LD_PRELOAD": "\(Program.productFolder)/libDiskFaults.so", "ROSTER_FAULTS": folder]
  }

  /// - Parameters:
  ///   - code: errno.
  ///   - ends: The ends of the affected paths; empty for all files.
  func fail(_ call: Call, with code: Int32, on ends: String...) throws {
    try order(call.rawValue, text: ([String(code)] + ends).joined(separator: " "))
  }

  /// Lets one call fail: the n-th of all calls that write, shorten, flush, open for writing, rename or map such a file.
  /// - Parameter code: errno, or a negative signal, which the program gets instead.
  func failOnce(_ number: Int, with code: Int32, on ends: [String]) throws {
    unlink("\(folder)/failed")
    try order("once", text: (["\(number)", "\(code)"] + ends).joined(separator: " "))
  }

  /// The file on which that call failed; nil if there were fewer calls.
  var failed: String? { text("failed") }

  /// Number of calls in the program that ended last.
  var calls: Int { text("calls").flatMap { Int($0) } ?? 0 }

  private func text(_ name: String) -> String? {
    FileManager.default.contents(atPath: "\(folder)/\(name)").map { String(decoding: $0, as: UTF8.self) }
  }

  /// Stops the program by SIGSTOP before it writes at or beyond this offset of a file.
  func stop(at offset: Int32, of end: String) throws {
    try order("stop", text: "\(offset) \(end)")
  }

  /// Lets the next thread that writes to such a file hang there, until `goOn`.
  func hang(_ ends: String...) throws {
    for fifo in ["hung", "go"] { try #require(mkfifo("\(folder)/\(fifo)", 0o600) == 0) }
    try order("hang", text: (["1"] + ends).joined(separator: " "))
  }

  /// Returns when a thread hangs.
  func hung() async {
    await meet("hung", flags: O_RDONLY)
    unlink("\(folder)/hang")
  }

  func goOn() async { await meet("go", flags: O_WRONLY) }

  /// A FIFO opens when its other end does (fifo(7)).
  private func meet(_ fifo: String, flags: CInt) async {
    await withCheckedContinuation { met in
      DispatchQueue(label: "fifo").async { [path = "\(folder)/\(fifo)"] in
        close(open(path, flags | O_CLOEXEC))
        met.resume()
      }
    }
  }

  /// Each name look-up is announced on this socket, and gets no answer.
  func hangNames() throws -> NotifySocket {
    try NotifySocket(path: "\(folder)/names")
  }

  func end() {
    for name in Call.allCases.map(\.rawValue) + ["stop", "once"] { unlink("\(folder)/\(name)") }
  }

  /// The file is put in place by a rename, because the program may read it at any time.
  private func order(_ name: String, text: String) throws {
    try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"), options: .atomic)
  }
}

/// A site whose rosterd gets the disk faults.
func withFaults(
  _ scenario: Scenario = .pages(3), settings: [String: String] = [:], body: (Site, DiskFaults) async throws -> Void
) async throws {
  try await withSite(scenario, settings: settings) { site in
    var site = site
    let faults = try DiskFaults(in: site)
    site.settings.merge(faults.settings) { $1 }
    try await body(site, faults)
  }
}

extension Site {
  /// Requests a sync from the daemon and follows it; returns the error text.
  func ask(_ flags: [String] = [], exit: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation) async throws
    -> String
  {
    let outcome = try await Program.run(
      try Program.built("rosterctl"), arguments: ["sync", "--wait", "--json"] + flags,
      environment: ["ROSTERD_STATUS_SOCKET": socket])
    #expect(outcome.exit == exit, "\(outcome.output)\(outcome.error)", sourceLocation: sourceLocation)
    return outcome.output + outcome.error
  }

  /// Expects that the cache equals upstream and is intact.
  func expectWell(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await expectUpstream(sourceLocation: sourceLocation)
    #expect(try await rows("PRAGMA integrity_check") == [["ok"]], sourceLocation: sourceLocation)
    #expect(
      try await rows("SELECT count(*) FROM syncs WHERE outcome = 'running'") == [["0"]],
      sourceLocation: sourceLocation)
  }

  /// Changes all characters.
  func next(_ version: Int) { upstream.update { $0 = $0.map { $0.marked(version) } } }

  /// Names in the cache's folder.
  func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: "\(folder)/state").sorted() }

  /// Expects the modes of the cache's files and of the file of pulled pages.
  func expectModes(sourceLocation: SourceLocation = #_sourceLocation) throws {
    for (name, wanted) in [
      "roster.db": 0o640, "roster.db-wal": 0o640, "roster.db-shm": 0o640, "roster.db.next": 0o600,
    ] {
      #expect(try mode(name) == wanted, "\(name)", sourceLocation: sourceLocation)
    }
  }

  func mode(_ name: String) throws -> mode_t {
    var about = stat()
    try #require(stat("\(folder)/state/\(name)", &about) == 0, "\(name)")
    return about.st_mode & 0o7777
  }
}
