"""An upstream in Python's http.server that frames its answers in each way of HTTP/1."""

import contextlib
import gzip
import hashlib
import http.server
import threading
import time
import urllib.parse
from dataclasses import dataclass
from typing import NamedTuple


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


class Origin:
    """Counts its requests, waits `delay` before each answer, and interrupts answers on request."""

    def __init__(self, pages, framing=PLAIN, delay=0.0):
        self.pages, self.framing, self.delay, self.lines = pages, framing, delay, []
        self.requests, self.acts, self.faults = 0, {}, []
        self.counting, self.acting, self.goes_on = threading.Lock(), threading.Lock(), threading.Event()
        self.goes_on.set()
        self.server = None
        self.start(0)
        self.port = self.server.server_port

    def start(self, port=None):
        self.server = Listener(("127.0.0.1", self.port if port is None else port), handler(self))
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()

    def stop(self):
        """Stops as a killed server does, without a notification."""
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server.break_off()
            self.server = None

    def restart(self, framing):
        self.stop()
        self.framing = framing
        self.start()

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


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    # Eight connections arrive at once, through proxies too.
    request_queue_size = 128
    block_on_close = False

    def __init__(self, *arguments):
        self.open = set()
        super().__init__(*arguments)

    def process_request(self, request, address):
        self.open.add(request)
        super().process_request(request, address)

    def shutdown_request(self, request):
        self.open.discard(request)
        super().shutdown_request(request)

    def break_off(self):
        for connection in list(self.open):
            self.shutdown_request(connection)

    def handle_error(self, *_):
        """A client that disconnects before the end of an answer is not an error."""


def handler(origin):
    framing = origin.framing

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = framing.version
        # Nagle's algorithm and a delayed acknowledgement would cost 40 ms an answer.
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_GET(self):
            origin.asked()
            time.sleep(origin.delay)  # an upstream that takes its time is what is played
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            body = origin.pages.bodies.get(int(query["page"][0])) if "page" in query else None
            if body is None:
                status, body = 404, b"{}"
            tag = '"' + hashlib.sha256(body).hexdigest()[:16] + '"'
            known = self.headers.get("If-None-Match", "").removeprefix("W/")
            status = 404 if body == b"{}" else 304 if known == tag else 200
            if "gzip" not in self.headers.get("Accept-Encoding", "") and framing.gzip:
                self.answer(status, tag, body, packed=False)
            else:
                self.answer(status, tag, body, packed=framing.gzip)
            origin.lines.append(Line("GET", self.path, status, str(self.client_address[1])))

        def answer(self, status, tag, body, packed):
            self.send_response(status)
            self.send_header("ETag", tag)
            self.send_header("Content-Type", "application/json")
            if framing.connection:
                self.send_header("Connection", framing.connection)
            if framing.version == "HTTP/1.0":
                self.close_connection = framing.connection != "keep-alive"
            if status == 304:
                self.end_headers()
            else:
                self.send_body(body, packed)
            self.wfile.flush()
            if framing.closes:
                self.close_connection = True

        def send_body(self, body, packed):
            if packed:
                self.send_header("Content-Encoding", "gzip")
                body = gzip.compress(body, 1)
            if framing.length:
                self.send_header("Content-Length", str(len(body)))
            if framing.chunked:
                self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            if not framing.chunked:
                self.wfile.write(body)
                return
            for start in range(0, len(body), 700):
                part = body[start:start + 700]
                self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_):
            pass

    return Handler
