"""An upstream in Python's http.server that frames its answers in each way of HTTP/1."""

import contextlib
import gzip
import hashlib
import threading
from dataclasses import dataclass
from typing import NamedTuple

from upstream import Handler, Upstream


class Line(NamedTuple):
    """A request as a line of a server's log."""

    method: str
    target: str
    status: int
    connection: str


@dataclass
class Framing:
    """The end of a body, and the later state of the connection."""

    name: str
    version: str = "HTTP/1.1"
    chunked: bool = False
    gzip: bool = False
    length: bool = True
    # None for the default of the version.
    connection: str | None = None
    # The server closes the connection after each answer; `connection` says whether it announces that.
    closes: bool = False


FRAMINGS = [
    Framing("HTTP/1.0", "HTTP/1.0", closes=True),
    Framing("HTTP/1.0 to the end of the connection", "HTTP/1.0", length=False, closes=True),
    Framing("HTTP/1.0 with Connection: keep-alive", "HTTP/1.0", connection="keep-alive"),
    Framing("HTTP/1.0, gzip, with Connection: keep-alive", "HTTP/1.0", gzip=True, connection="keep-alive"),
    Framing("Content-Length"),
    Framing("chunked", chunked=True, length=False),
    Framing("gzip", gzip=True),
    Framing("chunked and gzip", chunked=True, gzip=True, length=False),
    Framing("to the end of the connection", length=False, connection="close", closes=True),
    Framing("gzip to the end of the connection", gzip=True, length=False, connection="close", closes=True),
    Framing("closed without a word", closes=True),
]
PLAIN = FRAMINGS[4]


class Origin(Upstream):
    """Counts its requests, waits `latency` before each answer, and interrupts answers on request."""

    def __init__(self, pages, framing=PLAIN, latency=0.0):
        self.pages, self.framing, self.lines = pages, framing, []
        self.requests, self.acts, self.faults = 0, {}, []
        self.counting, self.acting, self.goes_on = threading.Lock(), threading.Lock(), threading.Event()
        self.goes_on.set()
        super().__init__()
        self.latency = latency
        self.port = self.server.server_port

    @property
    def handler(self):
        return type("Handler", (Framed,), {"protocol_version": self.framing.version})

    def start(self):
        self.server = self.listen(self.port)

    def stop(self):
        """Stops as a killed server does, without a notification."""
        if self.server:
            super().stop()
            self.server.break_off()
            self.server = None

    def restart(self, framing):
        self.stop()
        self.framing = framing
        self.start()

    def answer(self, request):
        self.asked()
        body = self.pages.bodies.get(request.page) if "page" in request.query else None
        if body is None:
            return 404, b"{}"
        tag = '"' + hashlib.sha256(body).hexdigest()[:16] + '"'
        is_known = request.headers.get("If-None-Match", "").removeprefix("W/") == tag
        return 304 if is_known else 200, b"" if is_known else body, {"ETag": tag}

    @contextlib.contextmanager
    def at(self, numbers, act):
        """Performs the action when the requests with these numbers have arrived, before they are answered; the
        others continue."""
        self.requests, self.acts = 0, dict.fromkeys(numbers, act)
        yield
        with self.acting:
            assert not self.acts and not self.faults, f"not done yet: {list(self.acts)}; {self.faults}"

    @contextlib.contextmanager
    def quiet(self):
        """Requests that arrive meanwhile wait for their answers."""
        self.goes_on.clear()
        try:
            yield
        finally:
            self.goes_on.set()

    def asked(self):
        with self.counting:
            self.requests += 1
            act = self.acts.pop(self.requests, None)
        self.goes_on.wait()
        if act:
            with self.acting:
                try:
                    act()
                except Exception as fault:
                    self.faults.append(fault)

    def log(self):
        return list(self.lines)


class Framed(Handler):
    """Frames a body as `framing` says."""

    def send(self, status, body, headers=()):
        framing, origin = self.upstream.framing, self.upstream
        headers = {"Content-Type": "application/json", **dict(headers)}
        if framing.connection:
            headers["Connection"] = framing.connection
        if framing.gzip and status != 304 and "gzip" in self.headers.get("Accept-Encoding", ""):
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body, 1)
        if framing.length and status != 304:
            headers["Content-Length"] = str(len(body))
        if framing.chunked and status != 304:
            headers["Transfer-Encoding"] = "chunked"
            parts = [body[start:start + 700] for start in range(0, len(body), 700)]
            body = b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in [*parts, b""])
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        self.close_connection |= framing.closes
        origin.lines.append(Line("GET", self.path, status, str(self.client_address[1])))
