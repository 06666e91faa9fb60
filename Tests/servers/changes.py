"""Tests incremental pulls by the definitions of config/sources: Kinto itself, and servers that behave as the
documentation of Microsoft Graph, Google Calendar and HubSpot says."""

import json
import re
import subprocess

from ground import RECORDS, Kinto, Server
from programs import end
from shapes import SOURCES


class Changing(Server):
    """The records of changing_server.py."""

    name = "changing"
    count = 250

    def fill(self):
        self.state = {"floor": 0, "records": [
            {"id": f"r{number}", "version": number, "name": f"Name {number}", "deleted": False}
            for number in range(1, self.count + 1)]}
        self.write()

    def write(self):
        (self.folder / "records.json").write_text(json.dumps(self.state))

    def edit(self, key, **fields):
        records = self.state["records"]
        known = [record for record in records if record["id"] == key]
        if not known:
            known = [{"id": key, "name": "New", "deleted": False}]
            records.append(known[0])
        known[0].update(fields, version=max(record.get("version", 0) for record in records) + 1)
        self.write()

    def forget(self):
        """Every token that was given so far."""
        self.state["floor"] = max(record["version"] for record in self.state["records"])
        self.write()


def bundled(ground, server, name, prefix, changes=()):
    """A roster with a definition of config/sources for this server, which asks for no credentials."""
    text = (SOURCES / f"{name}.toml").read_text()
    text = re.sub('base_url = ".*"', f'base_url = "{server.origin}{prefix}"', text)
    text = re.sub(r"\[(auth|limit)\]\n(?:.+\n)+", "", text)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return ground.roster(server, text)


def counts(report):
    return [report[name] for name in ("added", "changed", "removed", "requests")]


def kinto(ground):
    """I3.1, I5.2, I11.1: config/sources/kinto-records.toml with Kinto, whose tombstones remove records at once"""
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
    assert counts(roster.sync())[1:] == [1, 0, 1]
    server.state["records"] = [record for record in server.state["records"] if record["id"] != "r9"]
    assert roster.query(f"SELECT count(*) FROM {table}") == [(server.count,)]
    shown = roster.start(roster.control, "status", "--json", "--cache", roster.cache).communicate()[0]
    assert "token=" not in shown and "deltatoken" not in shown, shown


def graph(ground):
    """I7.1, I7.2, I7.3: config/sources/microsoft-graph-users.toml, whose delta token is an address"""
    tokens(ground, "microsoft-graph-users", "/v1.0", "users", 3)


def calendar(ground):
    """I7.1, I7.2: config/sources/google-calendar-events.toml, whose delta token is a parameter"""
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
        for status in [None, "500 Internal Server Error", "403 Forbidden", "400 Bad Request", "410 Gone", None]:
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
    """I7.3: no output has a delta token that is an address, whatever fails"""
    hidden(ground, "microsoft-graph-users", "/v1.0")


def hidden_parameter(ground):
    """I7.3: no output has a delta token that is a parameter, whatever fails"""
    hidden(ground, "google-calendar-events", "/calendar/v3")


def ignored(ground):
    """S9.1: a server that ignores since.param gives the right data, and explain says so"""
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
    """I3.1, I8.1: config/sources/hubspot-contacts.toml, whose changes are a search by POST"""
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
