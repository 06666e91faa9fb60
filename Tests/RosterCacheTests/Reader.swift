import FoundationEssentials
import Glibc
import RosterTestSupport
import Testing

@testable import RosterCache

/// Another process that reads a cache in a loop until `finish`.
final class Reader {
  struct Verdict: Decodable {
    /// The first read that was not of one snapshot; empty: none.
    var mixed: String
    /// Different snapshots that were seen, and the last one.
    var versions: Int
    var last: String
  }

  private var pid: pid_t = 0
  private let output: CInt
  private let stop: String

  /// Whether this machine has python3 with SQLite and FTS5.
  static var isThere: Bool {
    let script =
      "import sqlite3; sqlite3.connect(':memory:').execute('create virtual table f using fts5(x)'); print('ready')"
    guard let reader = try? Reader(script: script, path: "", stop: "") else { return false }
    return reader.line() == "ready"
  }

  /// It ends when a file `finish` appears beside the cache.
  convenience init(path: String) throws {
    try self.init(script: Self.script, path: path, stop: path + ".finish")
  }

  private init(script: String, path: String, stop: String) throws {
    self.stop = stop
    var ends: [CInt] = [0, 0]
    try #require(pipe(&ends) == 0)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    closeInherited(&actions)
    let words: [String] = ["env", "python3", "-c", script, path, stop]
    let variables: [String] = ["PATH=" + (ProcessInfo.processInfo.environment["PATH"] ?? "")]
    let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    let environment: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
    defer { for text in arguments + environment { free(text) } }
    let code = posix_spawn(&pid, "/usr/bin/env", &actions, nil, arguments, environment)
    close(ends[1])
    output = ends[0]
    try #require(code == 0)
  }

  func waitUntilReady() throws {
    try #require(line() == "ready")
  }

  func finish() throws -> Verdict {
    try CacheFile.touch(stop, mode: 0o600)
    let answer = line()
    #expect(end() == 0)
    return try JSONDecoder().decode(Verdict.self, from: Data(answer.utf8))
  }

  /// Ends the process if the test failed before `finish`.
  deinit {
    guard pid > 0 else { return }
    kill(pid, SIGKILL)
    end()
  }

  @discardableResult
  private func end() -> CInt {
    var status: CInt = 0
    waitpid(pid, &status, 0)
    pid = 0
    close(output)
    return status
  }

  private func line() -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Every table must be of one version in one transaction, and the index must find it in every character.
  private static let script = """
    import json, os, sqlite3, sys
    db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True, isolation_level=None, timeout=5)
    seen, mixed, last = set(), '', ''
    def look():
        global mixed, last
        db.execute('begin')
        ask = lambda sql, *a: [r[0] for r in db.execute(sql, a)]
        names = set(n.split()[-1] for n in ask('select name from characters'))
        version = next(iter(names), '')
        snapshot, count = db.execute('select snapshot, records from cache_info').fetchone()
        found = [names == {version},
            set(ask('select distinct status from characters')) == {'Alive ' + version},
            set(ask('select distinct changed_sync from characters')) == {snapshot},
            set(ask('select distinct url from character_episodes')) == {version},
            ask('select count(*) from character_episodes') == [2 * count],
            set(ask("select document ->> '$' from rejects")) == {version},
            ask('select count(*) from characters_fts where characters_fts match ?', version) == [count],
            ask('select count(*) from characters') == [count],
            set(ask('select sync_id from changes where id > (select max(id) from changes) - 200')) <= {snapshot},
            ask('select outcome from syncs where id = ?', snapshot) == ['published']]
        db.execute('commit')
        seen.add(version)
        last = version
        if not all(found) and not mixed: mixed = version + ' ' + str(found)
    look()
    print('ready', flush=True)
    # Tests that were killed leave nobody to tell it to finish.
    parent = os.getppid()
    while not os.path.exists(sys.argv[2]) and os.getppid() == parent: look()
    look()
    print(json.dumps({'mixed': mixed, 'versions': len(seen), 'last': last}), flush=True)
    """
}
