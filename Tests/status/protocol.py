"""HTTP from real clients. The Swift tests of RosterStatus have the limits, the refusals and the bodies of requests."""

import json
import os
import shutil
import subprocess

from support import Characters, Daemon

GETS = ["/v1/status", "/v1/explain", "/v1/syncs", "/metrics", "/healthz", "/readyz", "/openapi.json"]
TYPES = {
    "/v1/status": "application/json", "/v1/explain": "application/json", "/v1/syncs": "application/json",
    "/openapi.json": "application/json",
    "/metrics": "text/plain; version=0.0.4; charset=utf-8", "/healthz": "text/plain; charset=utf-8",
    "/readyz": "text/plain; charset=utf-8",
}
GET = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def run(lines, program, folder):
    upstream = Characters(program, pages=3)
    with Daemon(program, folder / "protocol", upstream.base, ROSTERD_SYNC_CONCURRENCY="2") as daemon:
        daemon.until(lambda status: status["state"] == "idle")
        for name, test in [
            ("every path answers GET and HEAD, with its type and no-store", gets),
            ("targets: percent escapes, absolute form, an empty query", targets),
            ("HTTP/1.0 with and without Host; HTTP/1.1 needs one Host", versions),
            ("a connection has one request, with a body, chunks, or a blank line before it", connections),
            ("Expect: 100-continue gets 100, or a refusal", expectation),
            ("POST is for root and the daemon's own user; others may read (SO_PEERCRED)", peers),
            ("curl, with its h2c offer, and rosterctl understand the answers", curl),
        ]:
            lines.check("HTTP: " + name, lambda test=test: test(daemon))
    upstream.stop()


def gets(daemon):
    with daemon.connect() as client:
        for path in GETS:
            answer = client.ask("GET", path)
            assert answer.status == 200 and answer.headers["content-type"] == TYPES[path], (path, answer)
            assert answer.headers["cache-control"] == "no-store" and answer.headers["date"].endswith("GMT"), answer
            if "json" in TYPES[path]:
                json.loads(answer.body)
            head = client.ask("HEAD", path)
            assert head.status == 200 and not head.body, (path, head)
            assert head.headers["content-type"] == answer.headers["content-type"], (path, head)
            # A number in it may have grown a digit since.
            assert abs(int(head.headers["content-length"]) - len(answer.body)) < 64, (path, head, answer)
        head = client.ask("HEAD", "/v1/events")
        assert head.status == 200 and head.headers["content-type"] == "text/event-stream", head
        # No part of a body follows.
        assert client.ask("GET", "/healthz").body == b"ok\n"
    with daemon.connect() as client:
        client.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = client.read_to(b"\r\n\r\n").decode().lower()
        assert "content-type: text/event-stream\r\n" in head and "transfer-encoding: chunked" in head, head


def targets(daemon):
    with daemon.connect() as client:
        for target in ["/%76%31/status", "/v1/%73tatus?", "http://localhost/v1/status",
                       "HTTP://127.0.0.1:81/v1/status?", "/v1/status?", "http://localhost", "http://[::1]:9718?"]:
            assert client.ask("GET", target).status == 200, target
        assert "other.example" in client.ask("GET", "http://other.example:81/v1/status").problem(403)
        for target in ["/%", "/%zz", "/%00", "/v1%"]:
            client.ask("GET", target).problem(404)


def versions(daemon):
    with daemon.connect() as client:
        client.send("GET /healthz HTTP/1.0\r\n\r\n")
        assert client.read_all().endswith(b"ok\n")
    with daemon.connect() as client:
        client.send("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        answer = client.read()
        assert answer.status == 200 and answer.headers["connection"] == "close", answer
        assert client.read_all() == b""
    with daemon.connect() as client:
        client.send("GET /v1/events HTTP/1.0\r\n\r\n")
        assert b"chunked" not in client.read_to(b"\r\n\r\n")
    for head in ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n"]:
        with daemon.connect() as client:
            client.send(head)
            assert "Host" in client.read().problem(400)
            assert client.read_all() == b""
    for text, status in [("GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 400), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
                         ("FLY / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                         ("get / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                         ("PROPFIND /v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405),
                         ("FLY /\r\n\r\n", 400), ("\x00" * 40, 400)]:
        with daemon.connect() as client:
            client.send(text)
            client.read().problem(status)
            assert client.read_all() == b"", text


def connections(daemon):
    post = "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\nGET /x"
    chunks = ("POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
              "4\r\n\r\n\r\n\r\n2\r\nab\r\n0\r\nX: y\r\n\r\n")
    for text, status in [(GET, 200), (post, 404), (chunks, 404), ("\r\n" + GET, 200), (GET * 50, 200)]:
        for pieces in [[text], text]:
            with daemon.connect() as client:
                try:
                    for piece in pieces:
                        client.send(piece)
                except ConnectionError:
                    assert text == GET * 50
                answer = client.read()
                assert answer.status == status and answer.headers["connection"] == "close", (text, answer)
                assert client.read_all() == b"", text


def expectation(daemon):
    with daemon.connect() as client:
        head = "POST /v1/sync HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
        client.send(head + "2\r\n\r\n")
        assert client.read().status == 100
        client.send("{}")
        assert client.read().status == 202
    with daemon.connect() as client:
        client.send(head + "70000\r\n\r\n")
        client.read().problem(413)


def peers(daemon):
    if os.geteuid() != 0:
        return "not root: not tried with another user"
    # A path that every user can reach.
    folder = daemon.folder
    for part in [folder, *folder.parents]:
        if not os.stat(part).st_mode & 1:
            part.chmod(part.stat().st_mode | 1)
    curl = shutil.which("curl")
    command = [
        "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", curl, "-sS", "-w", " %{http_code}",
        "--unix-socket", daemon.socket]

    def ask(*arguments):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done
        return done.stdout

    refused = ask("-X", "POST", "http://localhost/v1/sync")
    assert refused.endswith(" 403") and json.loads(refused[:-4])["status"] == 403, refused
    assert ask("-d", '{"allow_removal": true}', "http://localhost/v1/sync").endswith(" 403")
    for path in GETS:
        assert ask(f"http://localhost{path}").endswith(" 200"), path


def curl(daemon):
    command = [shutil.which("curl"), "-sS", "-w", " %{http_code}", "--unix-socket", daemon.socket]
    for options in [[], ["--http2"], ["--http1.0"], ["-I"], ["--compressed"], ["-H", "Connection: close"]]:
        done = subprocess.run(
            [*command, *options, "http://localhost/healthz", "http://localhost/readyz"], capture_output=True, text=True,
            timeout=30)
        assert done.returncode == 0 and done.stdout.count(" 200") >= 2, (options, done)
    control = os.path.join(os.path.dirname(daemon.program), "rosterctl")
    done = subprocess.run([control, "status", "--socket", daemon.socket], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and "idle" in done.stdout, done
