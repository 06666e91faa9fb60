"""Faults that such servers have shown, each again."""

from ground import PAGES, RECORDS, Datasette, Django, infer
from rounds import MIDDLE, NUMBER, OFFSET


def in_parallel(ground):
    """P1: pages counted by number or offset are pulled in parallel if upstream tells the number of records"""
    for listing in [OFFSET, NUMBER]:
        server = ground.server(Django, DELAY="0.2")
        report = ground.roster(server, listing.documented(server, ground.program)).sync()
        assert report["requests"] == PAGES, report
        assert max(int(line[3]) for line in report["log"]) >= PAGES // 2, report["log"]


def wrong_by_key(ground):
    """P16.4: a by_key that finds nothing removes nothing"""
    server = ground.server(Django)
    text = NUMBER.documented(server, ground.program).replace("/api/number/{key}/", "/api/nothing/{key}/")
    roster = ground.roster(server, text)
    roster.sync()
    server.delete(server.keys()[MIDDLE])
    report = roster.sync()
    assert report["removed"] == 0 and len(roster.rows()) == RECORDS, report
    explained = roster.explain()
    assert explained["state"] == "degraded" and "by_key" in str(explained), explained


def unreadable_list(ground):
    """infer names the longer list that it cannot read (Datasette's rows beside suggested_facets)"""
    server = ground.server(Datasette)
    text = infer(ground.program, f"{server.origin}/entries/entry.json")
    comments = " ".join(line for line in text.splitlines() if line.startswith("#"))
    assert 'records = "/suggested_facets"' in text, text
    assert "/rows" in comments and "_shape=objects" in comments, text


def tests():
    return [in_parallel, wrong_by_key, unreadable_list]
