"""Who may see the page, and what it does with what is put into it."""

import json
import socketserver
import subprocess
import threading
from pathlib import Path

from site_of_page import LIVE, Site, Web, check_visit
from programs import wait_until

# Each would run, or load, if it became HTML.
HOSTILE = "<img src=//evil.example/x onerror=window.ran=1><script>window.ran=1</script>\"'&lt;{{sentence}}\u202e"
# Enumerations, and what is no text of anybody's.
PLAIN = {"state", "outcome", "phase", "flow", "proof", "at", "event"}
CAUGHT = """
addEventListener('securitypolicyviolation', (event) => { (window.caught ??= []).push(event.violatedDirective); });
"""


def run(lines, program, folder, driver):
    with Site(program, folder / "site") as site:
        lines.check("Page: its headers allow nothing but its own, and its parts are what they say",
                    lambda: headers(site))
        lines.check("Page: what the policy forbids is not done, even by a script of the page's",
                    lambda: policy(site, driver))
        lines.check("Page: names that are HTML are text: nothing runs, nothing is loaded, nothing is reported",
                    lambda: hostile(site, driver, folder))
        lines.check("Web: without the token 403, as another Host 403, POST 405, another path 404, a sentence each",
                    lambda: refusals(site))
        lines.check("Web: the cookie holds after the address; another port's rosterctl web has another",
                    lambda: cookie(site, driver))
        lines.check("Web: --open opens the page in the browser, with an address that works once",
                    lambda: opened(site, folder))
        lines.check("Web: no daemon is 3, a port that is taken 73, a bad port 64", lambda: misuse(site, folder))
        lines.check("Web: Ctrl-C ends it with 0", lambda: interrupted(site))


def headers(site):
    for path, kind in [
        ("/", "text/html; charset=utf-8"), ("/page.css", "text/css; charset=utf-8"),
        ("/page.js", "text/javascript; charset=utf-8"), ("/page.svg", "image/svg+xml"),
    ]:
        answer = site.daemon.ask("GET", path)
        assert answer.status == 200 and answer.headers["content-type"] == kind, answer
        policy = answer.headers["content-security-policy"].split("; ")
        assert "default-src 'self'" in policy and "unsafe" not in str(policy), policy
        assert answer.headers["x-content-type-options"] == "nosniff", answer
        assert answer.headers["referrer-policy"] == "no-referrer", answer
        answer.problem(405) if (answer := site.daemon.ask("POST", path)) else None
        head = site.daemon.ask("HEAD", path)
        assert head.status == 200 and head.headers["content-type"] == kind, head


def policy(site, driver):
    with driver.browser() as browser:
        browser.go(site.address)
        browser.until(LIVE)
        done = browser.run("""
            try { document.body.innerHTML = '<b>x</b>'; return 'text became HTML'; } catch { }
            try { document.createElement('script').textContent = '1'; return 'text became script'; } catch { }
            document.body.style.color = '';
            const style = document.createElement('style');
            style.textContent = 'body { display: none }';
            document.head.append(style);
            if (getComputedStyle(document.body).display === 'none') return 'text became style';
            return 'refused';""")
        assert done == "refused", done
        browser.run("fetch('http://127.0.0.1:9/').catch(() => { window.refused = true; })")
        browser.until("window.refused")
        assert any("Content Security Policy" in line for line in browser.console())


