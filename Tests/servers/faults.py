"""Repeats faults that were found in such servers."""

from ground import PAGES, RECORDS, Datasette, Django, infer
from rounds import MIDDLE, NUMBER, OFFSET, django

LATEST = django("latest", '{ count = "/count" }')


def in_parallel(ground):
    """27: pages by number or offset are pulled in parallel if the answer has the number of records"""
    for listing in [OFFSET, NUMBER]:
        server = ground.server(Django, DELAY="0.2")
        report = ground.roster(server, listing.documented(server, ground.program)).sync()
        assert report["requests"] == PAGES, report
        assert max(int(line[3]) for line in report["log"]) >= PAGES // 2, report["log"]


def fresh(ground):
    """20: --fresh sees a deletion that Django's documented Last-Modified hides"""
    server, roster = pulled(ground)
    server.delete(server.keys()[MIDDLE])
    report = roster.sync()
    assert set(report["statuses"]) == {"304"}, report
    assert len(roster.rows()) == RECORDS
    report = roster.sync("--fresh")
    assert report["removed"] == 1 and "304" not in report["statuses"], report
    assert roster.rows() == server.rows()


def audited(ground):
    """20: the audit sees a deletion that Django's documented Last-Modified hides, and distrusts that header"""
    server, roster = pulled(ground, 'audit_every = "1ms"')
    server.delete(server.keys()[MIDDLE])
    # Each sync audits one page, so all pages are audited after this number of syncs.
    reports = [roster.sync()]
    while not reports[-1]["removed"]:
        assert len(reports) <= PAGES, reports
        reports.append(roster.sync())
    assert roster.rows() == server.rows()
    assert roster.query("SELECT validators FROM resources") == [("distrusted",)]
    explained = roster.explain()
    assert explained["state"] == "degraded" and "Last-Modified" in str(explained), explained
    assert "304" not in roster.sync()["statuses"]


def pulled(ground, keys=""):
    server = ground.server(Django)
    roster = ground.roster(server, LATEST.documented(server, ground.program).replace("pages =", f"{keys}\npages ="))
    roster.sync()
    return server, roster


def wrong_by_key(ground):
    """13: a by_key that finds nothing removes nothing"""
    server = ground.server(Django)
    text = NUMBER.documented(server, ground.program).replace("/api/number/{key}/", "/api/nothing/{key}/")
    roster = ground.roster(server, text)
    roster.sync()
    server.delete(server.keys()[MIDDLE])
    report = roster.sync()
    assert report["removed"] == 0 and len(roster.rows()) == RECORDS, report
    explained = roster.explain()
    assert explained["state"] == "degraded" and "by_key" in str(explained), explained


def inferred_rows(ground):
    """55: infer proposes Datasette's rows with their names, not suggested_facets, and a sync mirrors them"""
    server = ground.server(Datasette)
    text = infer(ground.program, f"{server.origin}/entries/entry.json")
    assert 'records = "/rows"' in text and 'shape = "rows"' in text and 'row_names = "/columns"' in text, text
    roster = ground.roster(server, text)
    assert roster.sync()["added"] == RECORDS
    assert roster.rows() == server.rows()


def tests():
    return [in_parallel, fresh, audited, wrong_by_key, inferred_rows]
