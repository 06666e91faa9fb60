"""Tests the definitions of config/sources that have children. Docker's registry, Datasette and Prometheus are those
servers themselves. The server of all other APIs behaves as their documentation says.

Each test pulls everything, then nothing, then the lists of one changed parent, and then removes a parent."""

import hashlib
import json
import re
import shutil
import signal
import time
import urllib.error
import urllib.request

from ground import Datasette, Server
from nested import Nested
from programs import PATIENCE, answers, free_port, tool, wait_until
from shapes import Prometheus, bundled


def asked(report, prefix=""):
    """The addresses of a sync's requests in order, without their queries."""
    return sorted(line[1].partition("?")[0].removeprefix(prefix) for line in report["log"])


def counts(report):
    return [report[name] for name in ("added", "changed", "removed")]


def same(report, requests, statuses=("200",)):
    """Expects an unchanged sync with this number of requests."""
    assert report["outcome"] == "unchanged" and report["error"] is None, report
    assert report["requests"] == requests == len(report["log"]), report
    assert set(report["statuses"]) == set(statuses), report


# GitHub


def issue(repository, number, comments=0):
    return {
        "id": 1000 + number, "number": number, "title": f"Issue {number}", "body": None, "state": "open",
        "user": {"login": "ada"}, "labels": [{"name": "bug", "color": "f00"}] if number % 9 == 0 else [],
        "comments": comments, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T00:00:00Z",
        "closed_at": None, "html_url": f"https://github.com/{repository}/issues/{number}",
        "repository_url": f"https://api.github.com/repos/{repository}"} | (
            {"pull_request": {"html_url": f"https://github.com/{repository}/pull/{number}"}} if number % 4 == 0 else {})


def comment(key, body):
    return {
        "id": key, "body": body, "user": {"login": "bob"}, "created_at": "2026-01-02T00:00:00Z",
        "updated_at": "2026-01-02T00:00:00Z", "html_url": f"https://github.com/c/{key}"}


def release(key):
    return {
        "id": key, "tag_name": f"v{key}", "name": "", "body": "Notes", "draft": False, "prerelease": key == 2,
        "created_at": "2026-01-01T00:00:00Z", "published_at": "2026-01-01T00:00:00Z",
        "html_url": f"https://github.com/r/{key}",
        "assets": [{"name": "a.tar.gz", "size": 7, "browser_download_url": "https://github.com/a"}]}


def github_records():
    hello, spoon = "octocat/hello-world", "octocat/spoon-knife"
    many = {str(number): [comment(number * 1000 + i, f"{number}, {i}") for i in range(count)]
            for number, count in [(3, 130), (5, 2), (7, 4), (20, 9)]}
    few = {"3": [comment(1, "same number, another repository")]}
    return {
        hello: {"issues": [issue(hello, n, len(many.get(str(n), []))) for n in range(1, 151)], "comments": many,
                "releases": [release(1), release(2)]},
        spoon: {"issues": [issue(spoon, n, len(few.get(str(n), []))) for n in range(1, 6)], "comments": few,
                "releases": [release(3)]}}


