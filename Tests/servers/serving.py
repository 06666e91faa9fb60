"""Serves a WSGI application on a free port, which it prints, until its stdin ends, and logs each request."""

import os
import sys
import threading
import time

from waitress.server import create_server

# More than rosterd has in flight.
THREADS = 12


class Logged:
    """Writes a line for each answer: method, address, status, and the number of requests in flight."""

    def __init__(self, app, path):
        self.app, self.delay = app, float(os.environ.get("DELAY", "0"))
        self.log = path
        self.in_flight, self.lock = 0, threading.Lock()

    def __call__(self, environment, start_response):
        query = environment["QUERY_STRING"]
        address = environment["PATH_INFO"] + ("?" + query if query else "")
        with self.lock:
            self.in_flight += 1
            in_flight = self.in_flight
        time.sleep(self.delay)  # a server that takes its time is what is played

        def start(status, headers, exc_info=None):
            with open(self.log, "a") as log:
                log.write(f"{environment['REQUEST_METHOD']} {address} {status[:3]} {in_flight}\n")
            return start_response(status, headers, exc_info)

        try:
            return self.app(environment, start)
        finally:
            with self.lock:
                self.in_flight -= 1


def serve(app, log):
    server = create_server(Logged(app, log), host="127.0.0.1", port=0, threads=THREADS)
    print(server.effective_port, flush=True)
    # The harness holds the other end of stdin, so the server never outlives it.
    threading.Thread(target=lambda: (sys.stdin.read(), server.close()), daemon=True).start()
    server.run()
