"""The shared parts of the tests: the servers, their databases and logs, and a rosterd with one definition."""

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import urllib.request
from pathlib import Path

import roster
from programs import PATIENCE, answers, end, free_port, wait_until

HERE = Path(__file__).resolve().parent
PAGE_SIZE, PAGES = 20, 10
RECORDS = PAGE_SIZE * PAGES


class Server:
    """A server with `RECORDS` entries, each with a title and a score, and its log."""

    def __init__(self, folder, venv, **environment):
        self.folder, self.venv, self.environment = folder, venv, environment
        folder.mkdir()
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self):
        self.serve(self.venv / "bin/python", "-B", HERE / f"{self.name}_server.py", self.folder, str(RECORDS))
        self.port = int(self.process.stdout.readline())
        self.origin = f"http://127.0.0.1:{self.port}"
        self.fill()

    def serve(self, *command, output=subprocess.PIPE):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder)} | self.environment
        with open(self.folder / "server.log", "wb") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=output, stderr=log, text=True)

    def fill(self):
        """Stores the entries."""

    def stop(self):
        end(self.process)

    def log(self):
        """(method, address, status, requests in flight) of each answer."""
        path = self.folder / "requests.log"
        return [tuple(line.split()) for line in path.read_text().splitlines()] if path.exists() else []

    def ask(self, method, path, body=None, **headers):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.origin + path, data, {"Content-Type": "application/json", "Accept": "application/json"} | headers,
            method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            text = answer.read()
        return json.loads(text) if text else None


class Stored(Server):
    """A server of a SQLite file, which the tests change directly."""

    def edit(self, sql, *values):
        with contextlib.closing(sqlite3.connect(self.folder / "entries.db", timeout=20)) as database, database:
            return database.execute(sql, values).fetchall()

    def rows(self):
        return {key: values for key, *values in self.edit("SELECT id, title, score FROM entry")}

    def keys(self):
        """The keys in the order of the list."""
        return [key for key, in self.edit("SELECT id FROM entry ORDER BY id DESC")]

    def change(self, key):
        self.edit("UPDATE entry SET title = title || ', changed' WHERE id = ?", key)

    def delete(self, key):
        self.edit("DELETE FROM entry WHERE id = ?", key)


class Django(Stored):
    """Django REST framework."""

    name, key = "django", "integer"

    def insert(self):
        self.edit(
            "INSERT INTO entry (title, score, published)"
            " SELECT 'New', 0.5, strftime('%Y-%m-%d %H:%M:%f', max(published), '+1 minute') FROM entry")


class Datasette(Stored):
    name, key = "datasette", "integer"

    def start(self):
        self.edit("CREATE TABLE entry (id INTEGER PRIMARY KEY, title TEXT, score REAL, kind TEXT)")
        self.edit(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " INSERT INTO entry SELECT i, 'Entry ' || i, i / 4.0, 'kind ' || (i % 3) FROM n", RECORDS)
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.listen("entries.db")

    def listen(self, *files):
        # uvicorn's access log is its output. The setting reduces the default page size to that of the other servers.
        with open(self.folder / "access.log", "ab") as access:
            self.serve(
                self.venv / "bin/datasette", "serve", *(self.folder / file for file in files), "--port",
                str(self.port), "--setting", "default_page_size", str(PAGE_SIZE), output=access)
        wait_until(lambda: answers(self.port), "Datasette answers")

    def insert(self):
        self.edit("INSERT INTO entry (title, score) VALUES ('New', 0.5)")

    def log(self):
        text = (self.folder / "access.log").read_text()
        return re.findall(r'"([A-Z]+) (\S+) HTTP/1.1" (\d+)', text)


