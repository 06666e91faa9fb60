#!/usr/bin/env python3
"""The upstream of the systemd tests: pages on 127.0.0.1:8600, the same with TLS on 8643, and a name server for them.

GET /control?KEY=VALUE changes a setting; GET /counts returns the number of requests."""

import http.server
import json
import socket
import ssl
import sys
import threading
import time
import urllib.parse

settings = {"pages": 30, "delay": 0.0, "protected": False, "refresh": "first", "broken": 0,
            "revoked": False}
counts = {"pages": 0, "refreshes": 0, "refused": 0}
lock = threading.Lock()
access = None


def character(number):
    place = {"name": "Citadel", "url": ""}
    return {"id": number, "name": f"Rick {number}", "status": "Alive", "species": "Human", "type": "", "gender": "Male",
            "origin": place, "location": place, "image": "", "episode": [f"/episode/{number % 9}"], "url": "",
            "created": "2017-11-04T18:48:46.250Z"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/control":
            for key, value in query.items():
                settings[key] = type(settings[key])(json.loads(value) if key != "refresh" else value)
            return self.answer(200, settings)
        if url.path == "/counts":
            return self.answer(200, counts)
        if not url.path.startswith("/api/character"):
            return self.answer(404, {})
        known = self.headers["Authorization"] == f"Bearer {access}" and not settings["revoked"]
        if settings["protected"] and not known:
            with lock:
                counts["refused"] += 1
            return self.answer(401, {})
        if url.path != "/api/character":
            return self.answer_by_key(url.path.rpartition("/")[2].split(","))
        page, pages = int(query["page"]), settings["pages"]
        if page > 1:
            # The delay simulates a slow upstream until the configuration changes.
            began = time.monotonic()
            while time.monotonic() - began < settings["delay"]:
                time.sleep(0.02)
        with lock:
            counts["pages"] += 1
            broken = settings["broken"] == page
            if broken:
                settings["broken"] = 0
        if broken:
            return self.answer(503, {})
        self.answer(200, {"info": {"count": 20 * pages, "pages": pages, "next": None, "prev": None},
                          "results": [character(20 * (page - 1) + place + 1) for place in range(20)]})

    def answer_by_key(self, keys):
        """One key: the character or 404. Several keys: a list of those that exist."""
        found = [character(int(key)) for key in keys if 1 <= int(key) <= 20 * settings["pages"]]
        if len(keys) > 1:
            return self.answer(200, found)
        return self.answer(200, found[0]) if found else self.answer(404, {})

    def do_POST(self):
        """RFC 6749 section 6; each refresh token is valid once."""
        global access
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        with lock:
            if form.get("refresh_token") != settings["refresh"]:
                return self.answer(400, {"error": "invalid_grant"})
            counts["refreshes"] += 1
            access, settings["refresh"] = f"access-{counts['refreshes']}", f"refresh-{counts['refreshes']}"
            settings["revoked"] = False
            self.answer(200, {"access_token": access, "refresh_token": settings["refresh"], "expires_in": 3600})


def names():
    """Every name is 127.0.0.1 (RFC 1035)."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    while True:
        query, peer = server.recvfrom(512)
        end = query.index(b"\0", 12) + 5
        is_a = query[end - 4:end - 2] == b"\0\1"
        record = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1" if is_a else b""
        server.sendto(query[:2] + b"\x81\x80\0\1\0" + bytes([is_a]) + b"\0\0\0\0" + query[12:end] + record, peer)


plain = http.server.ThreadingHTTPServer(("127.0.0.1", 8600), Handler)
secure = http.server.ThreadingHTTPServer(("127.0.0.1", 8643), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
secure.socket = context.wrap_socket(secure.socket, server_side=True)
for work in (names, secure.serve_forever):
    threading.Thread(target=work, daemon=True).start()
plain.serve_forever()