def github(ground):
    """16, 22, 52: config/sources/github-repositories.toml: issues, comments and releases"""
    server = ground.server(Nested)
    server.write("github", github_records())
    roster = bundled(ground, server, "github-repositories", "")

    def expect():
        stored = roster.query(
            "SELECT r.owner || '/' || r.name, i.number, i.title, c.id, c.body FROM repositories r"
            " JOIN issues i ON i.repository_id = r.record_id LEFT JOIN comments c ON c.issue_id = i.record_id")
        assert sorted(stored, key=repr) == sorted(
            ((name, record["number"], record["title"], one["id"], one["body"])
             for name, repository in server.records.items() for record in repository["issues"]
             for one in repository["comments"].get(str(record["number"]), [{"id": None, "body": None}])), key=repr)
        releases = roster.query(
            "SELECT r.name, l.id, l.prerelease, a.name FROM repositories r JOIN releases l ON l.repository_id ="
            " r.record_id JOIN release_assets a ON a.release_id = l.record_id ORDER BY l.id")
        assert releases == [("hello-world", 1, 0, "a.tar.gz"), ("hello-world", 2, 1, "a.tar.gz"),
                            ("spoon-knife", 3, 0, "a.tar.gz")], releases

    report = roster.sync()
    # Two pages of issues and one, two lists of releases, two pages of comments and four lists of one page.
    assert report["requests"] == 3 + 2 + 6, report
    assert max(int(line[3]) for line in report["log"]) == 1, "GitHub asks for one request after the other"
    expect()
    same(roster.sync(), 5, ["304"])
    hello = server.records["octocat/hello-world"]
    hello["comments"]["5"][0]["body"] = "edited"
    hello["issues"][4]["updated_at"] = "2026-02-01T00:00:00Z"
    server.save()
    report = roster.sync()
    assert counts(report) == [0, 2, 0] and report["requests"] == 6, report
    assert [line[1] for line in report["log"] if "comments" in line[1]] == [
        "/repos/octocat/hello-world/issues/5/comments?per_page=100"], report
    expect()
    del hello["comments"]["7"][1]
    hello["issues"][6] |= {"updated_at": "2026-02-02T00:00:00Z", "comments": 3}
    server.save()
    report = roster.sync()
    assert counts(report) == [0, 1, 1], report
    assert "/repos/octocat/hello-world/issues/comments/7001" in asked(report), report
    expect()
    hello["issues"] = [record for record in hello["issues"] if record["number"] != 20]
    server.save()
    report = roster.sync()
    assert counts(report) == [0, 0, 10] and "/repos/octocat/hello-world/issues/20" in asked(report), report
    assert not any(address.endswith("/comments") for address in asked(report)), report
    del hello["comments"]["20"]
    expect()


# Hacker News


def hacker_news(ground):
    """22, 52: config/sources/hackernews-top.toml: numbers, and a detail for each"""
    server = ground.server(Nested)
    items = {
        str(key): {
            "id": key, "type": "story", "by": "ada", "title": f"Story {key}", "score": key % 50, "time": 1700000000,
            "descendants": 3, "kids": [1, 2], "url": "https://example.com/"} for key in range(9000, 9060)}
    # An item that was deleted; one that is not there yet.
    items["9003"] = {"id": 9003, "type": "story", "deleted": True, "time": 1700000000}
    items["9004"] = None
    server.write("hacker_news", {"top": list(range(9049, 8999, -1)), "items": items})
    roster = bundled(ground, server, "hackernews-top", "/v0")

    def expect():
        listed = [key for key in server.records["top"] if key not in (9003, 9004)]
        stored = roster.query(
            "SELECT t.id, s.id, s.title, s.score, s.comments FROM top t JOIN stories s ON s.top_id = t.id")
        assert sorted(stored) == sorted((key, key, f"Story {key}", items[str(key)]["score"], 3) for key in listed)

    report = roster.sync()
    assert report["requests"] == 51 and counts(report) == [98, 0, 0], report
    expect()
    same(roster.sync(), 1)
    server.records["top"].insert(0, 9050)
    server.save()
    report = roster.sync()
    assert asked(report) == ["/v0/item/9050.json", "/v0/topstories.json"] and counts(report) == [2, 0, 0], report
    expect()
    # /item still answers for a story that is no longer at the top.
    server.records["top"].remove(9010)
    server.save()
    assert counts(roster.sync()) == [0, 0, 0]
    report = roster.sync()
    assert counts(report) == [0, 0, 2] and asked(report) == ["/v0/topstories.json"], report
    expect()


# PokéAPI


