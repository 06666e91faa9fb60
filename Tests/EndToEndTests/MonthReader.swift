/// A tool that keeps a copy of the characters by the rules for `changes` in docs/CACHE.md. It uses one
/// connection for a month, across deployments and kills. It reads each snapshot immediately after the publication,
/// until SIGTERM. Then it prints the number of snapshots, the number of changes that it applied, and how often it had
/// to start from scratch.
enum MonthReader {
  static let program = """
    import json, signal, sqlite3, sys, time
    db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True, isolation_level=None, timeout=30)
    ask = lambda sql, *a: db.execute(sql, a).fetchall()
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
    feed, seen, copy, snapshot, version = None, 0, {}, None, None
    snapshots, followed, anew = 0, 0, 0
    def look():
        global feed, seen, copy, snapshot, snapshots, followed, anew
        now, records, at = ask('select feed, records, snapshot from cache_info')[0]
        first, last = ask('select min(id), max(id) from changes')[0]
        rows = ask('select id, name, changed_sync from characters')
        assert len(rows) == records, (len(rows), records)
        assert all(sync <= at for _, _, sync in rows), at
        assert snapshot is None or at >= snapshot, (at, snapshot)
        if now != feed or (last or 0) < seen or (first or 0) > seen + 1:
            copy = {id: {'name': name} for id, name, _ in rows}
            anew += 1
        else:
            changes = ask('select id, record_id, before, after from changes where id > ? order by id', seen)
            assert [c[0] for c in changes] == list(range(seen + 1, (last or seen) + 1)), (seen, last)
            for _, id, before, after in changes:
                before = before and json.loads(before)
                known = copy.pop(id, None)
                assert (known is None) == (before is None), (id, known, before)
                assert all(before[name] == value for name, value in (known or {}).items()), (id, known, before)
                if after: copy[id] = json.loads(after)
            followed += len(changes)
        assert {id: record['name'] for id, record in copy.items()} == {id: name for id, name, _ in rows}
        snapshots += at != snapshot
        feed, seen, snapshot = now, last or 0, at
    while True:
        last_look = bool(stopped)
        found = ask('pragma data_version')[0][0]
        if found != version or last_look:
            db.execute('begin')
            look()
            db.execute('commit')
            version = found
        if last_look: break
        time.sleep(0.002)
    print(snapshots, followed, anew)
    """
}
