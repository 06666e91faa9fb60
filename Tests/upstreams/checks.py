"""The rules that hold for every sync, whichever server answers."""

from collections import Counter

from programs import wait_until


def synced(roster, pages, server, outcome, changed=0, not_modified=0, sync=None):
    """Runs one sync against a correct upstream; returns its lines of the server's log."""
    before = len(server.log())
    report = (sync or roster.sync)()
    # A server writes its log when an answer is out.
    wait_until(lambda: len(server.log()) >= before + report["requests"], f"{report['requests']} lines of the log")
    lines = server.log()[before:]
    expected = {
        "outcome": outcome, "pages": pages.count, "records": len(pages.names), "requests": pages.count, "retries": 0,
        "changed": changed, "not_modified": not_modified, "rejected": 0, "error": None,
    }
    seen = {name: report[name] for name in expected}
    assert seen == expected, f"{seen} instead of {expected}"
    row = roster.last_sync()
    assert {name: row[name] for name in expected} == expected, row
    twice = [target for target, count in Counter(line.target for line in lines).items() if count > 1]
    assert len(lines) == report["requests"], f"{len(lines)} lines for {report['requests']} requests: {twice}"
    assert sum(line.status == 304 for line in lines) == not_modified, [line.status for line in lines]
    assert {line.status for line in lines} <= {200, 304}, {line.status for line in lines}
    assert not twice, f"asked for twice: {twice}"
    assert roster.names() == pages.names
    return lines


def three_syncs(roster, pages, server, sync=None):
    """The first sync, one without changes, and one with a change; returns the lines of each."""
    first = synced(roster, pages, server, "published", sync=sync)
    second = synced(roster, pages, server, "unchanged", not_modified=pages.count, sync=sync)
    pages.change()
    third = synced(roster, pages, server, "published", changed=1, not_modified=pages.count - 1, sync=sync)
    return first, second, third


def connections_of(lines):
    return len({line.connection for line in lines})