def pokemon(key):
    return {
        "id": key, "name": f"mon-{key}", "height": key % 20, "weight": key * 10, "base_experience": None,
        "species": {"name": f"species-{key}", "url": "https://pokeapi.co/"},
        "sprites": {"front_default": f"https://example.com/{key}.png"},
        "types": [{"slot": 1, "type": {"name": "grass", "url": "https://pokeapi.co/"}}],
        "abilities": [{"ability": {"name": "overgrow", "url": ""}, "is_hidden": key % 2 == 0, "slot": 1}],
        "stats": [{"base_stat": 45, "effort": 0, "stat": {"name": "hp", "url": ""}}]}


def pokeapi(ground):
    """22, 52: config/sources/pokeapi-details.toml: a list with addresses, and a detail at each"""
    server = ground.server(Nested)
    server.write("pokeapi", {str(key): pokemon(key) for key in range(1, 251)})
    roster = bundled(ground, server, "pokeapi-details", "/api/v2")

    def expect():
        stored = roster.query(
            "SELECT p.name, d.number, d.height, d.weight, d.base_experience, t.name, a.hidden, s.base FROM pokemon p"
            " JOIN details d ON d.pokemon_id = p.record_id JOIN detail_types t ON t.detail_id = d.pokemon_id"
            " JOIN detail_abilities a ON a.detail_id = d.pokemon_id JOIN detail_stats s ON s.detail_id = d.pokemon_id")
        assert sorted(stored, key=repr) == sorted(
            ((record["name"], record["id"], record["height"], record["weight"], None, "grass",
              int(record["abilities"][0]["is_hidden"]), 45) for record in server.records.values()), key=repr)

    report = roster.sync()
    assert report["requests"] == 252 and counts(report) == [500, 0, 0], report
    expect()
    same(roster.sync(), 2, ["304"])
    # A Pokémon with another number has another address.
    server.records["10001"] = server.records.pop("7") | {"id": 10001, "weight": 1}
    server.save()
    report = roster.sync()
    assert counts(report) == [0, 2, 0], report
    assert asked(report, "/api/v2/") == ["pokemon", "pokemon", "pokemon/10001/"], report
    expect()
    del server.records["9"]
    server.save()
    assert counts(roster.sync()) == [0, 0, 0]
    report = roster.sync()
    assert counts(report) == [0, 0, 2] and report["requests"] == 2, report
    expect()


# Notion


def notion_page(number):
    return {
        "object": "page", "id": f"page-{number}", "archived": False, "created_time": "2026-01-01T00:00:00.000Z",
        "last_edited_time": "2026-01-02T00:00:00.000Z", "url": "https://www.notion.so/",
        "parent": {"type": "database_id", "database_id": "897e5a76-ae52-4b48-9fdf-e71f5945d1af"},
        "properties": {"Name": {"id": "title", "title": [{"plain_text": f"Page {number}"}]}}}


def notion_block(key, text, has_children=False):
    return {
        "object": "block", "id": key, "type": "paragraph", "has_children": has_children,
        "last_edited_time": "2026-01-02T00:00:00.000Z", "paragraph": {"rich_text": [{"plain_text": text}]}}