class Kinto(Server):
    name, key, collection = "kinto", "text", "/v1/buckets/blog/collections/entries"
    # Any name and password create a user.
    operator = {"Authorization": "Basic b3BlcmF0b3I6b3BlcmF0b3I="}  # noqa: RUF012

    def fill(self):
        everyone = {"permissions": {"read": ["system.Everyone"]}}
        self.ask("PUT", "/v1/buckets/blog", everyone, **self.operator)
        self.ask("PUT", self.collection, {}, **self.operator)
        for number in range(1, RECORDS + 1):
            self.put(f"entry-{number}", f"Entry {number}", number / 4)

    def put(self, key, title, score):
        body = {"data": {"title": title, "score": score}}
        self.ask("PUT", f"{self.collection}/records/{key}", body, **self.operator)

    def rows(self):
        found = self.ask("GET", f"{self.collection}/records")["data"]
        return {entry["id"]: [entry["title"], entry["score"]] for entry in found}

    def keys(self):
        return list(self.rows())

    def insert(self):
        self.put("entry-new", "New", 0.5)

    def change(self, key):
        title, score = self.rows()[key]
        self.put(key, title + ", changed", score)

    def delete(self, key):
        self.ask("DELETE", f"{self.collection}/records/{key}", **self.operator)


class Eve(Server):
    name, key = "eve", "text"

    def entries(self):
        return self.ask("GET", "/api/entries?max_results=1000")["_items"]

    def rows(self):
        return {entry["_id"]: [entry["title"], entry["score"]] for entry in self.entries()}

    def keys(self):
        return list(self.rows())

    def item(self, method, key, body=None):
        tag = self.ask("GET", f"/api/entries/{key}")["_etag"]
        self.ask(method, f"/api/entries/{key}", body, **{"If-Match": tag})

    def insert(self):
        self.ask("POST", "/api/entries", {"number": 10_000, "title": "New", "score": 0.5, "tags": []})

    def change(self, key):
        self.item("PATCH", key, {"title": "Changed"})

    def delete(self, key):
        self.item("DELETE", key)


class Roster(roster.Roster):
    """One rosterd, whose reports have the lines that the server has logged for them."""

    def __init__(self, folder, program, server, definition):
        super().__init__(folder, program, definition, upstream_proxy="none")
        self.server = server

    def sync(self, *options, exit=0):
        return self.end_logged(len(self.server.log()), self.begin(*options), exit)

    def end_logged(self, before, process, exit=0):
        report = self.end(process, exit)
        lines = self.server.log()[before:]
        report["log"] = [line for line in lines if not self.is_after_end(line[1])]
        report["requests"] -= len(lines) - len(report["log"])
        report["statuses"] = [line[2] for line in report["log"]]
        return report

    def is_after_end(self, address):
        """The request for the page after the last one. It follows if only the total says that a full page is the last
        one."""
        found = re.search(r"[?&](page|offset)=(\d+)", address)
        # The servers with lists of children have no list of RECORDS.
        if not found or not hasattr(self.server, "keys"):
            return False
        number, first = found[1], int(found[2])
        start = first if number == "offset" else (first - 1) * PAGE_SIZE
        return start >= RECORDS - PAGE_SIZE and start >= len(self.server.keys())

    def slow_sync(self, answers, action):
        """Length of the log before a slow sync, and its process, after this number of answers and the action."""
        before = len(self.server.log())
        process = self.begin(limit_rate=5, sync_concurrency=1)
        try:
            wait_until(
                lambda: len(self.server.log()) >= before + answers or process.poll() is not None,
                f"{answers} answers are logged")
            assert process.poll() is None, "the sync has ended already"
            action(process)
        except BaseException:
            process.kill()
            raise
        return before, process

    def killed(self, answers):
        """The lines that the server has logged for a sync that is killed after this number of answers."""
        before, process = self.slow_sync(answers, lambda process: process.kill())
        process.communicate()
        assert process.returncode == -signal.SIGKILL, process.returncode
        return self.server.log()[before:]

    def disturbed(self, answers, action):
        """The finished sync, in which an action happens after this number of answers."""
        return self.end_logged(*self.slow_sync(answers, lambda _: action()))

    def rows(self):
        (table,), = self.query('SELECT "table" FROM resources')
        return {key: values for key, *values in self.query(f"SELECT id, title, score FROM {table}")}

    def explain(self):
        """The explanation from the cache alone: exit code 3 means that no daemon runs."""
        process = self.start(self.control, "explain", "--json", "--cache", self.cache)
        output, error = process.communicate(timeout=PATIENCE)
        assert process.returncode == 3, error
        return json.loads(output)


def infer(program, address):
    """The definition that `rosterd infer` prints."""
    done = subprocess.run([program, "infer", address], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout
