"""The shared parts of the tests: pages, a rosterd, certificates."""

import contextlib
import functools
import hashlib
import json
import os
import sqlite3
import subprocess
import tempfile
from base64 import b64encode

import roster
from programs import openssl
from simulator import CHARACTER, PAGE_SIZE, record

# 2026-01-01: older than any answer, so that Last-Modified counts.
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
            "results": [record(CHARACTER, number) | {"name": self.names[number]} for number in ids],
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


@functools.cache
def characters(program):
    """The usual definition without an audit, which asks for a page without its validator at any time of the day."""
    with tempfile.TemporaryDirectory() as home:
        check = [program, "check"]
        text = subprocess.run(check, env={"HOME": home}, capture_output=True, text=True, check=True).stdout
    definition, audited = text[text.index("[resource.character]"):], 'audit_every = "1d"'
    assert audited in definition
    return definition.replace(audited, 'audit_every = "never"')


class Roster(roster.Roster):
    def __init__(self, folder, program, base, **settings):
        super().__init__(folder, program, characters(program), **{
            "upstream_base_url": f"{base}/api", "upstream_proxy": "none", "sync_interval": "1h",
            "retry_base_delay": "100ms", "retry_jitter": "0s"} | settings)

    def names(self):
        return dict(self.query("SELECT id, name FROM characters"))

    def last_sync(self):
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


def connections(port):
    """Connections that a server on loopback has not closed: the client's ends according to the kernel."""
    established = "01"
    with open("/proc/net/tcp") as table:
        lines = [line.split() for line in table][1:]
    return sum(line[2].endswith(f":{port:04X}") and line[3] == established for line in lines)