class Liar(socketserver.ThreadingUnixStreamServer):
    """A daemon whose every text is hostile; what is no JSON is the real one's."""

    daemon_threads = True

    def __init__(self, path, real):
        liar = self
        self.real = real
        self.reading = threading.Event()

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                line = self.rfile.readline()
                if not line:
                    return  # rosterctl web only looked whether anybody is there
                target = line.split()[1].decode()
                while self.rfile.readline().strip():
                    pass
                liar.answer(target, self.wfile)

        super().__init__(path, Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def answer(self, target, out):
        if target == "/v1/events":
            return self.stream(out)
        answer = self.real.ask("GET", target)
        body = answer.body
        if target == "/v1/explain":
            body = json.dumps({
                "state": "degraded", "what": "x", "since": "2026-01-01T00:00:00.000Z", "readers": "x", "todo": "x",
                "concerned": [{"kind": "x", "name": "x", "resource": "x", "page": 3, "reason": "x"}],
                "next_at": None}).encode()
        if target.startswith("/v1/"):
            body = json.dumps(self.lie(json.loads(body))).encode()
        names = ["content-type", "content-security-policy", "x-content-type-options"]
        head = "".join(f"{name}: {answer.headers[name]}\r\n" for name in names if name in answer.headers)
        if target == "/v1/explain":
            head = "content-type: application/json\r\n"
        out.write(f"HTTP/1.1 200 OK\r\n{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)

    def lie(self, value, name=""):
        if isinstance(value, dict):
            told = {(key if key in SHAPE else key + HOSTILE): self.lie(item, key) for key, item in value.items()}
            if "state" in told and "message" in told:
                told["state"] = "degraded"
            return told
        if isinstance(value, list):
            return [self.lie(item, name) for item in value]
        if isinstance(value, str) and name not in PLAIN and not name.endswith("_at"):
            return value + HOSTILE
        return HOSTILE if name in ("last_error", "error") else value

    def stream(self, out):
        out.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for name in ["token.failed", "page.fetched", "sync.failed", HOSTILE]:
            data = json.dumps({"at": "2026-01-01T00:00:00.000Z", "sync": 1, "resource": HOSTILE, "error": HOSTILE})
            out.write(f"id: {HOSTILE}\nevent: {name}\ndata: {data}\n\n".encode())
            out.flush()
        self.reading.wait(60)


# Members that the page knows by name: those of objects that are no map of names.
SHAPE = set()


def shape(value):
    if isinstance(value, dict):
        for name, item in value.items():
            SHAPE.add(name)
            shape(item)
    elif isinstance(value, list):
        for item in value:
            shape(item)


def hostile(site, driver, folder):
    status = site.daemon.status()
    shape(status)
    shape(site.daemon.json("/v1/syncs"))
    SHAPE.update(["syncs", "resources", "current", "what", "since", "readers", "concerned", "todo"])
    SHAPE.update(["kind", "name", "resource", "page", "reason"])
    liar = Liar(str(folder / "liar.sock"), site.daemon)
    try:
        with Web(site.program, str(folder / "liar.sock")) as web, driver.browser() as browser:
            browser.tell("Page.addScriptToEvaluateOnNewDocument", source=CAUGHT)
            browser.go(web.address)
            browser.until(LIVE)
            browser.until("document.getElementById('list').children.length === 3")
            browser.until("document.getElementById('told').innerText")
            for place in ["#sentence", "#upstream", "#foot", "#told", "#list", "#why"]:
                assert "<img src=" in browser.text(place), (place, browser.text(place))
            assert browser.run("return [window.ran ?? null, window.caught ?? null]") == [None, None]
            assert browser.run("return document.querySelectorAll('img, main script, b img').length") == 0
            assert browser.run("return document.documentElement.scrollWidth - innerWidth") <= 0
            check_visit(browser, web.origin)
    finally:
        liar.reading.set()
        liar.shutdown()
        liar.server_close()


def refusals(site):
    web = site.web
    token = f"?token={web.token}"
    wrong = "the token is missing or wrong: open the address that rosterctl web has printed"
    elsewhere = f"this is at 127.0.0.1:{web.port} only, not at another name"
    for method, target, named, status, words in [
        ("GET", "/", {}, 403, wrong),
        ("GET", "/?token=" + "0" * 32, {}, 403, wrong),
        ("GET", "/" + token, {"Host": "evil.example"}, 403, elsewhere),
        ("GET", "/" + token, {"Host": f"evil.example:{web.port}"}, 403, elsewhere),
        ("POST", "/v1/sync" + token, {}, 405, "rosterctl web only reads: it takes GET and HEAD"),
        ("POST", "/v1/sync", {}, 405, "rosterctl web only reads: it takes GET and HEAD"),
        ("DELETE", "/" + token, {}, 405, "rosterctl web only reads: it takes GET and HEAD"),
        ("GET", "/v1/sync" + token, {}, 404, "nothing is at /v1/sync"),
        ("GET", "/favicon.ico" + token, {}, 404, "nothing is at /favicon.ico"),
        ("GET", "/healthz" + token, {}, 404, "nothing is at /healthz"),
    ]:
        answer = web.ask(method, target, b"{}" if method == "POST" else None, **named)
        assert (answer.status, answer.text) == (status, words + "\n"), (method, target, answer.status, answer.text)
        assert answer.getheader("set-cookie") is None, answer.getheaders()
    for path in ["/", "/page.css", "/page.js", "/page.svg", "/v1/status", "/v1/syncs", "/v1/changes", "/metrics"]:
        target = path + token + ("&since=0" if path == "/v1/changes" else "")
        answer = web.ask("GET", target)
        assert answer.status == 200 and answer.text, (target, answer.status)
        assert web.ask("GET", target, Host=f"localhost:{web.port}").status == 200
        head = web.ask("HEAD", target)
        assert head.status == 200 and not head.text, target
    before = site.daemon.status()["sync"]["last"]["id"]
    assert before == len(site.daemon.json("/v1/syncs?limit=1000")["syncs"]), "a sync was asked for"
    count = len(json.loads(web.ask("GET", f"/v1/syncs?limit=1&token={web.token}").text)["syncs"])
    assert count == 1, "the query is passed on"


def cookie(site, driver):
    answer = site.web.ask("GET", "/?token=" + site.web.token)
    field = answer.getheader("set-cookie")
    assert field == f"rosterd-{site.web.port}={site.web.token}; Path=/; HttpOnly; SameSite=Strict", field
    with site.visit(driver) as browser:
        assert browser.run("return location.href") == site.web.origin + "/"
        assert browser.run("return document.cookie") == ""
        browser.go(site.web.origin + "/")
        browser.until(LIVE)
        with Web(site.program, site.daemon.socket) as other:
            browser.go(other.address)
            browser.until(LIVE)
            browser.go(site.web.origin + "/")
            browser.until(LIVE)
            # Of the other port, which the rest does not expect.
            browser.requests = [one for one in browser.asked() if not one["url"].startswith(other.origin)]


def opened(site, folder):
    tools = folder / "tools"
    tools.mkdir()
    said = folder / "opened"
    (tools / "xdg-open").write_text(f"#!/bin/sh\nprintf %s \"$1\" > {said}.new && mv {said}.new {said}\n")
    (tools / "xdg-open").chmod(0o755)
    with Web(site.program, site.daemon.socket, "--open", PATH=f"{tools}:/usr/bin:/bin") as web:
        wait_until(said.exists, "the browser is opened")
        address = Path(said).read_text()
        assert address.startswith(web.origin + "/?token=") and web.token not in address, address
        target = address.removeprefix(web.origin)
        first, again = web.ask("GET", target), web.ask("GET", target)
        assert first.status == 200 and web.token in first.getheader("set-cookie"), first.getheaders()
        assert again.status == 403, again.status
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
