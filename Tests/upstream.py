"""Python's http.server as an upstream: a subclass decides the answers, and a test changes it meanwhile."""

import contextlib
import http.server
import json
import threading
import time
import urllib.parse


class Request:
    def __init__(self, handler, body):
        path, _, query = handler.path.partition("?")
        address = urllib.parse.urlsplit(path)
        self.method, self.path, self.headers = handler.command, urllib.parse.unquote(address.path), handler.headers
        # The address without the origin, which a proxy gets.
        self.target = self.path + ("?" + query if query else "")
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        self.body = body

    @property
    def page(self):
        return int(self.query.get("page", "1"))

    @property
    def json(self):
        return json.loads(self.body) if self.body else None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Nagle's algorithm and a delayed acknowledgement would cost 40 ms per answer.
    disable_nagle_algorithm = True
    # The head and the body are one packet.
    wbufsize = -1

    def setup(self):
        self.upstream = self.server.upstream
        super().setup()

    def finish(self):
        with contextlib.suppress(OSError):
            super().finish()

    def do_GET(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        request = Request(self, body)
        time.sleep(self.upstream.latency)  # simulates a slow upstream
        self.send(*self.upstream.answer(request))

    do_POST = do_GET

    def send(self, status, body, headers=()):
        """Bytes, text, or a value that becomes JSON."""
        if not isinstance(body, bytes):
            body = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()
        self.send_response(status)
        headers = {"Content-Type": "application/json", **dict(headers)}
        if status != 304:
            headers["Content-Length"] = str(len(body))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    # Connections that arrive at once, through proxies too.
    request_queue_size = 256

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
        """Closes all connections, as the end of a program does."""
        for connection in list(self.open):
            self.shutdown_request(connection)

    def handle_error(self, *_):
        """A client that disconnects before the end of an answer is not an error: tests kill it."""


class Upstream:
    """Listens on 127.0.0.1 until `stop`."""

    handler = Handler

    def __init__(self, port=0):
        # Seconds before each answer.
        self.latency = 0.0
        self.lock = threading.Lock()
        self.server = self.listen(port)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        self.base = self.origin + "/api"

    def listen(self, port):
        server = Listener(("127.0.0.1", port), self.handler)
        server.upstream = self
        threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
        return server

    def answer(self, request):
        """The status, the body, and optionally further headers."""
        raise NotImplementedError

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
