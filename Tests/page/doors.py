"""The access to `rosterctl web`, and attacks by users without access."""

import contextlib
import http.server
import json
import re
import signal
import socket
import stat
import subprocess
import threading
import time
from pathlib import Path

from site_of_page import LIVE, SECLUSION, Site, Web
from programs import wait_until


def run(lines, program, folder, driver):
    with Site(program, folder / "site") as site:
        lines.check("46: 403 without the token or with another Host, 405 for POST, 404 for another path, in words",
                    lambda: refusals(site))
        lines.check("46: the cookie is valid after the address is used up; another port has another cookie",
                    lambda: cookie(site, driver))
        lines.check("46: a server on another port of 127.0.0.1 gets no cookie", lambda: neighbour(site, driver))
        lines.check("45: 1,000 half requests block no client and end no stream", lambda: half_requests(site))
        lines.check("45: a client that shuts its sending side down gets its answer", lambda: half_closed(site))
        lines.check("46: --open gives the browser a private file that opens the page once, and removes it",
                    lambda: opened(site, folder, driver))
        lines.check("Web: 3 without a daemon, 73 for a port in use, 64 for a bad port", lambda: misuse(site, folder))
        lines.check("Web: Ctrl-C ends it with 0", lambda: interrupted(site))


def refusals(site):
    web = site.web
    wrong = "the token is missing, wrong or used: open the address that rosterctl web prints now"
    elsewhere = f"this is at 127.0.0.1:{web.port} only, not at another name"

    def refuses(method, target, named, status, words):
        answer = web.ask(method, target, b"{}" if method == "POST" else None, **named)
        assert (answer.status, answer.text) == (status, words + "\n"), (method, target, answer.status, answer.text)
        assert answer.getheader("set-cookie") is None, answer.getheaders()
        for name, value in SECLUSION.items():
            assert value in answer.getheader(name), (target, answer.getheaders())

    token = f"?token={web.token}"
    refuses("GET", "/", {}, 403, wrong)
    refuses("GET", "/v1/changes?since=0", {}, 403, wrong)
    refuses("GET", "/?token=" + "0" * 32, {}, 403, wrong)
    refuses("GET", "/" + token, {"Host": f"evil.example:{web.port}"}, 403, elsewhere)
    refuses("GET", "/nothing" + token, {}, 404, "nothing is at /nothing")
    web.enter()
    refuses("GET", "/" + token, {}, 403, wrong)
    for method, target, named, status, words in [
        ("GET", web.folder, {"Host": "evil.example"}, 403, elsewhere),
        ("GET", web.folder, {"Host": f"evil.example:{web.port}"}, 403, elsewhere),
        ("GET", web.folder, {"Cookie": f"rosterd-{web.port}={web.token}"}, 403, wrong),
        ("POST", web.folder + "v1/sync", {}, 405, "rosterctl web only reads: it takes GET and HEAD"),
        ("POST", "/v1/sync", {}, 405, "rosterctl web only reads: it takes GET and HEAD"),
        ("DELETE", web.folder, {}, 405, "rosterctl web only reads: it takes GET and HEAD"),
        ("GET", web.folder + "v1/sync", {}, 404, "nothing is at /v1/sync"),
        ("GET", "/favicon.ico", {}, 404, "nothing is at /favicon.ico"),
        ("GET", web.folder + "healthz", {}, 404, "nothing is at /healthz"),
    ]:
        refuses(method, target, named, status, words)
    for path in ["", "page.css", "page.js", "page.svg", "v1/status", "v1/syncs", "v1/changes?since=0", "metrics"]:
        for target in [web.folder + path, "/" + path]:
            answer = web.ask("GET", target)
            assert answer.status == 200 and answer.text, (target, answer.status)
            assert web.ask("GET", target, Host=f"localhost:{web.port}").status == 200
            head = web.ask("HEAD", target)
            assert head.status == 200 and not head.text, target
    before = site.daemon.status()["sync"]["last"]["id"]
    assert before == len(site.daemon.json("/v1/syncs?limit=1000")["syncs"]), "a sync was asked for"
    count = len(json.loads(web.ask("GET", web.folder + "v1/syncs?limit=1").text)["syncs"])
    assert count == 1, "the query is passed on"
    # The daemon's own answer.
    refused = web.ask("GET", web.folder + "v1/syncs?lmit=1")
    assert refused.status == 400 and "no parameter lmit" in refused.text, refused.text


def cookie(site, driver):
    with Web(site.program, site.daemon.socket) as web:
        answer = web.enter()
        field = f"rosterd-{web.port}=[0-9a-f]{{32}}; Path=/[0-9a-f]{{32}}/; HttpOnly; SameSite=Strict"
        assert re.fullmatch(field, answer.getheader("set-cookie")), answer.getheaders()
    with site.visit(driver) as browser:
        inside = browser.run("return location.href")
        assert re.fullmatch(site.web.origin + "/[0-9a-f]{32}/", inside), inside
        assert browser.run("return document.cookie") == ""
        assert browser.run("return history.length") <= 2
        browser.go(inside)
        browser.until(LIVE)
        with Web(site.program, site.daemon.socket) as other:
            other.open(browser)
            browser.until(LIVE)
            browser.go(inside)
            browser.until(LIVE)
            # The rest expects no requests to the other port.
            browser.requests = [one for one in browser.asked() if not one["url"].startswith(other.origin)]


class Neighbour(http.server.BaseHTTPRequestHandler):
    """Another user's server on another port of 127.0.0.1; it records the cookies that it gets."""

    def do_GET(self):
        self.server.cookies.append(self.headers["cookie"])
        self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<!doctype html><p id=hello>hello")


