"""Tests records of other forms: rows and composite keys of Datasette, maps and lists of Prometheus, and answers of
`by_key` inside an object."""

import json
import re
import urllib.error
import urllib.request
from pathlib import Path

from ground import RECORDS, Datasette, Kinto, Server
from programs import answers, free_port, tool, wait_until
from simulated import Refused, Simulated

ROWS = """
[resource.entry]
path = "/entries/entry.json"
records = "/rows"
shape = "rows"
row_names = "/columns"
by_key = "/entries/entry/{key}.json"
by_key_records = "/rows"
pages = { style = "next", at = "/next_url" }
[resource.entry.columns]
id = { at = "/id", type = "integer" }
title = "/title"
score = { at = "/score", type = "real" }
"""

PLACES = """
[resource.place]
path = "/entries/place.json"
records = "/rows"
shape = "rows"
row_names = "/columns"
key = ["/game", "/player"]
by_key = "/entries/place/{key.game},{key.player}.json"
by_key_records = "/rows"
pages = { style = "next", at = "/next_url", count = "/filtered_table_rows_count" }
[resource.place.columns]
player = { at = "/player", type = "integer" }
game = "/game"
points = { at = "/points", type = "integer" }
"""

ENTRIES = f"""
[resource.entry]
path = "{Kinto.collection}/records"
records = "/data"
by_key = "{Kinto.collection}/records/{{key}}"
by_key_records = "/data"
pages = {{ style = "next", at = "header:Next-Page", size = 20, size_param = "_limit" }}
[resource.entry.columns]
id = "/id"
title = "/title"
score = {{ at = "/score", type = "real" }}
"""

SOURCES = Path(__file__).resolve().parents[2] / "config/sources"


class Prometheus(Server):
    """The server itself, which is its own only target."""

    name = "prometheus"
    jobs = ("self",)

    def start(self):
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.configure(*self.jobs)
        with open(self.folder / "output.log", "wb") as output:
            self.serve(
                tool("prometheus"), f"--config.file={self.folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={self.folder / 'data'}", f"--web.listen-address=127.0.0.1:{self.port}",
                output=output)
        wait_until(lambda: answers(self.port), "Prometheus answers")
        wait_until(self.has_scraped, "Prometheus has scraped itself")

    def configure(self, *jobs):
        targets = "".join(
            f"  - job_name: {job}\n    static_configs: [{{targets: ['127.0.0.1:{self.port}']}}]\n" for job in jobs)
        (self.folder / "prometheus.yml").write_text(f"global: {{scrape_interval: 1s}}\nscrape_configs:\n{targets}")

    def has_scraped(self):
        try:
            return len(self.api("/label/__name__/values")) > 100
        except urllib.error.HTTPError:
            return False

    def api(self, path):
        with urllib.request.urlopen(f"{self.origin}/api/v1{path}", timeout=20) as answer:
            return json.load(answer)["data"]


class Wiki(Simulated):
    """MediaWiki's list of all pages; `titles` are the ids of the pages by their titles."""

    def respond(self, request):
        if request.path != "/w/api.php":
            raise Refused(404)
        return all_pages(request.query, self.titles), {}


def all_pages(query, titles):
    """mediawiki.org/wiki/API:Allpages with generator, mediawiki.org/wiki/API:Continue."""
    assert query["action"] == "query" and query["generator"] == "allpages" and query["prop"] == "info", query
    first, limit = query.get("gapcontinue", ""), int(query["gaplimit"])
    assert ("gapcontinue" in query) == ("continue" in query), query
    rest = sorted(title for title in titles if title >= first)
    pages = {
        str(titles[title]): {
            "pageid": titles[title], "ns": 0, "title": title.replace("_", " "), "touched": "2026-01-01T00:00:00Z",
            "lastrevid": titles[title] * 10, "length": len(title), "new": "",
        } for title in rest[:limit]}
    answer = {"batchcomplete": ""} if len(rest) <= limit else {
        "continue": {"gapcontinue": rest[limit], "continue": "gapcontinue||"}}
    # PHP writes an empty map as a list.
    return answer | {"query": {"pages": pages or []}}


def bundled(ground, server, name, prefix="", changes=()):
    """A roster with a definition of config/sources for this server, which asks for no credentials."""
    text = (SOURCES / f"{name}.toml").read_text()
    text = re.sub('base_url = ".*"', f'base_url = "{server.origin}{prefix}"', text)
    text = re.sub(r"\[(auth|limit)\]\n(?:.+\n)+", "", text)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return ground.roster(server, text)


def defined(ground, server, text):
    return ground.roster(server, f'[upstream]\nbase_url = "{server.origin}"\n{text}')


def rows(ground):
    """52: rows with names, as Datasette answers by default"""
    server = ground.server(Datasette)
    roster = defined(ground, server, ROWS)
    assert roster.sync()["added"] == RECORDS
    assert roster.rows() == server.rows()
    (extra,), = roster.query("SELECT extra FROM entry WHERE id = 7")
    assert json.loads(extra) == {"kind": "kind 1"}, extra
    assert roster.sync()["outcome"] == "unchanged"
    server.change(3)
    server.delete(5)
    server.insert()
    report = roster.sync()
    counts = {name: report[name] for name in ("added", "changed", "removed")}
    assert counts == {"added": 1, "changed": 1, "removed": 1}, report
    assert roster.rows() == server.rows()
    assert [line[1:] for line in report["log"] if "/entry/5" in line[1]] == [("/entries/entry/5.json", "404")], report


