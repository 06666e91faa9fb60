"""The shared parts of the tests: pages, a rosterd, certificates."""

import contextlib
import hashlib
import json
import os
import sqlite3
import subprocess
from base64 import b64encode

from programs import PATIENCE, ended, tool

PAGE_SIZE = 20
# 2026-01-01: older than any answer, so that Last-Modified counts (P6).
EPOCH = 1767225600


class Pages:
    """The pages of all upstreams, in memory and as files `1.json` and so on."""

    def __init__(self, folder, count):
        self.folder, self.count = folder, count
        self.names = {number: f"Citizen {number}" for number in range(1, count * PAGE_SIZE + 1)}
        self.bodies, self.changes = {}, 0
        folder.mkdir()
        for page in range(1, count + 1):
            self.write(page)

    def write(self, page):
        ids = range((page - 1) * PAGE_SIZE + 1, page * PAGE_SIZE + 1)
        document = {
            "info": {"count": len(self.names), "pages": self.count},
            "results": [character(number, self.names[number]) for number in ids],
        }
        self.bodies[page] = json.dumps(document).encode()
        file = self.folder / f"{page}.json"
        fresh = file.with_suffix(".new")
        fresh.write_bytes(self.bodies[page])
        # Validators of files have seconds.
        os.utime(fresh, (EPOCH + self.changes, EPOCH + self.changes))
        fresh.rename(file)

    def change(self):
        """Changes one record, on another page each time."""
        self.changes += 1
        page = self.changes * 7 % self.count + 1
        self.names[page * PAGE_SIZE] += f", {self.changes}"
        self.write(page)


def character(number, name):
    url = f"https://upstream.test/api/character/{number}"
    return {
        "id": number, "name": name, "status": ["Alive", "Dead", "unknown"][number % 3], "species": "Human", "type": "",
        "gender": ["Female", "Male"][number % 2], "origin": {"name": "Kettle Moon", "url": url},
        "location": {"name": "Saltmarsh", "url": url}, "image": url, "episode": [url], "url": url,
        "created": "2017-11-04T18:48:46.250Z",
    }


class Roster:
    """One rosterd's settings and state."""

    def __init__(self, folder, program, base, **settings):
        self.folder, self.program, self.control = folder, program, program.parent / "rosterctl"
        folder.mkdir()
        self.cache = folder / "roster.db"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "ROSTERD_UPSTREAM_BASE_URL": f"{base}/api",
            "ROSTERD_CACHE_PATH": str(self.cache), "ROSTERD_STATUS_SOCKET": str(folder / "status.sock"),
            "ROSTERD_SYNC_INTERVAL": "1h", "ROSTERD_RETRY_BASE_DELAY": "100ms", "ROSTERD_RETRY_JITTER": "0s",
            "ROSTERD_UPSTREAM_PROXY": "none",
        } | {f"ROSTERD_{name.upper()}": str(value) for name, value in settings.items()}

    def start(self, *command):
        return subprocess.Popen(
            command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)

    def begin(self):
        return self.start(self.program, "sync", "--json")

    def end(self, process, exit=0):
        """The outcome of a sync."""
        output, error = process.communicate(timeout=PATIENCE)
        assert process.returncode == exit, f"{process.returncode} instead of {exit}: {error}"
        return json.loads(output.splitlines()[-1])

    def sync(self, exit=0):
        return self.end(self.begin(), exit)

    @contextlib.contextmanager
    def daemon(self):
        """Returns a function that requests a sync from the daemon."""
        with open(self.folder / "daemon.log", "wb") as log:
            process = subprocess.Popen(
                [self.program, "run"], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        with ended(process):
            self.end_quietly(self.start(self.control, "wait", "--timeout", "30s"))
            yield lambda: self.end(self.start(self.control, "sync", "--wait", "--json"))
        assert process.returncode == 0, f"rosterd ended with {process.returncode}"

    def end_quietly(self, process):
        _, error = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, error

    def names(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.cache}?mode=ro", uri=True)) as cache:
            return dict(cache.execute("SELECT id, name FROM characters"))

    def rows(self):
        """The rows of the latest syncs."""
        with contextlib.closing(sqlite3.connect(f"file:{self.cache}?mode=ro", uri=True)) as cache:
            cache.row_factory = sqlite3.Row
            return dict(cache.execute("SELECT * FROM syncs ORDER BY id DESC LIMIT 1").fetchone())


class Certificate:
    """A server's certificate, and the authority that has signed it."""

    def __init__(self, folder, key="EC", names="IP:127.0.0.1,DNS:upstream.test"):
        folder.mkdir()
        self.authority, self.file, self.key = folder / "ca.pem", folder / "server.pem", folder / "server.key"
        new = {"EC": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "RSA": ["-newkey", "rsa:2048"]}[key]
        root = folder / "ca.key"
        openssl("req", "-x509", *new, "-nodes", "-keyout", root, "-out", self.authority, "-days", "3",
                "-subj", "/CN=Roster test authority", "-addext", "basicConstraints=critical,CA:TRUE")
        request, extensions = folder / "server.csr", folder / "extensions"
        openssl("req", *new, "-nodes", "-keyout", self.key, "-out", request, "-subj", "/CN=upstream.test")
        extensions.write_text(f"subjectAltName={names}\n")
        openssl("x509", "-req", "-in", request, "-CA", self.authority, "-CAkey", root, "-days", "2",
                "-extfile", extensions, "-out", self.file)
        # HAProxy reads both from one file.
        self.both = folder / "both.pem"
        self.both.write_text(self.file.read_text() + self.key.read_text())
        public = openssl("pkey", "-in", self.key, "-pubout", "-outform", "DER")
        self.pin = "sha256/" + b64encode(hashlib.sha256(public).digest()).decode()


def openssl(*words):
    done = subprocess.run([tool("openssl"), *words], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def connections(port):
    """Connections that a server on loopback has not closed: the client's ends according to the kernel."""
    established = "01"
    with open("/proc/net/tcp") as table:
        lines = [line.split() for line in table][1:]
    return sum(line[2].endswith(f":{port:04X}") and line[3] == established for line in lines)
