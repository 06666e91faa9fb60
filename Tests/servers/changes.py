"""Tests incremental pulls by the definitions of config/sources: Kinto itself, and servers that behave as the
documentation of Microsoft Graph, Google Calendar and HubSpot says."""

import json
import re
import subprocess

from ground import RECORDS, Kinto
from programs import end
from shapes import bundled
from simulated import Refused, Simulated


# HubSpot's search finds no more.
MOST = 10_000


class Changing(Simulated):
    """Microsoft Graph's users, Google Calendar's events and HubSpot's contacts.

    A record has an id, a version, which each write of any record increases, a name, and whether it was deleted. `floor`
    is the oldest version whose delta token the server still knows. `fails` is the status of all requests with a token.
    """

    count = 250

    def fill(self):
        self.state = {"floor": 0, "records": [
            {"id": f"r{number}", "version": number, "name": f"Name {number}", "deleted": False}
            for number in range(1, self.count + 1)]}

    def edit(self, key, **fields):
        records = self.state["records"]
        known = [record for record in records if record["id"] == key]
        if not known:
            known = [{"id": key, "name": "New", "deleted": False}]
            records.append(known[0])
        known[0].update(fields, version=max(record.get("version", 0) for record in records) + 1)

    def forget(self):
        """Every token that was given so far."""
        self.state["floor"] = max(record["version"] for record in self.state["records"])

    def respond(self, request):
        path, state = request.path, self.state
        if path == "/crm/v3/objects/contacts/search":
            return search(request.json, state), {}
        lists = {
            "/v1.0/users/delta": users, "/calendar/v3/calendars/primary/events": events,
            "/crm/v3/objects/contacts": contacts}
        if path in lists:
            return lists[path](request.query, state, self.origin), {}
        found = [record for record in state["records"] if path.endswith(f"/{record['id']}") and not record["deleted"]]
        if not found:
            raise Refused(404)
        return contact(found[0]), {}


def changed(state, token):
    """The records since a token, and the next token."""
    newest = "delta" + str(max((record["version"] for record in state["records"]), default=0))
    if token is None:
        return [record for record in state["records"] if not record["deleted"]], newest
    if "fails" in state:
        raise Refused(state["fails"])
    version = int(token.removeprefix("delta"))
    if version < state["floor"]:
        raise Refused(410)
    return [record for record in state["records"] if record["version"] > version], newest


def users(query, state, origin):
    """learn.microsoft.com/en-us/graph/delta-query-overview: the links have all that the next request needs."""
    address = f"{origin}/v1.0/users/delta"
    token, start = query.get("$deltatoken"), 0
    if "$skiptoken" in query:
        token, start, newest = query["$skiptoken"].split("-")
        token, start = token or None, int(start)
        found, _ = changed(state, token)
    else:
        if token is None:
            assert query["$select"].startswith("id,displayName"), query
        found, newest = changed(state, token)
    shown = [
        {"id": record["id"], "@removed": {"reason": "changed"}} if record["deleted"] else
        {"id": record["id"], "displayName": record["name"], "userPrincipalName": record["name"], "accountEnabled": True}
        for record in found[start:start + 100]]
    if start + 100 < len(found):
        return {"value": shown, "@odata.nextLink": f"{address}?$skiptoken={token or ''}-{start + 100}-{newest}"}
    return {"value": shown, "@odata.deltaLink": f"{address}?$deltatoken={newest}"}


def events(query, state, _):
    """developers.google.com/workspace/calendar/api/v3/reference/events/list."""
    size, token, start = int(query["maxResults"]), query.get("syncToken"), int(query.get("pageToken", 0))
    found, newest = changed(state, token)
    shown = [
        {"id": record["id"], "status": "cancelled"} if record["deleted"] else
        {"id": record["id"], "status": "confirmed", "summary": record["name"], "start": {"date": "2026-01-01"}}
        for record in found[start:start + size]]
    more = start + size < len(found)
    return {"items": shown} | ({"nextPageToken": str(start + size)} if more else {"nextSyncToken": newest})


