"""One rosterd for a test, and the views of its readers."""

import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import versions

HERE = Path(__file__).resolve().parent
# Maximum time of one program in seconds.
PATIENCE = 60
COLUMNS = [
    "id", "name", "status", "species", "type", "gender", "origin_name", "origin_url", "location_name", "location_url",
    "image", "url", "created", "extra",
]  # fmt: skip


class Fault(Exception):
    """A broken promise of rosterd."""


def workspace(prefix):
    """A folder in memory, if there is room: these tests do not depend on a disk."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 1 << 30 else None
    return tempfile.TemporaryDirectory(prefix=prefix, dir=memory)


def compiled(name, folder):
    """Compiles a library that is loaded into rosterd."""
    library = Path(folder) / f"{name}.so"
    command = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-o", library, HERE / f"{name}.c", "-ldl"]
    subprocess.run(command, check=True)
    return library


class Site:
    """`state/` and `tokens/` belong to rosterd; other files of a test are beside them."""

    def __init__(self, program, folder, proxy, base=versions.BASE):
        self.program, self.folder = program, Path(folder)
        self.cache = self.folder / "state/roster.db"
        self.wrapper, self.options = [], []
        self.settings = {
            "PATH": os.environ["PATH"], "STATE_DIRECTORY": f"{folder}/state", "RUNTIME_DIRECTORY": f"{folder}",
            "CREDENTIALS_DIRECTORY": f"{folder}/credentials", "CONFIGURATION_DIRECTORY": f"{folder}/etc",
            "ROSTERD_UPSTREAM_BASE_URL": base, "ROSTERD_UPSTREAM_PROXY": proxy, "ROSTERD_SYNC_JITTER": "0s",
            "ROSTERD_RETRY_BASE_DELAY": "0s", "ROSTERD_RETRY_JITTER": "0s", "ROSTERD_LOG_FORMAT": "text",
            "ROSTERD_LIMIT_BUDGET": "1000000/1d",
        }  # fmt: skip
        (self.folder / "credentials").mkdir(parents=True, exist_ok=True)

    def start(self, *arguments, output=subprocess.PIPE, process=None, **more):
        """`process`: further arguments for subprocess."""
        command = [*self.wrapper, self.program, *arguments, *self.options]
        return subprocess.Popen(
            command, env=self.settings | more, stdout=output, stderr=output, text=True, **(process or {})
        )

    def run(self, *arguments, **more):
        """The exit code and the output."""
        process = self.start(*arguments, **more)
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise Fault(f"{arguments} hangs: {process.communicate()[1][-2000:]}") from error
        return process.returncode, out + err

    def sync(self, *arguments, wanted=0, **more):
        code, said = self.run("sync", *arguments, **more)
        if code != wanted:
            raise Fault(f"rosterd sync exits {code} instead of {wanted}: {said[-2000:]}")
        return said

    def use_tokens(self, flow="authenticate_form"):
        self.settings |= {
            "ROSTERD_AUTH_FLOW": flow, "ROSTERD_AUTH_TOKEN_URL": "/api/token",
            "ROSTERD_AUTH_TOKEN_STORE": f"{self.folder}/tokens/kept/token.json",
        }  # fmt: skip
        (self.folder / "credentials/refresh_token").write_text("R0")

    def use_definition(self, text):
        (self.folder / "etc").mkdir(exist_ok=True)
        (self.folder / "etc/rosterd.toml").write_text(text)
        self.options = ["--config", f"{self.folder}/etc/rosterd.toml"]


class View:
    """A reader's view of a cache in one transaction, checked as far as it is possible without another view."""

    def __init__(self, path):
        if not path.exists():
            raise Fault("there is no cache")
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None, timeout=30)
        try:
            database.execute("BEGIN")
            self.look(database)
            self.check(database)
            database.execute("COMMIT")
        except sqlite3.Error as error:
            raise Fault(f"a reader meets {error}") from error
        finally:
            database.close()

    def look(self, database):
        def ask(sql):
            return database.execute(sql).fetchall()

        self.integrity = ask("PRAGMA integrity_check")
        there = {row[1] for row in ask("PRAGMA table_info(characters)")}
        self.columns = [name for name in COLUMNS if name in there]
        self.records = ask(f"SELECT {', '.join(self.columns)} FROM characters ORDER BY id")
        self.episodes = ask("SELECT * FROM character_episodes ORDER BY 1, 2")
        names = {row[1] for row in ask("PRAGMA table_info(changes)")}
        key = "record_id" if "record_id" in names else "character_id"
        self.changes = ask(f"SELECT id, sync_id, {key}, kind, after ->> '$.name' FROM changes ORDER BY id")
        self.marked = ask("SELECT id, changed_sync FROM characters ORDER BY id")
        info = "records" if "record_id" in names else "characters"
        self.snapshot, self.feed, self.count = ask(f"SELECT snapshot, feed, {info} FROM cache_info")[0]
        self.running = ask("SELECT count(*) FROM syncs WHERE outcome = 'running'")[0][0]

    @property
    def content(self):
        """The records that upstream listed."""
        return tuple(self.columns), tuple(self.records), tuple(self.episodes)

    @property
    def version(self):
        """The version that all values of all rows have; None without rows."""
        texts = [text for row in (*self.records, *self.episodes) for text in row if isinstance(text, str)]
        marks = {mark for text in texts for mark in re.findall("·v([0-9]+)", text) or ["?"] if not text.startswith("{")}
        if len(marks) > 1:
            raise Fault(f"a mixture of versions {sorted(marks)}")
        return int(marks.pop()) if marks else None

    @property
    def latest(self):
        return self.changes[-1][0] if self.changes else 0

    def check(self, database):
        def expect(what, found, wanted):
            if found != wanted:
                raise Fault(f"{what}: {found!r} instead of {wanted!r}")

        expect("integrity_check", self.integrity, [("ok",)])
        expect("records in cache_info", self.count, len(self.records))
        newest = {row[2]: row[4] for row in self.changes if row[1] == self.snapshot and row[3] != "removed"}
        names = {row[0]: row[1] for row in self.records}
        expect("changes of the snapshot", newest, {key: names.get(key) for key in newest})
        # FTS5's own check is an INSERT, so it is made on a copy.
        copy = sqlite3.connect(":memory:", isolation_level=None)
        try:
            database.backup(copy)
            copy.execute("INSERT INTO characters_fts(characters_fts, rank) VALUES ('integrity-check', 1)")
        finally:
            copy.close()

    def follow(self, later):
        """A reader with this view that follows the feed gets the later view's records."""
        if later.feed != self.feed or later.latest < self.latest:
            return
        if later.changes and later.changes[0][0] > self.latest + 1:
            return
        names = {row[0]: row[1] for row in self.records}
        for number, _, key, kind, name in later.changes:
            if number > self.latest:
                names.pop(key, None) if kind == "removed" else names.update({key: name})
        wanted = {row[0]: row[1] for row in later.records}
        if names != wanted:
            wrong = {key for key in names.keys() | wanted.keys() if names.get(key) != wanted.get(key)}
            raise Fault(f"a follower of the feed from {self.latest} to {later.latest} misses records {sorted(wrong)}")