def notion(ground):
    """15, 22: config/sources/notion-blocks.toml: pages by incremental pulls, their blocks, blocks in these"""
    server = ground.server(Nested)
    blocks = {
        f"page-{number}": [
            notion_block(f"block-{number}-{i}", f"{number}, {i}", has_children=i == 1)
            for i in range(130 if number == 2 else 2)] for number in range(1, 13)}
    inner = {
        f"block-{number}-1": [notion_block(f"inner-{number}-{i}", f"inside {number}, {i}") for i in range(2)]
        for number in range(1, 13)}
    server.write("notion", {"pages": [notion_page(number) for number in range(1, 13)], "blocks": blocks | inner})
    roster = bundled(ground, server, "notion-blocks", "/v1")

    def expect():
        stored = roster.query(
            "SELECT p.id, p.title, b.id, b.extra ->> '$.paragraph.rich_text[0].plain_text', i.id,"
            " i.extra ->> '$.paragraph.rich_text[0].plain_text' FROM pages p JOIN blocks b ON b.page_id = p.record_id"
            " LEFT JOIN inner_blocks i ON i.block_id = b.record_id")
        text = lambda block: block["paragraph"]["rich_text"][0]["plain_text"]  # noqa: E731
        expected = {
            (page["id"], page["properties"]["Name"]["title"][0]["plain_text"], block["id"], text(block),
             inside and inside["id"], inside and text(inside))
            for page in server.records["pages"] if not page["archived"]
            for block in server.records["blocks"][page["id"]]
            for inside in server.records["blocks"].get(block["id"], [None])}
        assert set(stored) == expected and len(stored) == len(expected)

    report = roster.sync()
    assert report["requests"] == 1 + 13 + 12, report
    expect()
    same(roster.sync(), 1)
    # A change inside a block moves the time of the page and of the block.
    server.records["blocks"]["block-5-1"][0]["paragraph"]["rich_text"][0]["plain_text"] = "changed"
    server.records["blocks"]["page-5"][1]["last_edited_time"] = "2026-01-03T00:00:00.000Z"
    server.records["pages"][4]["last_edited_time"] = "2026-01-03T00:00:00.000Z"
    server.save()
    report = roster.sync()
    assert asked(report, "/v1/")[:2] == ["blocks/block-5-1/children", "blocks/page-5/children"], report
    assert report["requests"] == 3 and counts(report) == [0, 3, 0], report
    expect()
    server.records["pages"][0]["archived"] = True
    server.save()
    report = roster.sync("--fresh")
    assert counts(report) == [0, 0, 5] and "/v1/blocks/page-1/children" not in asked(report), report
    expect()


# Zendesk


def zendesk(ground):
    """16, 21, 22: config/sources/zendesk-comments.toml: tickets by a delta token, and their comments"""
    server = ground.server(Nested)
    tickets = [
        {"id": number, "generated_timestamp": 1700000000 + number, "subject": f"Ticket {number}", "description": "",
         "status": "open", "priority": None, "requester_id": 1, "assignee_id": None, "group_id": None, "tags": ["a"],
         "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"} for number in range(1, 13)]
    comments = {
        str(number): [
            {"id": number * 1000 + i, "type": "Comment", "author_id": 1, "body": f"{number}, {i}",
             "plain_body": f"{number}, {i}", "public": i == 0, "via": {"channel": "web"}, "attachments": [],
             "created_at": "2026-01-01T00:00:00Z"} for i in range(110 if number == 4 else 2)]
        for number in range(1, 13)}
    server.write("zendesk", {"tickets": tickets, "comments": comments})
    roster = bundled(ground, server, "zendesk-comments", "/api/v2")

    def expect():
        stored = roster.query(
            "SELECT t.id, t.subject, c.id, c.body, c.public FROM tickets t JOIN comments c ON c.ticket_id = t.id")
        assert sorted(stored) == sorted(
            (ticket["id"], ticket["subject"], one["id"], one["plain_body"], int(one["public"]))
            for ticket in tickets if ticket["status"] != "deleted" for one in comments.get(str(ticket["id"]), []))

    def write(number, **fields):
        latest = max(ticket["generated_timestamp"] for ticket in tickets)
        tickets[number - 1] |= fields | {"generated_timestamp": latest + 1}
        server.save()

    report = roster.sync()
    assert report["requests"] == 1 + 13, report
    expect()
    same(roster.sync(), 1)
    comments["5"].append(comments["5"][0] | {"id": 5002, "plain_body": "new"})
    write(5, updated_at="2026-01-02T00:00:00Z")
    report = roster.sync()
    assert counts(report) == [1, 1, 0], report
    assert asked(report, "/api/v2/") == ["incremental/tickets/cursor.json", "tickets/5/comments"], report
    expect()
    # The comments of a deleted ticket are 404.
    del comments["6"]
    write(6, status="deleted", updated_at="2026-01-03T00:00:00Z")
    report = roster.sync()
    assert counts(report) == [0, 0, 3] and asked(report, "/api/v2/") == ["incremental/tickets/cursor.json"], report
    expect()


