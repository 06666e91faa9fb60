"""HTTP from correct and incorrect clients, on every path."""

import json
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from support import Characters, Client, Daemon

GETS = ["/v1/status", "/v1/explain", "/v1/syncs", "/metrics", "/healthz", "/readyz", "/openapi.json"]
TYPES = {
    "/v1/status": "application/json", "/v1/explain": "application/json", "/v1/syncs": "application/json",
    "/openapi.json": "application/json",
    "/metrics": "text/plain; version=0.0.4; charset=utf-8", "/healthz": "text/plain; charset=utf-8",
    "/readyz": "text/plain; charset=utf-8",
}
GET = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def run(lines, program, folder):
    upstream = Characters(pages=3)
    with Daemon(program, folder / "protocol", upstream.base, ROSTERD_SYNC_CONCURRENCY="2") as daemon:
        daemon.until(lambda status: status["state"] == "idle")
        for name, test in [
            ("every path answers GET and HEAD, with its type and no-store", gets),
            ("404 and 405 with Allow, as problem+json, for every path and method", wrong),
            ("S12.1: a bad limit or max_age is 400, and so is an unknown parameter", parameters),
            ("targets: percent escapes, absolute form, an empty query", targets),
            ("S10.1, S10.3, S10.4: a request that another site may have caused is 403, others are not", strangers),
            ("S11.2: the metrics socket answers monitors and the page, and is 403 for everything else", metrics_socket),
            ("HTTP/1.0 with and without keep-alive, with and without Host; HTTP/1.1 needs one Host", versions),
            ("keep-alive, Connection: close, pipelined requests in order, blank lines between", connections),
            ("Expect: 100-continue gets 100, or a refusal", expectation),
            ("an unknown upgrade is answered, and the connection closed", upgrades),
            ("S12.2: the body of POST /v1/sync is missing, JSON or chunks; any other is 400", bodies),
            ("S2.2, S2.3: heads over 16 KiB are 431 and bodies over 64 KiB 413, in one piece or in bytes", sizes),
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


def wrong(daemon):
    with daemon.connect() as client:
        for path in ["/v1", "/v1/", "/v2/status", "/v1/status/", "/V1/STATUS", "*", "/%2e%2e/etc/passwd",
                     "/v1/nothing?x=1"]:
            for method in ["GET", "POST", "OPTIONS", "DELETE"]:
                client.ask(method, path).problem(404)
        for path in [*GETS, "/v1/events"]:
            for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]:
                answer = client.ask(method, path)
                answer.problem(405)
                assert answer.headers["allow"] == "GET, HEAD", answer
        for method in ["GET", "PUT", "DELETE"]:
            answer = client.ask(method, "/v1/sync")
            answer.problem(405)
            assert answer.headers["allow"] == "POST", answer
        head = client.ask("HEAD", "/v1/sync")
        assert head.status == 405 and not head.body, head
        assert client.ask("HEAD", "/nothing").status == 404
        assert client.ask("GET", "/healthz").status == 200


def parameters(daemon):
    with daemon.connect() as client:
        for limit in ["0", "1001", "abc", "-1", "", "1.5", "%2B5", "+5", "99999999999999999999", "1e2", "0x10", "%F1"]:
            assert "limit" in client.ask("GET", f"/v1/syncs?limit={limit}").problem(400)
        client.ask("GET", "/v1/syncs?limit").problem(400)
        for limit in ["1", "1000", "%31", "007"]:
            assert client.ask("GET", f"/v1/syncs?limit={limit}").status == 200, limit
        for age in ["soon", "", "-1h", "5", "1h30m", "1%20h", "h", "1e3s", "1H"]:
            assert "max_age" in client.ask("GET", f"/readyz?max_age={age}").problem(400)
        for age in ["1h", "90d", "1.5h", "100000ms", "1%68"]:
            assert client.ask("GET", f"/readyz?max_age={age}").status == 200, age
        assert "verified" in client.ask("GET", "/readyz?max_age=1ms").problem(503)
        assert client.ask("HEAD", "/readyz?max_age=1ms").status == 503
        for target, name in [("/v1/status?x=1&limit=3", "x"), ("/v1/syncs?limit=3&&unknown=1", "unknown"),
                             ("/healthz?max_age=1h", "max_age"), ("/metrics?a=b", "a"), ("/?v=1", "v"),
                             ("/v1/changes?since=0&lim%69ts=1", "limits")]:
            assert f"has no parameter {name};" in client.ask("GET", target).problem(400), target
        assert "allow_removal" in client.ask("POST", "/v1/sync?allow_removal=true").problem(400)
        assert client.ask("GET", "/v1/syncs?&&limit=3&").status == 200
        assert len(json.loads(client.ask("GET", "/v1/syncs?li%6dit=1").body)["syncs"]) == 1


