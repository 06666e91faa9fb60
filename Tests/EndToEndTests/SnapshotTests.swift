import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Synchronization
import Testing

/// Whole snapshots, seen by another process while a daemon publishes.
@Suite(.serialized, .timeLimit(.minutes(1))) struct SnapshotTests {
  private static let versions = 50
  private static let pages = 3

  @Test("1: a reader sees one whole version in every table and in the index, while fifty are published")
  func readers() async throws {
    let version = Version(last: Self.versions)
    // Page 1 is requested once in each sync, so that each sync gets one version.
    let next = Rule.on(.page(1), .drift { characters in version.next().map { characters.mark($0) } ?? () })
    try await withSite(.pages(Self.pages, rules: [next]), settings: ["ROSTERD_SYNC_INTERVAL": "100ms"]) { site in
      let python = try Program.tool("python3")
      try await site.withDaemon { _, _ in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        let arguments = ["-c", Self.reader, site.cache, "v\(Self.versions)", "\(Self.pages * 20)"]
        let outcome = try await Program.run(python, arguments: arguments, environment: ["PYTHONUTF8": "1"])
        #expect(outcome.exit == 0, "\(outcome.output)\(outcome.error)")
        // A reader that saw no change has tested nothing.
        #expect(Int(outcome.output.split(separator: "\n").last ?? "") ?? 0 > 10)
      }
    }
  }

  private final class Version: Sendable {
    private let current = Mutex(0)
    private let last: Int

    init(last: Int) { self.last = last }

    /// nil if the current version is the last one.
    func next() -> Int? {
      current.withLock { current in
        guard current < last else { return nil }
        current += 1
        return current
      }
    }
  }

  /// Reads until it has seen the last version. Prints the first read with mixed versions, or the number of versions.
  private static let reader = """
    import sqlite3, sys
    path, last, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    db = sqlite3.connect('file:' + path + '?mode=ro', uri=True, isolation_level=None, timeout=5)
    ask = lambda sql, *a: [row[0] for row in db.execute(sql, a)]
    marks = lambda texts: set(text.rsplit('·', 1)[-1] for text in texts)
    columns = ['name', 'status', 'species', 'type', 'gender', 'origin_name', 'origin_url', 'location_name', 'location_url',
        'image', 'url', 'created']
    seen = set()
    while last not in seen:
        db.execute('begin')
        snapshot, records, published = db.execute(
            'select snapshot, records, published_at from cache_info').fetchone()
        rows = db.execute('select %s from characters' % ', '.join(columns)).fetchall()
        found = marks(text for row in rows for text in row)
        version = min(found)
        wrong = []
        def check(name, got, wanted):
            if got != wanted: wrong.append((name, got, wanted))
        check('characters', found, {version})
        check('count', (len(rows), records), (count, count))
        check('changed_sync', set(ask('select distinct changed_sync from characters')), {snapshot})
        check('episodes', marks(ask('select url from character_episodes')), {version})
        check('index', ask('select count(*) from characters_fts where characters_fts match ?', version), [count])
        check('other index', ask("select count(*) from characters_fts where characters_fts match 'v*'")[0] >= count, True)
        newest = 'select %s from changes where sync_id = (select max(sync_id) from changes)'
        if version != 'v1':
            check('changes', marks(ask(newest % "after ->> 'name'")), {version})
            check('changes of', set(ask(newest % 'sync_id')), {snapshot})
        check('sync', ask('select outcome from syncs where id = ?', snapshot), ['published'])
        check('time', ask('select finished_at from syncs where id = ?', snapshot), [published])
        db.execute('commit')
        if wrong: sys.exit(str((version, wrong)))
        seen.add(version)
    print(len(seen))
    """
}

extension [Character] {
  fileprivate mutating func mark(_ version: Int) { self = map { $0.marked(version) } }
}