# Slack


def slack(ground):
    """22, 52: config/sources/slack-messages.toml: channels, their messages, and the replies to these"""
    server = ground.server(Nested)
    day = 24 * 3600
    now = int(time.time()) - 2 * day
    message = lambda ts, text, **more: {"type": "message", "user": "U1", "text": text, "ts": f"{ts}.000100"} | more  # noqa: E731
    channels = [
        {"id": f"C{number}", "name": f"channel-{number}", "is_private": False, "is_member": number != 3,
         "topic": {"value": ""}, "num_members": 4} for number in range(1, 9)]
    messages = {
        channel["id"]: [
            message(now - number * 1000 - i, f"{channel['id']}, {i}") for i in range(230 if number == 0 else 10)]
        for number, channel in enumerate(channels)}
    messages["C2"].append(message(now - 60 * day, "too old"))
    replies = {}
    for i in range(0, 24, 4):
        parent = messages["C1"][i]
        replies[parent["ts"]] = [
            message(now + i * 10 + j + 1, f"reply {j}", thread_ts=parent["ts"], parent_user_id="U1") for j in range(3)]
        parent |= {"thread_ts": parent["ts"], "reply_count": 3, "latest_reply": replies[parent["ts"]][-1]["ts"]}
    server.write("slack", {"channels": channels, "messages": messages, "replies": replies})
    roster = bundled(ground, server, "slack-messages", "/api")

    def expect():
        stored = roster.query(
            "SELECT c.name, m.ts, m.text, r.ts, r.text FROM channels c JOIN messages m ON m.channel_id = c.record_id"
            " LEFT JOIN replies r ON r.message_id = m.record_id")
        expected = {
            (channel["name"], one["ts"], one["text"], reply and reply["ts"], reply and reply["text"])
            for channel in channels if channel["is_member"] for one in messages[channel["id"]]
            if one["text"] != "too old" for reply in replies.get(one["ts"], [None])}
        assert set(stored) == expected and len(stored) == len(expected)

    report = roster.sync()
    # The channels, two pages of messages and six lists of one page, six threads.
    assert report["requests"] == 1 + 8 + 6, report
    expect()
    same(roster.sync(), 9)
    parent = messages["C1"][4]
    replies[parent["ts"]].append(message(now + 100, "late", thread_ts=parent["ts"], parent_user_id="U1"))
    parent |= {"reply_count": 4, "latest_reply": replies[parent["ts"]][-1]["ts"]}
    server.save()
    report = roster.sync()
    assert report["requests"] == 10 and counts(report) == [1, 1, 0], report
    expect()
    # A deleted message takes its replies with it.
    messages["C1"].pop(0)
    server.save()
    assert counts(roster.sync()) == [0, 0, 0]
    report = roster.sync()
    assert counts(report) == [0, 0, 4] and report["requests"] == 9, report
    expect()
    channels[7]["is_member"] = False
    server.save()
    roster.sync()
    report = roster.sync()
    assert counts(report) == [0, 0, 11] and report["requests"] == 8, report
    expect()


# Docker registry