def contact(record):
    return {
        "id": record["id"], "archived": False, "createdAt": "2026-01-01T00:00:00Z", "updatedAt": stamp(record),
        "properties": {"email": f"{record['id']}@example.com", "firstname": record["name"],
                       "lastmodifieddate": stamp(record)}}


def stamp(record):
    """A version is a second of 2026-01-01."""
    second = record["version"]
    return f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"


def pages(found, start, size):
    more = start + size < len(found)
    shown = [contact(record) for record in found[start:start + size]]
    return {"results": shown} | ({"paging": {"next": {"after": str(start + size)}}} if more else {})


def contacts(query, state, _):
    """developers.hubspot.com/docs/api-reference/crm-contacts-v3/basic/get-contacts."""
    assert "lastmodifieddate" in query["properties"], query
    return pages(changed(state, None)[0], int(query.get("after", 0)), int(query["limit"]))


def search(body, state):
    """developers.hubspot.com/docs/api-reference/search/guide: GTE compares milliseconds since 1970."""
    (condition,), = [group["filters"] for group in body["filterGroups"]]
    assert (condition["propertyName"], condition["operator"]) == ("lastmodifieddate", "GTE"), body
    since = int(condition["value"]) - 1_767_225_600_000
    found = [record for record in changed(state, None)[0] if record["version"] * 1000 >= since]
    start = int(body.get("after", 0))
    if start + body["limit"] > MOST:
        raise Refused(400)
    return {"total": len(found)} | pages(sorted(found, key=stamp), start, body["limit"])


def counts(report):
    return [report[name] for name in ("added", "changed", "removed", "requests")]


def kinto(ground):
    """9, 15, 21: config/sources/kinto-records.toml with Kinto, whose tombstones remove records at once"""
    server = ground.server(Kinto)
    roster = bundled(ground, server, "kinto-records", "/v1", [("BUCKET", "blog"), ("COLLECTION", "entries")])
    assert counts(roster.sync()) == [RECORDS, 0, 0, 2]
    server.change("entry-3")
    server.delete("entry-5")
    server.insert()
    assert counts(roster.sync()) == [1, 1, 1, 1]
    stored = {key: json.loads(extra)["title"] for key, extra in roster.query("SELECT id, extra FROM records")}
    assert stored == {key: title for key, (title, _) in server.rows().items()}
    report = roster.sync()
    assert report["outcome"] == "unchanged" and report["requests"] == 1, report
    report = roster.sync()
    assert report["not_modified"] == 1, report
    assert roster.query("SELECT proof FROM resources") == [("since",)]
    server.change("entry-9")
    assert counts(roster.sync("--fresh"))[1] == 1


def tokens(ground, name, prefix, table, pages):
    server = ground.server(Changing)
    roster = bundled(ground, server, name, prefix)
    assert counts(roster.sync()) == [server.count, 0, 0, pages]
    assert roster.sync()["requests"] == 1
    server.edit("r3", name="Changed")
    server.edit("r5", deleted=True)
    server.edit("new")
    assert counts(roster.sync()) == [1, 1, 1, 1]
    server.edit("r7", name="Changed")
    server.edit("r9", deleted=True)
    server.forget()
    report = roster.sync()
    assert counts(report)[1:] == [1, 0, 1 + pages] and report["exit"] == 0, report
    assert report["statuses"][0] == "410", report
    server.edit("r11", name="Changed")
    # No token reports the removal of r9, so that this pull is whole too.
    assert counts(roster.sync())[1:] == [1, 1, pages]
    assert roster.sync()["requests"] == 1
    assert roster.query(f"SELECT count(*) FROM {table}") == [(server.count - 1,)]
    shown = roster.start(roster.control, "status", "--json", "--cache", roster.cache).communicate()[0]
    assert "token=" not in shown and "deltatoken" not in shown, shown


def graph(ground):
    """21, 38: config/sources/microsoft-graph-users.toml, whose delta token is an address"""
    tokens(ground, "microsoft-graph-users", "/v1.0", "users", 3)


def calendar(ground):
    """21: config/sources/google-calendar-events.toml, whose delta token is a parameter"""
    tokens(ground, "google-calendar-events", "/calendar/v3", "events", 1)