def neighbour(site, driver):
    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Neighbour)
    other.cookies = []
    threading.Thread(target=other.serve_forever, daemon=True).start()
    try:
        with driver.browser() as browser:
            site.web.open(browser)
            browser.until(LIVE)
            for path in ["/", "/v1/status", "/" + "0" * 32 + "/"]:
                browser.go(f"http://127.0.0.1:{other.server_port}{path}")
                browser.until("document.getElementById('hello')")
        assert len(other.cookies) >= 3 and set(other.cookies) == {None}, other.cookies
    finally:
        other.shutdown()
        other.server_close()


def half_requests(site):
    """More connections than rosterctl web keeps, none with a complete request."""
    web = site.web
    web.enter()
    stream = socket.create_connection(("127.0.0.1", web.port))
    with contextlib.ExitStack() as stack:
        stack.callback(stream.close)
        stream.sendall((f"GET {web.folder}v1/events HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n"
                        f"Cookie: {web.cookie.split(';')[0]}\r\n\r\n").encode())
        assert b"200 OK" in stream.recv(4096)
        for number in range(1000):
            client = socket.create_connection(("127.0.0.1", web.port), timeout=20)
            stack.callback(client.close)
            client.sendall(b"GET / HTTP/1.1\r\nHost: ")
            if number % 100 == 99:
                start = time.monotonic()
                assert web.ask("GET", web.folder + "v1/status").status == 200
                assert time.monotonic() - start < 5, "blocked"
        # The stream was not closed to make room for another client.
        site.daemon.sync()
        stream.settimeout(20)
        assert b"event: sync." in stream.recv(65536)


def half_closed(site):
    """A client that has sent its request and closed its sending side (shutdown(2), as `nc -N`)."""
    web = site.web
    if not web.cookie:
        web.enter()
    for path, words in [("v1/status", b'"state"'), ("page.js", b"live();"), ("nothing", b"404 Not Found")]:
        with socket.create_connection(("127.0.0.1", web.port), timeout=20) as client:
            client.sendall((f"GET {web.folder}{path} HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n"
                            f"Cookie: {web.cookie.split(';')[0]}\r\n\r\n").encode())
            client.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: client.recv(65536), b""))
        assert words in answer, (path, answer)


def opened(site, folder, driver):
    tools = folder / "tools"
    tools.mkdir()
    said = folder / "opened"
    (tools / "xdg-open").write_text(f"#!/bin/sh\nprintf %s \"$1\" > {said}.new && mv {said}.new {said}\n")
    (tools / "xdg-open").chmod(0o755)
    runtime, temporary = folder / "runtime", folder / "temporary"
    runtime.mkdir(mode=0o700)
    temporary.mkdir()
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "TMPDIR": str(temporary), "XDG_RUNTIME_DIR": str(runtime)}

    @contextlib.contextmanager
    def opening(**changed):
        said.unlink(missing_ok=True)
        with Web(site.program, site.daemon.socket, "--open", **environment | changed) as web:
            wait_until(said.exists, "the browser is opened")
            file = Path(said.read_text())
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
            assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700, file
            yield web, file

    # The browser comes from a file. It sends the cookie (SameSite=Strict) only if the entrance page asks for the page's
    # folder.
    with opening() as (web, file), driver.browser() as browser:
        assert file.parent == runtime, file
        browser.go(file.as_uri())
        browser.until(LIVE, "the page is live")
        assert re.fullmatch(web.origin + "/[0-9a-f]{32}/", browser.run("return location.href"))
        wait_until(lambda: not file.exists(), "the file is removed")
    with opening() as (web, file):
        target = re.search('url=([^"]*)', file.read_text())[1].removeprefix(web.origin)
        assert target.startswith("/?token=") and web.token not in target, target
        first, again = web.ask("GET", target), web.ask("GET", target)
        assert first.status == 200 and first.getheader("set-cookie"), first.getheaders()
        assert again.status == 403, again.status
    # A folder that others may read is not the user's own (XDG Base Directory Specification).
    runtime.chmod(0o755)
    for number, code in [(signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]:
        with opening() as (web, file):
            assert file.parent.parent == temporary, file
            web.process.send_signal(number)
            assert web.process.wait(10) == code, web.process.returncode
            assert not list(temporary.iterdir()), "the folder is left"
    with Web(site.program, site.daemon.socket, "--open", PATH="/nonexistent") as web:
        line = web.process.stderr.readline()
        assert line.startswith("rosterctl: cannot open a browser (xdg-open): No such file"), line
        assert web.ask("GET", "/?token=" + web.token).status == 200


def misuse(site, folder):
    def ends(*arguments):
        done = subprocess.run(
            [site.program.with_name("rosterctl"), "web", *arguments], capture_output=True, text=True, timeout=20)
        return done.returncode, done.stdout, done.stderr

    code, out, error = ends("--socket", str(folder / "none.sock"))
    assert code == 3 and not out and "no daemon answers" in error, (code, out, error)
    code, out, error = ends("--socket", site.daemon.socket, "--port", str(site.web.port))
    assert code == 73 and not out and "Address already in use" in error and "--port" in error, (code, out, error)
    for port in ["65536", "-1", "x"]:
        code, out, error = ends("--socket", site.daemon.socket, f"--port={port}")
        assert code == 64 and not out, (port, code, out, error)


def interrupted(site):
    import signal

    with Web(site.program, site.daemon.socket) as web:
        assert web.ask("GET", "/?token=" + web.token).status == 200
        web.process.send_signal(signal.SIGINT)
        assert web.process.wait(10) == 0
