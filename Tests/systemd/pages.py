#!/usr/bin/env python3
"""The upstream of the systemd tests: pages on 127.0.0.1:8600, the same with TLS on 8643, and a name server for them.

GET /control?KEY=VALUE changes a setting; GET /counts returns the number of requests."""

import json
import socket
import ssl
import sys
import time

from upstream import PAGE_SIZE, Upstream, character, character_page


class Pages(Upstream):
    def __init__(self, port):
        super().__init__(port)
        self.settings = {
            "pages": 30, "delay": 0.0, "protected": False, "refresh": "first", "broken": 0, "revoked": False}
        self.counts = {"pages": 0, "refreshes": 0, "refused": 0}
        self.access = None

    def answer(self, request):
        if request.path == "/control":
            for key, value in request.query.items():
                self.settings[key] = type(self.settings[key])(json.loads(value) if key != "refresh" else value)
            return 200, self.settings
        if request.path == "/counts":
            return 200, self.counts
        if request.method == "POST":
            return self.refresh(request.form)
        if not request.path.startswith("/api/character"):
            return 404, {}
        is_known = request.headers["Authorization"] == f"Bearer {self.access}" and not self.settings["revoked"]
        if self.settings["protected"] and not is_known:
            with self.lock:
                self.counts["refused"] += 1
            return 401, {}
        if request.path != "/api/character":
            return self.by_key(request.path.rpartition("/")[2].split(","))
        return self.page(request.page)

    def page(self, number):
        pages = self.settings["pages"]
        if number > 1:
            # The delay simulates a slow upstream until the configuration changes.
            began = time.monotonic()
            while time.monotonic() - began < self.settings["delay"]:
                time.sleep(0.02)
        with self.lock:
            self.counts["pages"] += 1
            is_broken = self.settings["broken"] == number
            if is_broken:
                self.settings["broken"] = 0
        return (503, {}) if is_broken else (200, character_page(number, PAGE_SIZE * pages, self.base))

    def by_key(self, keys):
        """One key: the character or 404. Several keys: a list of those that exist."""
        last = PAGE_SIZE * self.settings["pages"]
        found = [character(int(key), self.base) for key in keys if 1 <= int(key) <= last]
        if len(keys) > 1:
            return 200, found
        return (200, found[0]) if found else (404, {})

    def refresh(self, form):
        """RFC 6749 section 6; each refresh token is valid once."""
        with self.lock:
            if form.get("refresh_token") != self.settings["refresh"]:
                return 400, {"error": "invalid_grant"}
            self.counts["refreshes"] += 1
            number = self.counts["refreshes"]
            self.access, self.settings["refresh"] = f"access-{number}", f"refresh-{number}"
            self.settings["revoked"] = False
            return 200, {
                "access_token": self.access, "refresh_token": self.settings["refresh"], "expires_in": 3600}


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


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
Pages(8600).listen(8643, tls=context)
names()
