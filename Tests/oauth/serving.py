"""The way in which both OAuth servers serve: on a free port, which they print, until their stdin ends."""

import socketserver
import sys
import threading
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 64


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def serve(app):
    server = make_server("127.0.0.1", 0, app, Server, Quiet)
    print(server.server_port, flush=True)
    # The script holds the other end of stdin, so the server never outlives it.
    threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
    server.serve_forever(poll_interval=0.1)
