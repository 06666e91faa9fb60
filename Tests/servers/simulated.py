"""A server of the tests that behaves as the documentation of an API says."""

from upstream import Upstream


class Refused(Exception):
    """An answer of another status, with its body."""

    def __init__(self, status, **body):
        self.status, self.body = status, body


class Simulated(Upstream):
    """Has a log like the servers of others. `respond` returns the body and the headers, or raises `Refused`."""

    def __init__(self, folder, venv):
        super().__init__()
        self.lines, self.in_flight = [], 0
        self.fill()

    def fill(self):
        """Stores the records."""

    def answer(self, request):
        with self.lock:
            self.in_flight += 1
            in_flight = self.in_flight
        try:
            status, (body, headers) = 200, self.respond(request)
            if headers.get("ETag") and request.headers.get("If-None-Match") == headers["ETag"]:
                status, body = 304, b""
        except Refused as refused:
            status, body, headers = refused.status, refused.body, {}
        except Exception as wrong:
            # The request is not one that the API knows.
            status, body, headers = 500, {"error": repr(wrong)}, {}
        with self.lock:
            self.in_flight -= 1
            self.lines.append((request.method, request.target, str(status), str(in_flight)))
        return status, body, headers

    def log(self):
        return list(self.lines)
