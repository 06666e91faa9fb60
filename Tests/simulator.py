"""Drives the simulator (Tests/Simulator): an upstream on 127.0.0.1 as a program of its own."""

import json
import os
import re
import subprocess
import sys
import urllib.request

from programs import PATIENCE, wait_until

PAGE_SIZE = 20
# A character as the public API sends it. TemplateList.swift says what <n> and <v> are.
CHARACTER = """{
"id": <n>, "name": "Citizen <n>", "status": "<n|Alive|Dead|unknown>", "species": "Human", "type": "",
"gender": "<n|Female|Male>", "origin": {"name": "Kettle Moon", "url": "https://roster.example/api/location/2"},
"location": {"name": "Saltmarsh", "url": "https://roster.example/api/location/<n|1|2|3|4|5>"},
"image": "https://roster.example/api/character/avatar/<n>.jpeg",
"episode": ["https://roster.example/api/episode/<n|1|2|3>", "https://roster.example/api/episode/<n|4|5|6|7>"],
"url": "https://roster.example/api/character/<n>", "created": "2017-11-04T18:48:46.250Z"}"""
# TokenEndpoint.swift says what they mean.
TOKENS = {"isRequired": True} | dict.fromkeys(
    ["granted", "used", "expired", "uses", "lifetime", "lasting", "reuses"], 0)
ALL_PAGES = {"first": 1}
LATER_PAGES = {"first": 2}
# A proxy of the environment does not reach this machine's simulators.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def record(template, n, v=0):
    """The record as the simulator sends it."""

    def number(place):
        total = sum({"n": n, "v": v}[part] if part in "nv" else int(part) for part in place[1].split("+"))
        choices = place[2].split("|")[1:]
        return choices[total % len(choices)] if choices else str(total)

    return json.loads(re.sub(r"<((?:n|v|[0-9]+)(?:\+(?:n|v|[0-9]+))*)((?:\|[^|>]*)*)>", number, template))


def character_page(number, count, size=PAGE_SIZE):
    """One page of a list of `count` characters, for other servers."""
    pages = -(-count // size)
    first = (number - 1) * size + 1
    return {
        "info": {"count": count, "pages": pages, "next": None, "prev": None},
        "results": [record(CHARACTER, each) for each in range(first, min(first + size, count + 1))],
    }


def only(page):
    """That page of each list."""
    return {"first": page, "last": page}


class Simulator:
    """`program` is rosterd, beside which the simulator was built."""

    def __init__(self, program):
        path = program.with_name("roster-simulator")
        if not os.access(path, os.X_OK):
            sys.exit(f"{path} is missing: make simulator, or swift build --build-tests for a debug build")
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        origins = json.loads(self.process.stdout.readline())
        self.origin, self.admin = origins["origin"], origins["admin"]
        self.base = self.origin + "/api"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def state(self, change=None):
        """The state after the change, if there is one. AdminPort.swift has the members of both."""
        body = None if change is None else json.dumps(change).encode()
        with OPENER.open(self.admin, body, PATIENCE) as answer:
            return json.load(answer)

    def change(self, **change):
        return self.state(change)

    def list(self, name="character", **change):
        """Changes a list, or adds it."""
        return self.change(lists={f"/api/{name}": change})

    def answer(self, status=None, pages=ALL_PAGES, token=None, body=None):
        """Gives these pages that status, and the token URL the status `token`; None for the normal answers. A 400
        without another body ends the session."""
        rules = [{"pages": pages, "status": status}] if status else []
        if token == 400 and body is None:
            body = '{"error":"invalid_grant"}'
        rules += [{"status": token, "body": body}] if token else []
        self.change(rules=rules)

    def hold(self, pages=ALL_PAGES):
        """Makes these pages wait for `let` or `release`."""
        self.held = pages
        self.change(hold=pages)

    def let(self, count):
        """Sends this number of the pages that `hold` holds back."""
        self.change(**{"pass": {"pages": self.held, "count": count}})

    def release(self):
        self.change(release=True)

    def rest(self):
        """Waits until a killed program has no more open connections."""
        wait_until(lambda: not self.state()["openConnections"], "all connections are closed")

    def stop(self):
        self.process.stdin.close()
        try:
            assert self.process.wait(PATIENCE) == 0, self.process.returncode
        finally:
            self.process.kill()
            self.process.stdout.close()