def hidden(ground, name, prefix):
    server = ground.server(Changing)
    roster = bundled(ground, server, name, prefix)
    environment = roster.environment | {"ROSTERD_LOG_LEVEL": "trace", "ROSTERD_RETRY_MAX_RETRIES": "0"}
    log, events, texts = roster.folder / "log", roster.folder / "events", []

    def begin(file, *command):
        with open(file, "wb") as output:
            return subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)

    def show(*command):
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        texts.append(f"{command}: {done.stdout}{done.stderr}")

    daemon = begin(log, roster.program, "run", "--config", roster.configuration)
    show(roster.control, "wait", "--timeout", "30s")
    follower = begin(events, roster.control, "events", "--json")
    try:
        for status in [None, 500, 403, 400, 410, None]:
            server.state.pop("fails", None)
            if status:
                server.state["fails"] = status
            # The next page's address has the token too.
            for number in range(1, 130):
                server.edit(f"r{number}", name=f"Before {status}")
            for command in [
                    ["sync", "--wait", "--json"], ["explain"], ["explain", "--json"], ["status"], ["status", "--json"],
                    ["pending"], ["history", "--json"]]:
                show(roster.control, *command)
            show("curl", "-s", "--unix-socket", roster.folder / "status.sock", "http://localhost/metrics")
    finally:
        end(follower)
        end(daemon)
    show(roster.program, "check", "--config", roster.configuration)
    show(roster.control, "explain", "--cache", roster.cache)
    show(roster.control, "status", "--json", "--cache", roster.cache)
    texts += [log.read_text(), events.read_text()]
    assert "list.reset" in texts[-1] and "***" in texts[-1] and "***" in texts[-2], texts[-2:]
    for text in texts:
        found = re.search(r"delta\d", text)
        assert not found, text[max(0, found.start() - 300):][:600]
    assert any("delta2" in address for _, address, *_ in server.log()), server.log()
    assert roster.query("SELECT proof FROM resources") == [("since",)]


def hidden_address(ground):
    """38: no output has a delta token that is an address, whatever fails"""
    hidden(ground, "microsoft-graph-users", "/v1.0")


def hidden_parameter(ground):
    """38: no output has a delta token that is a parameter, whatever fails"""
    hidden(ground, "google-calendar-events", "/calendar/v3")


def ignored(ground):
    """47: a server that ignores since.param gives the right data, and explain says so"""
    server = ground.server(Kinto)
    changes = [("BUCKET", "blog"), ("COLLECTION", "entries"), ('param = "_since"', 'param = "_other"')]
    roster = bundled(ground, server, "kinto-records", "/v1", changes)
    assert counts(roster.sync()) == [RECORDS, 0, 0, 2]
    server.change("entry-3")
    server.insert()
    assert counts(roster.sync()) == [1, 1, 0, 3]
    stored = {key: json.loads(extra)["title"] for key, extra in roster.query("SELECT id, extra FROM records")}
    assert stored == {key: title for key, (title, _) in server.rows().items()}
    todo = roster.explain()["todo"]
    assert "Compare param and value of [resource.record.since]" in todo, todo


def hubspot(ground):
    """21: config/sources/hubspot-contacts.toml, whose changes are a search by POST"""
    server = ground.server(Changing)
    roster = bundled(ground, server, "hubspot-contacts", "", [('overlap = "15m"', 'overlap = "5s"')])
    assert counts(roster.sync()) == [server.count, 0, 0, 3]
    server.edit("r3", name="Changed")
    server.edit("new")
    report = roster.sync()
    assert counts(report) == [1, 1, 0, 1], report
    assert report["log"][0][:2] == ("POST", "/crm/v3/objects/contacts/search"), report
    assert roster.query("SELECT first_name FROM contacts WHERE id IN ('r3', 'new') ORDER BY id") == [
        ("New",), ("Changed",)]
    assert roster.sync()["outcome"] == "unchanged"


def tests():
    yield from [kinto, graph, calendar, hidden_address, hidden_parameter, ignored, hubspot]
