"""Events of any list, tested with each server in each of its page styles. The definitions are those that the
documentation suggests, and those that `rosterd infer` prints."""

import re

from ground import PAGES, RECORDS, Datasette, Django, Eve, Kinto, infer

# Index of a record in the middle of the list; number of answers after which a pull is killed.
MIDDLE, KILLED_AFTER = RECORDS // 2 - 7, 7


class Listing:
    """One list of a server: its address, its paging according to the documentation, and whether the server honours
    its own validators."""

    def __init__(
        self, server, name, address, pages, *, records="", key="/id", by_key="", query="{}", validators="honoured"
    ):
        self.server, self.name, self.address, self.validators = server, name, address, validators
        self.text = f"""
[resource.entry]
path = "{address.partition("?")[0]}"
query = {query}
records = "{records}"
key = "{key}"
{f'by_key = "{by_key}"' if by_key else ""}
pages = {pages}
[resource.entry.columns]
id = {{ at = "{key}", type = "{server.key}" }}
title = "/title"
score = {{ at = "/score", type = "real" }}
"""

    def documented(self, server, program):
        return f'[upstream]\nbase_url = "{server.origin}"\n{self.text}'

    def inferred(self, server, program):
        return infer(program, server.origin + self.address)


def django(name, pages, records="/results"):
    address = f"/api/{name}/"
    return Listing(
        Django, f"Django REST framework, {name}", address, pages, records=records, by_key=address + "{key}/")


NUMBER = django("number", '{ count = "/count" }')
OFFSET = django("offset", '{ style = "offset", param = "offset", count = "/count", size = 20, size_param = "limit" }')
CURSOR = django("cursor", '{ style = "next", at = "/next" }')
RANGE = django(
    "range", '{ style = "offset", param = "offset", count = "header:Content-Range", size = 20, size_param = "limit" }',
    records="")
LISTINGS = [
    NUMBER, OFFSET, CURSOR, RANGE,
    Listing(Kinto, "Kinto", f"{Kinto.collection}/records?_limit=20",
            '{ style = "next", at = "header:Next-Page", size = 20, size_param = "_limit" }', records="/data"),
    Listing(Datasette, "Datasette, next_url", "/entries/entry.json?_shape=objects&_sort_desc=id",
            '{ style = "next", at = "/next_url", count = "/filtered_table_rows_count" }', records="/rows",
            query='{ _shape = "objects", _sort_desc = "id" }', validators="none"),
    Listing(Datasette, "Datasette, _next", "/entries/entry.json?_shape=objects&_sort_desc=id",
            '{ style = "cursor", param = "_next", at = "/next" }', records="/rows",
            query='{ _shape = "objects", _sort_desc = "id" }', validators="none"),
    Listing(Datasette, "Datasette, Link", "/entries/entry.json?_shape=array&_sort_desc=id", '{ style = "link" }',
            query='{ _shape = "array", _sort_desc = "id" }', validators="none"),
    Listing(Eve, "Eve, page", "/api/entries", '{ count = "/_meta/total" }', records="/_items", key="/_id",
            by_key="/api/entries/{key}", validators="ignored"),
    Listing(Eve, "Eve, _links", "/api/entries",
            '{ style = "next", at = "/_links/next/href", count = "/_meta/total" }', records="/_items", key="/_id",
            validators="ignored"),
]


def life(listing, text, ground):
    """9, 11: a record changes, another is inserted at the front, one is deleted"""
    server = ground.server(listing.server)
    roster = ground.roster(server, text(server, ground.program))
    expect(roster, server, published(added=RECORDS), PAGES)
    # Kinto's 304 lacks the header of a next page, so that the last page, which is full, is transferred.
    again = ["200"] if listing.server is Kinto else []
    statuses = ["304" if listing.validators == "honoured" else "200", *again]
    expect(roster, server, {"outcome": "unchanged"}, PAGES + len(again), statuses)
    server.change(server.keys()[MIDDLE])
    expect(roster, server, published(changed=1), PAGES)
    server.insert()
    # Eve sends the same Last-Modified for page 5 with other records, so the page may be pulled again without
    # validators.
    expect(roster, server, published(added=1), PAGES + 1 if listing.validators != "ignored" else None)
    server.delete(server.keys()[MIDDLE])
    if not re.search("^by_key", roster.configuration.read_text(), re.MULTILINE):
        roster.sync()
        assert len(roster.rows()) == RECORDS + 1, "a record was removed that only one pull has missed"
    expect(roster, server, published(removed=1), None)


def published(**counts):
    return {"outcome": "published", "added": 0, "changed": 0, "removed": 0} | counts


def expect(roster, server, expected, requests, statuses=None):
    report = roster.sync()
    seen = {name: report[name] for name in expected}
    assert seen == expected, (seen, expected, report)
    assert report["requests"] == len(report["statuses"]), report
    assert requests is None or len(report["statuses"]) == requests, report
    assert statuses is None or set(report["statuses"]) == set(statuses), report
    assert roster.rows() == server.rows()


def killed(listing, text, ground):
    """40: a sync after SIGKILL transfers no kept page again"""
    server = ground.server(listing.server)
    roster = ground.roster(server, text(server, ground.program))
    # The answer that is on its way when the signal arrives may be lost.
    kept = {address for _, address, *_ in roster.killed(KILLED_AFTER)[:-1]}
    report = roster.sync()
    assert roster.rows() == server.rows()
    assert len(report["log"]) <= PAGES, report
    # A page with a validator is requested conditionally; Eve sends it again all the same. Each of Datasette's objects
    # has the duration of its query, so that the first page differs and the list begins again.
    if listing.validators == "ignored" or (listing.server is Datasette and '"objects"' in listing.text):
        return
    transferred = {address for _, address, status, *_ in report["log"] if status == "200"}
    # A chain without validators goes on only if its first page is unchanged.
    first = {report["log"][0][1]} if listing.validators == "none" else set()
    assert not (kept - first) & transferred, (kept, report)


def disturbed(listing, text, ground):
    """18: a record of a page that is already pulled is deleted, and no other is lost"""
    server = ground.server(listing.server)
    roster = ground.roster(server, text(server, ground.program))
    roster.disturbed(KILLED_AFTER, lambda: server.delete(server.keys()[1]))
    kept = roster.rows()
    missing = [key for key, values in server.rows().items() if kept.get(key) != values]
    assert not missing, missing


def tests():
    for listing in LISTINGS:
        texts = [listing.documented, listing.inferred]
        for what, definitions in [(life, texts), (killed, texts), (disturbed, texts[:1])]:
            for text in definitions:
                yield case(f"{what.__doc__} ({listing.name}, {text.__name__})", what, listing, text)


def case(name, what, *arguments):
    """A test with this name."""
    def test(ground):
        what(*arguments, ground)

    test.__doc__ = name
    return test
