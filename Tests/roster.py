"""One rosterd with a folder of its own, and its reports."""

import contextlib
import json
import os
import sqlite3
import subprocess

from programs import PATIENCE, ended


def variables(settings):
    """Settings such as `sync_interval="1h"` as environment variables."""
    return {f"ROSTERD_{name.upper()}": str(value) for name, value in settings.items()}


class Roster:
    """`definition`: the text of rosterd.toml; None for a rosterd without that file."""

    def __init__(self, folder, program, definition=None, **settings):
        self.folder, self.program, self.control = folder, program, program.parent / "rosterctl"
        folder.mkdir(parents=True, exist_ok=True)
        self.cache, self.socket, self.log = folder / "roster.db", folder / "status.sock", folder / "daemon.log"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder)} | variables(
            {"cache_path": self.cache, "status_socket": self.socket} | settings)
        self.configuration = folder / "rosterd.toml"
        self.options = []
        if definition is not None:
            self.configuration.write_text(definition)
            self.options = ["--config", self.configuration]

    def start(self, *command, **settings):
        return subprocess.Popen(
            command, env=self.environment | variables(settings), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def run(self, *command):
        return subprocess.run(
            command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)

    def begin(self, *options, **settings):
        return self.start(self.program, "sync", "--json", *self.options, *options, **settings)

    def end(self, process, exit=0):
        """The report of a sync that was begun."""
        output, error = process.communicate(timeout=PATIENCE)
        assert process.returncode == exit, f"{process.returncode} instead of {exit}: {error}"
        return json.loads(output.splitlines()[-1])

    def sync(self, *options, exit=0):
        return self.end(self.begin(*options), exit)

    def request_sync(self):
        """The report of a sync that the running daemon makes."""
        return self.end(self.start(self.control, "sync", "--wait", "--json"))

    @contextlib.contextmanager
    def daemon(self, expects=0, waits=True, **settings):
        """A daemon that has published. `waits`: false if it is not expected to publish."""
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                [self.program, "run", *self.options], env=self.environment | variables(settings),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        with ended(process):
            if waits:
                ready = self.run(self.control, "wait", "--timeout", "30s")
                assert ready.returncode == 0, ready.stderr
            yield process
        assert process.returncode == expects, f"rosterd ended with {process.returncode}"

    def query(self, sql, *values, cache=None):
        database = sqlite3.connect(f"file:{cache or self.cache}?mode=ro", uri=True, timeout=10)
        with contextlib.closing(database):
            return database.execute(sql, values).fetchall()