def targets(daemon):
    with daemon.connect() as client:
        for target in ["/%76%31/status", "/v1/%73tatus?", "http://localhost/v1/status",
                       "HTTP://127.0.0.1:81/v1/status?", "/v1/status?", "http://localhost", "http://[::1]:9718?"]:
            assert client.ask("GET", target).status == 200, target
        assert "other.example" in client.ask("GET", "http://other.example:81/v1/status").problem(403)
        for target in ["/%", "/%zz", "/%00", "/v1%"]:
            client.ask("GET", target).problem(404)


def strangers(daemon):
    with daemon.connect() as client:
        for host in ["evil.example", "evil.example:9718", "192.0.2.1"]:
            for path in ["/v1/status", "/v1/changes?since=0", "/", "/openapi.json"]:
                client.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
                assert f"the Host {host} is no name of loopback" in client.read().problem(403)
        for name, value in [("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")]:
            for path in ["/v1/status", "/metrics", "/healthz"]:
                assert value in client.ask("GET", path, **{name: value}).problem(403)
        assert client.ask("GET", "/v1/status", Origin="http://localhost").status == 200
        for host in ["127.0.0.1:9718", "localhost:9718", "[::1]:9718", "prometheus-target.example:9718"]:
            client.send(f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n")
            assert client.read().status == 200, host


def metrics_socket(daemon):
    path = str(Path(daemon.socket).with_name("status-metrics.sock"))
    assert os.stat(path).st_mode == os.stat(daemon.socket).st_mode
    with Client(path) as client:
        for target in ["/", "/page.js", "/v1/status", "/v1/syncs?limit=1", "/v1/explain", "/metrics", "/healthz"]:
            assert client.ask("GET", target).status == 200, target
        for method, target in [("GET", "/v1/changes?since=0"), ("GET", "/v1/%63hanges?since=0"), ("POST", "/v1/sync"),
                               ("POST", "/v1/cancel"), ("GET", "/openapi.json"), ("GET", "/v1/changes/")]:
            client.ask(method, target).problem(403)


def versions(daemon):
    with daemon.connect() as client:
        client.send("GET /healthz HTTP/1.0\r\n\r\n")
        assert client.read_all().endswith(b"ok\n")
    with daemon.connect() as client:
        for _ in range(2):
            client.send("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            answer = client.read()
            assert answer.status == 200 and answer.headers["connection"] == "keep-alive", answer
        client.send("GET /v1/events HTTP/1.0\r\n\r\n")
        assert b"chunked" not in client.read_to(b"\r\n\r\n")
    for head in ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n"]:
        with daemon.connect() as client:
            client.send(head)
            assert "Host" in client.read().problem(400)
            assert client.read_all() == b""
    for text, status in [("GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 505), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
                         ("FLY / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
                         ("get / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
                         ("PROPFIND /v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405),
                         ("FLY /\r\n\r\n", 400), ("\x00" * 40, 400)]:
        with daemon.connect() as client:
            client.send(text)
            client.read().problem(status)
            assert client.read_all() == b"", text


def connections(daemon):
    with daemon.connect() as client:
        for _ in range(3):
            answer = client.ask("GET", "/healthz")
            assert answer.status == 200 and "connection" not in answer.headers, answer
        answer = client.ask("GET", "/healthz", Connection="close")
        assert answer.headers["connection"] == "close", answer
        assert client.read_all() == b""
    with daemon.connect() as client:
        targets = ["/healthz", "/v1/syncs", "/nothing", "/v1/status", "/v1/syncs?limit=0", "/metrics"] * 50
        client.send("".join(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n" for target in targets))
        codes = [client.read().status for _ in targets]
        assert codes == [200, 200, 404, 200, 400, 200] * 50, codes
        # Bodies between the requests, and blank lines, which have no meaning.
        post = "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\nGET /x"
        chunks = ("POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "4\r\n\r\n\r\n\r\n2\r\nab\r\n0\r\nX: y\r\n\r\n")
        client.send((post + GET + "\r\n\r\n" + chunks + GET + "\n" + GET) * 20)
        codes = [client.read().status for _ in range(100)]
        assert codes == [404, 200, 404, 200, 200] * 20, codes
        client.send("\r\n")
        assert client.ask("GET", "/healthz").status == 200
    with daemon.connect() as client:
        for byte in GET + post + chunks + GET:
            client.send(byte)
        assert [client.read().status for _ in range(4)] == [200, 404, 404, 200]


def expectation(daemon):
    with daemon.connect() as client:
        head = "POST /v1/sync HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
        client.send(head + "2\r\n\r\n")
        assert client.read().status == 100
        client.send("{}")
        assert client.read().status == 202
        client.send(head + "70000\r\n\r\n")
        client.read().problem(413)


def upgrades(daemon):
    for head in ["GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                 "HTTP2-Settings: AA\r\n\r\n",
                 "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"]:
        with daemon.connect() as client:
            client.send(head + "more" * 10)
            answer = client.read()
            assert answer.status == 200 and answer.headers["connection"] == "close", answer
            assert client.read_all() == b""
    with daemon.connect() as client:
        client.send("CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n" + GET)
        client.read().problem(404)
        assert client.read_all() == b""


def bodies(daemon):
    with daemon.connect() as client:
        for body in [b"", b"{}", b" { } ", b'{"allow_removal": true}',
                     b'{"retry_session": false, "allow_removal": false}', b'{"allow_remova\\u006c": true}']:
            answer = client.ask("POST", "/v1/sync", body)
            assert answer.status == 202, (body, answer)
            accepted = json.loads(answer.body)
            assert set(accepted) == {"sync", "joined"} and accepted["sync"] > 0, accepted
        for body in [b"[]", b"{", b"null", b"true", b'"x"', b"allow_removal=true", b'{"allow_removal": "yes"}',
                     b'{"allow_removal": 1}', b'{"allow_removal": null}', b'{"alow_removal": true}',
                     b'{"allow_removal": true} x', b"\xff\xfe", b'{"allow_removal":true,}',
                     b'\xef\xbb\xbf{"allow_removal":true}', '{"allow_removal":true}'.encode("utf-16"),
                     b'{"allow_removal":true,"allow_removal":false}', b"[" * 60000]:
            # S12.2: an unknown key is named.
            why = "alow_removal" if b"alow" in body else "JSON object"
            assert why in client.ask("POST", "/v1/sync", body).problem(400), body
        answer = client.ask(
            "POST", "/v1/sync", b'{"allow_removal": true}', Content_Type="application/x-www-form-urlencoded")
        assert answer.status == 202, answer
        client.send('POST /v1/sync HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'
                    '3\r\n{"a\r\n14\r\nllow_removal": true \r\n1\r\n}\r\n0\r\n\r\n')
        assert client.read().status == 202
        # A body where none is expected is read and forgotten.
        assert client.ask("GET", "/healthz", b"x" * 60000).status == 200


def sizes(daemon):
    for head in ["Content-Length: 65537\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n10001\r\n" + "x" * 65537,
                 "Transfer-Encoding: chunked\r\n\r\n" + "1000\r\n" + ("x" * 4096 + "\r\n1000\r\n") * 17]:
        with daemon.connect() as client:
            client.send("POST /v1/sync HTTP/1.1\r\nHost: localhost\r\n" + head)
            client.read().problem(413)
            assert client.read_all() == b""
    with daemon.connect() as client:
        assert client.ask("POST", "/nothing", b"x" * 65536).status == 404
    long = "x" * 16384
    for head in [f"GET /{long}", f"GET / HTTP/1.1\r\n{long}", f"GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n",
                 "GET / HTTP/1.1\r\n" + "x: y\r\n" * 4000 + "\r\n"]:
        with daemon.connect() as client:
            client.send(head)
            client.read().problem(431)
            assert client.read_all() == b""
    with daemon.connect() as client:
        with suppress(BrokenPipeError):
            for byte in "GET /" + long:
                client.send(byte)
        client.read().problem(431)
    with daemon.connect() as client:
        assert client.ask("GET", "/healthz", X="x" * 16000).status == 200


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