class Registry(Server):
    """Debian's docker-registry."""

    name = "registry"
    manifest = "application/vnd.docker.distribution.manifest.v2+json"

    def start(self):
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        configuration = self.folder / "config.yml"
        configuration.write_text(
            f"version: 0.1\nlog: {{level: error}}\nhttp: {{addr: '127.0.0.1:{self.port}'}}\n"
            f"storage: {{filesystem: {{rootdirectory: {self.folder / 'data'}}}, delete: {{enabled: true}}}}\n")
        with open(self.folder / "access.log", "wb") as access:
            self.serve(tool("docker-registry"), "serve", configuration, output=access)
        wait_until(lambda: answers(self.port), "the registry answers")

    def log(self):
        text = (self.folder / "access.log").read_text()
        return re.findall(r'"([A-Z]+) (\S+) HTTP/1.1" (\d+)', text)

    def send(self, method, address, body=None, **headers):
        request = urllib.request.Request(address, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.headers

    def push(self, repository, *tags):
        """An image without layers, whose configuration names the first tag."""
        blob = json.dumps({"architecture": "amd64", "os": "linux", "tag": tags[0]}).encode()
        digest = f"sha256:{hashlib.sha256(blob).hexdigest()}"
        place = self.send("POST", f"{self.origin}/v2/{repository}/blobs/uploads/", b"")["Location"]
        self.send("PUT", f"{place}&digest={digest}", blob, **{"Content-Type": "application/octet-stream"})
        config = {"mediaType": "application/vnd.docker.container.image.v1+json", "size": len(blob), "digest": digest}
        manifest = json.dumps({"schemaVersion": 2, "mediaType": self.manifest, "config": config, "layers": []}).encode()
        for tag in tags:
            address = f"{self.origin}/v2/{repository}/manifests/{tag}"
            self.send("PUT", address, manifest, **{"Content-Type": self.manifest})

    def untag(self, repository, tag):
        address = f"{self.origin}/v2/{repository}/manifests/"
        digest = self.send("HEAD", address + tag, Accept=self.manifest)["Docker-Content-Digest"]
        self.send("DELETE", address + digest)

    def delete(self, repository):
        """A registry has no request for it."""
        shutil.rmtree(self.folder / "data/docker/registry/v2/repositories" / repository)

    def tags(self):
        """The tags by repository, as the registry lists them."""
        tags = {}
        for repository in self.ask("GET", "/v2/_catalog?n=1000")["repositories"]:
            try:
                tags[repository] = sorted(self.ask("GET", f"/v2/{repository}/tags/list")["tags"] or [])
            except urllib.error.HTTPError as error:
                assert error.code == 404, error
                tags[repository] = []
        return tags


def registry(ground):
    """52: config/sources/docker-catalog.toml with Docker's registry: names with a /, and their tags"""
    server = ground.server(Registry)
    for number in range(104):
        server.push(f"team/app-{number:03}", "1.0", "latest")
    server.push("hello", "1.0")
    roster = bundled(ground, server, "docker-catalog", "/v2")

    def expect():
        stored = roster.query(
            "SELECT r.name, t.tag FROM repositories r LEFT JOIN tags t ON t.tag_list_id = r.record_id")
        assert sorted(stored, key=repr) == sorted(
            ((name, tag) for name, tags in server.tags().items() for tag in tags or [None]), key=repr)

    report = roster.sync()
    assert report["requests"] == 2 + 105 and counts(report) == [105 + 105, 0, 0], report
    expect()
    same(roster.sync(), 107)
    server.push("team/app-007", "2.0")
    assert counts(roster.sync()) == [0, 1, 0]
    expect()
    # The repository without a tag stays in the catalogue.
    server.untag("hello", "1.0")
    report = roster.sync()
    assert counts(report) == [0, 1, 0] and report["error"] is None and server.tags()["hello"] == [], report
    expect()
    server.delete("team/app-100")
    assert counts(roster.sync()) == [0, 0, 0]
    report = roster.sync()
    assert counts(report) == [0, 0, 2] and report["requests"] == 106, report
    expect()


# Datasette


def datasette(ground):
    """16, 22, 52: config/sources/datasette-tables.toml with Datasette: tables, rows, composite keys"""
    server = ground.server(Datasette)
    shutil.copy(server.folder / "entries.db", server.folder / "second.db")
    server.edit("CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT)")
    server.edit("CREATE TABLE price (product INTEGER, currency TEXT, amount REAL, PRIMARY KEY (product, currency))")
    for key in range(1, 31):
        server.edit("INSERT INTO product VALUES (?, ?)", key, f"Product {key}")
        for currency in ("EUR", "JPY"):
            server.edit("INSERT INTO price VALUES (?, ?, ?)", key, currency, key / 4)
    server.stop()
    server.listen("entries.db", "second.db")
    roster = bundled(ground, server, "datasette-tables", "", [("/shop/", "/entries/")])

    def expect():
        for mine, theirs in [("products", "product"), ("prices", "price")]:
            columns = "id, name" if mine == "products" else "product, currency, amount"
            assert roster.query(f"SELECT {columns} FROM {mine} ORDER BY 1, 2") == server.edit(
                f"SELECT {columns} FROM {theirs} ORDER BY 1, 2")
        stored = roster.query(
            "SELECT d.name, t.name, t.row_count, group_concat(c.name) FROM databases d"
            " JOIN tables t ON t.database_id = d.record_id JOIN table_columns c ON c.table_id = t.record_id"
            " GROUP BY 1, 2")
        assert sorted(stored) == sorted(
            (database["name"], table["name"], table["count"], ",".join(table["columns"]))
            for database in server.ask("GET", "/-/databases.json")
            for table in server.ask("GET", f"/{database['name']}.json")["tables"])

    report = roster.sync()
    # The databases, their tables, two pages of products and three of prices.
    assert report["requests"] == 1 + 2 + 2 + 3 and counts(report) == [2 + 4 + 30 + 60, 0, 0], report
    expect()
    same(roster.sync(), 8)
    server.edit("UPDATE price SET amount = 9 WHERE product = 3 AND currency = 'JPY'")
    server.edit("DELETE FROM price WHERE product = 4 AND currency = 'EUR'")
    report = roster.sync()
    # The number of rows of the table is another one.
    assert counts(report) == [0, 2, 1] and "/entries/price/4%2CEUR.json" in asked(report), report
    expect()
    server.stop()
    server.listen("entries.db")
    assert counts(roster.sync("--allow-removal")) == [0, 0, 0]
    report = roster.sync("--allow-removal")
    assert counts(report) == [0, 0, 2] and report["requests"] == 7, report
    expect()


# Prometheus


class TwoTargets(Prometheus):
    """Prometheus, which scrapes itself as two targets."""

    jobs = ("first", "second")

    def start(self):
        super().start()
        wait_until(lambda: set(self.healths()) == {"up"}, "both targets were scraped")

    def healths(self):
        return [target["health"] for target in self.api("/targets")["activeTargets"]]

    def metrics(self):
        return {
            (entry["target"]["job"], entry["target"]["instance"], entry["metric"], entry["type"], entry["help"])
            for entry in self.api("/targets/metadata")}

    def forget(self):
        """Reads a configuration without the second target."""
        self.configure(*self.jobs[:1])
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(self.healths()) == 1, "one target is left")


def prometheus(ground):
    """6, 16, 22, 52: config/sources/prometheus-target-metrics.toml with Prometheus: metrics of each target"""
    server = ground.server(TwoTargets)
    roster = bundled(ground, server, "prometheus-target-metrics", "")
    server.log = list

    def stored():
        return sorted(roster.query(
            "SELECT t.job, t.instance, m.metric, m.type, m.help FROM targets t"
            " JOIN metrics m ON m.target_id = t.record_id"))

    # A scrape during the sync may add a metric.
    before, report, after = server.metrics(), roster.sync(), server.metrics()
    first = stored()
    assert report["requests"] == 3 and before <= set(first) <= after, report
    assert {row[0] for row in first} == {"first", "second"} and len(first) > 200, first
    # The time of the last scrape is another one in each answer.
    report = roster.sync()
    assert report["requests"] == 1 and counts(report)[::2] == [0, 0], report
    server.forget()
    roster.sync("--allow-removal")
    report = roster.sync("--allow-removal")
    assert report["requests"] == 1 and report["removed"] > 100, report
    assert stored() == [row for row in first if row[0] == "first"]


def tests():
    return [github, hacker_news, pokeapi, notion, zendesk, slack, registry, datasette, prometheus]