def composite(ground):
    """6, 7, 13: a composite key, in Datasette's compound primary key"""
    server = ground.server(Datasette)
    server.edit("CREATE TABLE place (player INTEGER, game TEXT, points INTEGER, PRIMARY KEY (game, player))")
    for player in range(-10, 40):
        # Datasette has an encoding of its own for other characters in a row's address.
        for game in ("go", "a-b", "Ludo_4"):
            server.edit("INSERT INTO place VALUES (?, ?, ?)", player, game, player * 2)
    roster = defined(ground, server, PLACES)

    def same():
        stored = "SELECT game, player, points FROM place ORDER BY 1, 2"
        assert roster.query(stored) == server.edit(stored)

    assert roster.sync()["added"] == 150
    same()
    assert roster.sync()["outcome"] == "unchanged"
    server.edit("UPDATE place SET points = 1000 WHERE player = -10 AND game = 'go'")
    server.edit("DELETE FROM place WHERE player = 39")
    server.edit("INSERT INTO place VALUES (77, 'go', 1)")
    report = roster.sync()
    counts = {name: report[name] for name in ("added", "changed", "removed")}
    assert counts == {"added": 1, "changed": 1, "removed": 3}, report
    same()
    gone = roster.query("SELECT key FROM removed ORDER BY key")
    assert [json.loads(key) for key, in gone] == [["Ludo_4", 39], ["a-b", 39], ["go", 39]], gone
    assert json.loads(roster.query("SELECT key FROM resources")[0][0]) == ["game", "player"]
    shown = told(roster, "show", "place", "go", "-10")
    assert shown["record"]["points"] == 1000 and shown["changes"][0]["key"] == ["go", -10], shown
    assert told(roster, "show", "place", "a-b", "39", exit=1) is None
    assert told(roster, "show", "place", "go", exit=64) is None
    keys = [row["key"] for row in lines(roster, "changes")]
    assert ["go", 77] in keys and len(keys) == 5, keys
    server.edit("DELETE FROM place WHERE player = 38 AND game = 'go'")
    pending = json.loads(roster.start(
        roster.program, "sync", "--config", roster.configuration, "--dry-run", "--json").communicate()[0])
    assert [record["key"] for record in pending["resources"][0]["removed"]] == [["go", 38]], pending


def told(roster, *arguments, exit=0):
    process = roster.start(
        roster.control, *arguments[:2], "--json", "--cache", roster.cache, "--", *arguments[2:])
    output, error = process.communicate(timeout=20)
    assert process.returncode == exit, (process.returncode, error)
    return json.loads(output) if output else None


def lines(roster, *arguments):
    process = roster.start(roster.control, *arguments, "--json", "--cache", roster.cache)
    output, error = process.communicate(timeout=20)
    assert process.returncode == 0, error
    return [json.loads(line) for line in output.splitlines()]


def inside(ground):
    """13: an answer of by_key inside an object, as Kinto gives it"""
    server = ground.server(Kinto)
    roster = defined(ground, server, ENTRIES)
    assert roster.sync()["added"] == RECORDS
    server.delete("entry-7")
    report = roster.sync()
    assert report["removed"] == 1 and report["exit"] == 0, report
    assert roster.rows() == server.rows()


def prometheus(ground):
    """6, 52: config/sources/prometheus.toml with Prometheus"""
    server = ground.server(Prometheus)
    roster = bundled(ground, server, "prometheus")
    server.log = list
    assert roster.sync()["outcome"] == "published"
    names = {name for name, in roster.query("SELECT name FROM metrics")}
    assert names == set(server.api("/label/__name__/values"))
    metadata = {name: [type, help] for name, type, help in roster.query("SELECT name, type, help FROM metadata")}
    assert metadata == {
        name: [values[0]["type"], values[0]["help"]] for name, values in server.api("/metadata").items()}
    assert roster.query("SELECT job, instance, health FROM targets") == [("self", f"127.0.0.1:{server.port}", "up")]
    shown = told(roster, "show", "target", "self", f"127.0.0.1:{server.port}")
    assert shown["record"]["health"] == "up", shown


def wiki(ground):
    """52: config/sources/mediawiki-pages.toml with a server as MediaWiki documents it"""
    server = ground.server(Wiki)
    server.titles = titles = {f"Page_{number}": 1000 + number for number in range(120)}
    roster = bundled(ground, server, "mediawiki-pages", "/w")
    report = roster.sync()
    assert report["added"] == 120 and report["requests"] == 3, report
    server.titles = {title: key for title, key in titles.items() if key != 1007} | {"Zebra": 7, "A": 8}
    assert roster.sync()["added"] == 2
    assert roster.sync()["removed"] == 1
    stored = dict(roster.query("SELECT title, pageid FROM pages"))
    assert len(stored) == 121 and stored["Zebra"] == 7 and "Page 7" not in stored
    server.titles = {}
    report = roster.sync("--allow-removal")
    assert report["records"] == 121 and report["exit"] == 0, report


def tests():
    return [rows, composite, inside, wiki, prometheus]
