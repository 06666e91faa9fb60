"""The OpenAPI document, and answers in every state checked against it."""

import copy
import json
import signal
import subprocess
import threading

from programs import wait_until
from support import Characters, Daemon

GETS = ["/", "/page.css", "/page.js", "/page.svg", "/v1/status", "/v1/explain", "/v1/syncs", "/v1/events", "/metrics",
        "/healthz", "/readyz", "/openapi.json"]


class Schemas:
    def __init__(self, document):
        from jsonschema import Draft202012Validator, FormatChecker
        from referencing import Registry, Resource
        from referencing.jsonschema import DRAFT202012

        resource = Resource.from_contents(document, default_specification=DRAFT202012)
        registry = Registry().with_resource("", resource)
        self.validator = lambda name: Draft202012Validator(
            {"$ref": f"#/components/schemas/{name}", "components": document["components"]}, registry=registry,
            format_checker=FormatChecker())

    def check(self, name, value):
        errors = [f"{error.json_path}: {error.message}" for error in self.validator(name).iter_errors(value)]
        assert not errors, f"{name}: {errors}\n{json.dumps(value)}"

    def refuses(self, name, value):
        assert list(self.validator(name).iter_errors(value)), f"{name} takes {json.dumps(value)}"


def run(lines, program, folder):
    upstream = Characters(program, pages=40)
    upstream.hold()
    with Daemon(
        program, folder / "document", upstream.base, ROSTERD_AUTH_FLOW="oauth2_refresh",
        ROSTERD_AUTH_TOKEN_URL="/token", ROSTERD_RETRY_MAX_RETRIES="1",
        ROSTERD_SYNC_MAX_REMOVAL="100",
    ) as daemon:
        document = daemon.json("/openapi.json")
        schemas = Schemas(closed(document))
        lines.check("OpenAPI: openapi-spec-validator accepts the document", lambda: accepted(document))
        lines.check("OpenAPI: it names every path, its methods, and rosterd's version",
                    lambda: paths(daemon, document, program))
        lines.check("OpenAPI: a field less or another type is refused; a field more is taken in an answer, not in a "
                    "request", lambda: strictness(schemas, Schemas(document), daemon))
        lines.check("OpenAPI: answers in all states agree with it, and so do events",
                    lambda: states(daemon, upstream, schemas))
    upstream.stop()


def accepted(document):
    from openapi_spec_validator import OpenAPIV31SpecValidator

    OpenAPIV31SpecValidator(document).validate()


def paths(daemon, document, program):
    assert document["openapi"].startswith("3.1"), document["openapi"]
    answered = [*GETS, "/v1/changes", "/v1/sync", "/v1/cancel"]
    assert sorted(document["paths"]) == sorted(answered), sorted(document["paths"])
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    assert document["info"]["version"] == version == daemon.status()["version"], version
    for path, item in document["paths"].items():
        methods = sorted(method.upper() for method in item)
        answer = daemon.ask("DELETE", path)
        answer.problem(405)
        assert sorted(answer.headers["allow"].split(", ")) == methods, (path, answer)
        for method, operation in item.items():
            codes = set(operation["responses"])
            if method != "head":
                assert {"400", "405", "408", "413", "431", "default"} <= codes, (path, method, codes)
    assert {"403", "503"} <= set(document["paths"]["/v1/sync"]["post"]["responses"])
    assert {"403", "409"} <= set(document["paths"]["/v1/cancel"]["post"]["responses"])


def closed(document):
    """The same schema without additional fields, so that an unknown field is found.

    Clients must accept such fields, since objects gain fields in later versions.
    """
    document = copy.deepcopy(document)
    # Others are made of it.
    whole = {name: schema for name, schema in document["components"]["schemas"].items() if name != "SyncColumns"}

    def close(schema):
        if "properties" in schema or ("$ref" in schema and schema is whole.get("Sync")):
            schema["unevaluatedProperties"] = False
        for part in schema.get("properties", {}).values():
            close(part)

    for schema in whole.values():
        close(schema)
    return document


def strictness(schemas, published, daemon):
    status = daemon.status()
    schemas.check("Status", status)
    gone = daemon.ask("GET", "/v1/changes?since=99999999").problem(410)
    assert "read everything again" in gone, gone
    more = status | {"more": 1, "cache": status["cache"] | {"more": 1}}
    schemas.refuses("Status", more)
    published.check("Status", more)
    published.check("Syncs", {"syncs": [sync | {"more": 1} for sync in daemon.json("/v1/syncs")["syncs"]]})
    for name, value in [("Problem", {"type": "about:blank", "title": "x", "status": 503, "detail": "x"}),
                        ("Accepted", {"sync": 1, "joined": True}), ("Event", {"at": status["started_at"]})]:
        schemas.check(name, value)
        schemas.refuses(name, value | {"more": 1})
        published.check(name, value | {"more": 1})
    published.refuses("SyncRequest", {"alow_removal": True})
    schemas.refuses("Status", {key: value for key, value in status.items() if key != "token"})
    schemas.refuses("Status", status | {"state": "odd"})
    schemas.refuses("Status", status | {"clauses": []})
    schemas.refuses("Status", status | {"cache": status["cache"] | {"path": None}})
    schemas.refuses("Sync", {"id": 1})


