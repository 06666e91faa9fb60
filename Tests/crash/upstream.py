"""An upstream whose every record contains the version, so that a mixture of two versions is visible.

It is rosterd's proxy, so that base_url, to which caches and tokens belong, is the same for all.
"""

import contextlib
import hashlib
import http.server
import json
import re
import sys
import threading
import time
import urllib.parse

BASE = "http://roster.test/api"
PAGE = 20
RECORDS = 60


def record(number, version):
    """A record, whose values except the key contain the version."""
    mark = f"·v{version}"
    place = {"name": f"Earth{mark}", "url": f"o/{number}{mark}"}
    names = ["status", "species", "type", "gender", "image", "url", "created"]
    return {name: f"{name} {number}{mark}" for name in names} | {
        "id": number, "name": f"Pilot {number}{mark}", "origin": place, "location": place,
        "episode": [f"e/{number}{mark}", f"e/{number + 1}{mark}"], "moons": version,
    }  # fmt: skip


def content(version, records, columns):
    """The rows of the two tables with these columns."""
    listed = [record(number, version) for number in numbers(version, records)]

    def row(document):
        fields = dict(document)
        fields.pop("episode")
        found = {}
        for column in columns[:-1]:
            name, _, inner = column.partition("_")
            found[column] = fields[name][inner] if inner else fields[name]
        taken = {column.partition("_")[0] for column in columns}
        extra = {name: value for name, value in fields.items() if name not in taken}
        return *found.values(), json.dumps(extra, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    episodes = [(each["id"], at, url) for each in listed for at, url in enumerate(each["episode"])]
    return tuple(columns), tuple(map(row, listed)), tuple(episodes)


def numbers(version, records=RECORDS):
    """The ids of a version: each version removes the first one and adds another one."""
    return range(version, version + records)


class Upstream:
    """Serves one version at a time. With `tokens`, access token An must be the latest granted one and later than
    `expired`. Refresh token Rn is valid until a page was requested with An+1: a client that sends it after that has
    lost the new tokens."""

    def __init__(self, version=1, records=RECORDS):
        self.version, self.records = version, records
        self.tokens, self.granted, self.used, self.expired, self.reuses = False, 0, 0, 0, 0
        self.uses, self.lifetime, self.lasting = 0, 0, sys.maxsize
        # Seconds before each answer.
        self.delay = 0.0
        # True to serve the next version with each sync.
        self.moves = False
        self.open = 0
        self.lock = threading.Lock()
        self.closed = threading.Condition(self.lock)
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                with upstream.lock:
                    upstream.open += 1
                super().setup()

            def finish(self):
                with contextlib.suppress(OSError):
                    super().finish()
                with upstream.closed:
                    upstream.open -= 1
                    upstream.closed.notify_all()

            def do_GET(self):
                upstream.answer(self)

            def do_POST(self):
                length = int(self.headers.get("Content-Length", "0"))
                body = self.rfile.read(length)
                if len(body) < length:
                    self.close_connection = True
                    return
                self.form = urllib.parse.parse_qs(body.decode())
                upstream.answer(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_):
                """The client is a program that was killed."""

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.proxy = f"http://127.0.0.1:{self.server.server_port}"

    def rest(self):
        """Waits until a killed program has no more open requests."""
        with self.closed:
            self.closed.wait_for(lambda: not self.open)

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        path = urllib.parse.urlsplit(request.path)
        time.sleep(self.delay)  # an upstream that takes its time is what is played
        with self.lock:
            status, body = self.token(request) if path.path == "/api/token" else self.page(request, path)
        body = json.dumps(body, ensure_ascii=False).encode()
        tag = '"' + hashlib.sha256(body).hexdigest()[:16] + '"'
        if status == 200 and request.headers.get("If-None-Match") == tag:
            status, body = 304, b""
        head = f"HTTP/1.1 {status} .\r\nContent-Length: {len(body)}\r\nETag: {tag}\r\n\r\n"
        request.wfile.write((head if status != 304 else head.replace("Content-Length: 0\r\n", "")).encode() + body)
        request.wfile.flush()

    def page(self, request, path):
        if self.tokens and not self.admits(request.headers.get("Authorization", "")):
            return 401, {"error": "token"}
        query = urllib.parse.parse_qs(path.query)
        self.version += self.moves and query.get("page") == ["1"]
        listed = list(numbers(self.version, self.records))
        asked = re.fullmatch(r"/api/character(?:/([0-9,]+))?", path.path)
        if not asked:
            return 404, {"error": "not here"}
        if asked[1]:
            found = [record(int(key), self.version) for key in asked[1].split(",") if int(key) in listed]
            if "," in asked[1]:
                return 200, found
            return (200, found[0]) if found else (404, {"error": "gone"})
        number = int(query["page"][0])
        part = listed[PAGE * (number - 1) : PAGE * number]
        if not part:
            return 404, {"error": "no such page"}
        pages = -(-len(listed) // PAGE)
        return 200, {
            "info": {"count": len(listed), "pages": pages, "next": None, "prev": None},
            "results": [record(key, self.version) for key in part],
        }

    def admits(self, authorization):
        number = int(re.sub(r"\D", "", authorization) or 0)
        if number != self.granted or number <= self.expired:
            return False
        self.uses = self.uses + 1 if self.used == number else 1
        self.used = number
        # An access token is valid for a number of requests, unless it is exempt.
        if self.lifetime and number < self.lasting and self.uses > self.lifetime:
            self.expired = number
        return number > self.expired

    def token(self, request):
        sent = request.form.get("refreshToken") or request.form.get("refresh_token") or ["0"]
        number = int(re.sub(r"\D", "", sent[0]) or 0)
        # The next token may have been lost in transit if it was not used yet.
        if not (number == self.granted or (number == self.granted - 1 and self.used < self.granted)):
            self.reuses += 1
            return 401, {"error": "refresh token was used"}
        self.granted += 1
        access, refresh = f"A{self.granted}", f"R{self.granted}"
        oauth = {"access_token": access, "refresh_token": refresh, "expires_in": 3600}
        return 200, oauth if "grant_type" in request.form else {"token": access, "refreshToken": refresh}
