"""An upstream with any number of lists, whose pages are sent when the test permits it."""

import http.server
import json
import threading
import time
import urllib.parse

PAGE_SIZE = 20
PATIENCE = 60


class Upstream:
    def __init__(self, pages, latency=0.0):
        # The pages by list.
        self.pages = pages
        self.latency = latency
        # The status of page requests; None for the normal one.
        self.status = None
        # The token endpoint's status and answer.
        self.token = (200, {"access_token": "access", "refresh_token": "refresh", "expires_in": 3600})
        self.gate = threading.Semaphore(0)
        self.is_open = True
        # Records that the first page of each list has more.
        self.more = 0
        self.rejected = 0
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                upstream.answer(self)

            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length") or 0))
                upstream.send(self, *upstream.token)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):
                pass  # a daemon that ends in the middle is part of the tests

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}/api"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        """From now on pages wait for `let`, except the first page of each list, so that all totals are known."""
        self.is_open = False

    def let(self, pages):
        self.gate.release(pages)

    def open(self):
        self.is_open = True
        self.gate.release(1000)

    def reopen(self):
        """The same as `open`; `close` works again afterwards."""
        self.open()
        self.gate = threading.Semaphore(0)

    def answer(self, handler):
        address = urllib.parse.urlsplit(handler.path)
        name = address.path.rpartition("/")[2]
        number = int(urllib.parse.parse_qs(address.query).get("page", ["1"])[0])
        time.sleep(self.latency)  # an upstream that takes its time is what is played
        if not self.is_open and number > 1:
            self.gate.acquire(timeout=PATIENCE)
        if self.status:
            return self.send(handler, self.status, {"error": "as told"})
        first = (number - 1) * PAGE_SIZE + 1
        results = [{"id": n, "name": f"{name} {n}"} for n in range(first, first + PAGE_SIZE)]
        if number == 1:
            results += [{"id": 1_000_000 + n, "name": f"new {n}"} for n in range(self.more)]
            for n in range(self.rejected):
                results[n] = {"id": "<b>not a number</b>", "name": "x"}
        self.send(handler, 200, {"pages": self.pages[name], "results": results})

    def send(self, handler, status, answer):
        body = json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def stop(self):
        self.open()
        self.server.shutdown()
        self.server.server_close()

    def configuration(self, text=""):
        """A rosterd.toml that pulls all lists."""
        resources = "".join(f"""
[resource.{name}]
path = "/{name}"
records = "/results"
[resource.{name}.pages]
last = "/pages"
[resource.{name}.columns]
id = {{ at = "/id", type = "integer" }}
name = "/name"
""" for name in self.pages)
        return text + resources