def states(daemon, upstream, schemas):
    seen, events = set(), []
    reader = threading.Thread(target=follow, args=(daemon, events), daemon=True)
    reader.start()

    def look(status):
        schemas.check("Status", status)
        assert status["message"] == f"{status['state']}: {'; '.join(status['clauses'])}", status
        parts = [status["reason"], *status["notes"]]
        assert all(part in status["clauses"] for part in parts if part), status
        seen.add(status["state"])
        explanation = daemon.json("/v1/explain")
        schemas.check("Explanation", explanation)
        if explanation["state"] == status["state"]:
            assert explanation["since"] == status["since"], (explanation, status)
        schemas.check("Syncs", daemon.json("/v1/syncs?limit=1000"))
        schemas.check("Syncs", daemon.json("/v1/syncs?resources=true"))
        schemas.check("Changes", daemon.json("/v1/changes?since=0&limit=1000"))

    def sync(expected, **wish):
        status = daemon.sync(**wish)
        assert status["state"] == expected, status
        look(status)
        return status

    # The first sync waits at page 1.
    status = daemon.until(lambda status: (status["sync"]["current"] or {}).get("in_flight"))
    assert status["state"] == "syncing" and status["sync"]["current"]["phase"] == "discovering", status
    assert status["cache"]["snapshot"] is None
    look(status)
    schemas.check("Problem", json.loads(daemon.ask("GET", "/readyz").body))
    joined = daemon.ask("POST", "/v1/sync")
    schemas.check("Accepted", json.loads(joined.body))
    upstream.release()
    look(daemon.until(lambda status: status["state"] == "idle"))
    assert daemon.ask("GET", "/readyz").body == b"ok\n"

    upstream.answer(500)
    sync("degraded")
    upstream.answer(403)
    sync("degraded")
    upstream.answer()
    upstream.list(replaced={4: '{"id":4,"name":17}'})
    status = sync("degraded")
    assert status["sync"]["last"]["rejected"] == 1, status
    upstream.list(replaced={})
    sync("idle")

    # The sync is in the middle of the pages.
    upstream.change(latency=0.05)
    daemon.ask("POST", "/v1/sync")
    look(daemon.until(lambda status: (status["sync"]["current"] or {}).get("pages_done", 0) > 3))
    daemon.until(lambda status: status["state"] == "idle")
    upstream.change(latency=0)

    upstream.answer(401, token=400)
    status = sync("unauthorized")
    assert status["token"]["state"] == "unauthorized" and status["token"]["last_error"], status
    upstream.answer()
    sync("idle", retry_session=True)

    daemon.process.send_signal(signal.SIGHUP)
    wait_for(events, "config.reloaded")
    # Held by the gate, the sync is there to be stopped.
    upstream.hold()
    daemon.ask("POST", "/v1/sync")
    daemon.until(lambda status: (status["sync"]["current"] or {}).get("in_flight"))
    assert daemon.stop() == 0
    upstream.release()
    reader.join(10)

    names = set()
    for name, data in events:
        schemas.check("EventName", name)
        schemas.check("Event", data)
        ends = name in ["sync.published", "sync.unchanged", "sync.failed", "sync.cancelled"]
        schemas.check("SyncEnd" if ends else "Happening", data)
        names.add(name)
    assert {"sync.published", "sync.unchanged", "sync.failed", "token.failed", "token.refreshed", "page.retried",
            "page.fetched", "config.reloaded", "daemon.stopping"} <= names, names
    assert seen == {"idle", "syncing", "degraded", "unauthorized"}, seen
    return f"{len(events)} events of {len(names)} kinds; starting and stopping pass too quickly to be caught here"


def follow(daemon, events):
    with daemon.connect() as client:
        client.send("GET /v1/events HTTP/1.0\r\n\r\n")
        client.read_to(b"\r\n\r\n")
        client.bytes = client.bytes.partition(b"\r\n\r\n")[2]
        try:
            while True:
                block, _, client.bytes = client.read_to(b"\n\n").partition(b"\n\n")
                fields = dict(line.split(": ", 1) for line in block.decode().split("\n"))
                events.append((fields["event"], json.loads(fields["data"])))
        except EOFError:
            return


def wait_for(events, name):
    wait_until(lambda: any(event == name for event, _ in list(events)), name)
