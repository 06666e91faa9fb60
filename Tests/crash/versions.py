"""An upstream whose every record contains the version, so that a mixture of two versions is visible.

It is rosterd's proxy, so that base_url, to which caches and tokens belong, is the same for all.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import upstream

BASE = "http://roster.test/api"
RECORDS = 60


def record(number, version):
    """A record, whose values except the key contain the version."""
    mark = f"·v{version}"
    place = {"name": f"Earth{mark}", "url": f"o/{number}{mark}"}
    names = ["status", "species", "type", "gender", "image", "url", "created"]
    return {name: f"{name} {number}{mark}" for name in names} | {
        "id": number, "name": f"Pilot {number}{mark}", "origin": place, "location": place,
        "episode": [f"e/{number}{mark}", f"e/{number + 1}{mark}"], "moons": version,
    }  # fmt: skip


def content(version, records, columns):
    """The rows of the two tables with these columns."""
    listed = [record(number, version) for number in numbers(version, records)]

    def row(document):
        fields = dict(document)
        fields.pop("episode")
        found = {}
        for column in columns[:-1]:
            name, _, inner = column.partition("_")
            found[column] = fields[name][inner] if inner else fields[name]
        taken = {column.partition("_")[0] for column in columns}
        extra = {name: value for name, value in fields.items() if name not in taken}
        return *found.values(), json.dumps(extra, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    episodes = [(each["id"], at, url) for each in listed for at, url in enumerate(each["episode"])]
    return tuple(columns), tuple(map(row, listed)), tuple(episodes)


def numbers(version, records=RECORDS):
    """The ids of a version: each version removes the first one and adds another one."""
    return range(version, version + records)


class Undated(upstream.Handler):
    """Sends no Date, so that rosterd uses its own clock, which a test shifts."""

    send_response = upstream.Handler.send_response_only


class Versions(upstream.Upstream):
    """Serves one version at a time. With `tokens`, access token An must be the latest granted one and later than
    `expired`. Refresh token Rn is valid until a page was requested with An+1: a client that sends it after that has
    lost the new tokens."""

    handler = Undated

    def __init__(self, version=1, records=RECORDS):
        super().__init__()
        self.version, self.records = version, records
        self.tokens, self.granted, self.used, self.expired, self.reuses = False, 0, 0, 0, 0
        self.uses, self.lifetime, self.lasting = 0, 0, sys.maxsize
        # True to serve the next version with each sync.
        self.moves = False

    def answer(self, request):
        with self.lock:
            status, value = self.token(request) if request.path == "/api/token" else self.page(request)
        body = json.dumps(value, ensure_ascii=False).encode()
        tag = '"' + hashlib.sha256(body).hexdigest()[:16] + '"'
        if status == 200 and request.headers.get("If-None-Match") == tag:
            status, body = 304, b""
        return status, body, {"ETag": tag}

    def page(self, request):
        if self.tokens and not self.admits(request.headers.get("Authorization", "")):
            return 401, {"error": "token"}
        self.version += self.moves and request.query.get("page") == "1"
        listed = list(numbers(self.version, self.records))
        asked = re.fullmatch(r"/api/character(?:/([0-9,]+))?", request.path)
        if not asked:
            return 404, {"error": "not here"}
        if asked[1]:
            found = [record(int(key), self.version) for key in asked[1].split(",") if int(key) in listed]
            if "," in asked[1]:
                return 200, found
            return (200, found[0]) if found else (404, {"error": "gone"})
        part = listed[upstream.PAGE_SIZE * (request.page - 1) : upstream.PAGE_SIZE * request.page]
        if not part:
            return 404, {"error": "no such page"}
        pages = -(-len(listed) // upstream.PAGE_SIZE)
        return 200, {
            "info": {"count": len(listed), "pages": pages, "next": None, "prev": None},
            "results": [record(key, self.version) for key in part],
        }

    def admits(self, authorization):
        number = int(re.sub(r"\D", "", authorization) or 0)
        if number != self.granted or number <= self.expired:
            return False
        self.uses = self.uses + 1 if self.used == number else 1
        self.used = number
        # An access token is valid for a number of requests, unless it is exempt.
        if self.lifetime and number < self.lasting and self.uses > self.lifetime:
            self.expired = number
        return number > self.expired

    def token(self, request):
        sent = request.form.get("refreshToken") or request.form.get("refresh_token") or "0"
        number = int(re.sub(r"\D", "", sent) or 0)
        # Two kills in a row may lose two answers. The sent token is right until a later one has been used.
        if not self.used <= number <= self.granted:
            self.reuses += 1
            return 401, {"error": "refresh token was used"}
        self.granted += 1
        access, refresh = f"A{self.granted}", f"R{self.granted}"
        oauth = {"access_token": access, "refresh_token": refresh, "expires_in": 3600}
        return 200, oauth if "grant_type" in request.form else {"token": access, "refreshToken": refresh}
