"""The permissions of the page, and its treatment of hostile data."""

import contextlib
import json
import socket
import socketserver
import threading
from pathlib import Path

from relay import Relay
from site_of_page import LIVE, SECLUSION, Site, Web, check_visit

# Each would run, or load, if it became HTML.
HOSTILE = ("<img src=//evil.example/x onerror=window.ran=1><script>window.ran=1</script>\"'&lt;{{sentence}}"
           "\u202e\u200f\u200e\u061c\u200b\U000e0041")
# Enumerations and other members that are not free text.
PLAIN = {"state", "outcome", "phase", "flow", "proof", "at", "event"}
CAUGHT = """
addEventListener('securitypolicyviolation', (event) => { (window.caught ??= []).push(event.violatedDirective); });
"""


def run(lines, program, folder, driver):
    with Site(program, folder / "site") as site:
        lines.check("Page, 46: its headers allow only its own parts, and each part has its type",
                    lambda: headers(site))
        lines.check("Page, 46: the browser blocks what the policy forbids, even for a script of the page",
                    lambda: policy(site, driver))
        lines.check("46: a site whose name is made to mean this machine reads nothing of the status socket",
                    lambda: rebinding(site, driver, "status.sock"))
        lines.check("46: another site's page reads and shows nothing, and opens the page by a link only",
                    lambda: elsewhere(site, driver))
        lines.check("Page, 51: hostile names are text: they run and load nothing, and do not turn its direction",
                    lambda: hostile(site, driver, folder))
        lines.check("Page: texts of 4,000 letters without a space make it neither wide nor tall",
                    lambda: long(site, driver, folder))


def headers(site):
    for path, kind in [
        ("/", "text/html; charset=utf-8"), ("/page.css", "text/css; charset=utf-8"),
        ("/page.js", "text/javascript; charset=utf-8"), ("/page.svg", "image/svg+xml"),
    ]:
        answer = site.daemon.ask("GET", path)
        assert answer.status == 200 and answer.headers["content-type"] == kind, answer
        policy = answer.headers["content-security-policy"].split("; ")
        assert "default-src 'self'" in policy and "unsafe" not in str(policy), policy
        answer.problem(405) if (answer := site.daemon.ask("POST", path)) else None
        head = site.daemon.ask("HEAD", path)
        assert head.status == 200 and head.headers["content-type"] == kind, head


    for path in ["/", "/page.js", "/v1/status", "/v1/syncs", "/metrics", "/healthz", "/openapi.json", "/nothing"]:
        answer = site.daemon.ask("GET", path)
        for name, value in SECLUSION.items():
            assert value in answer.headers[name], (path, answer)


def policy(site, driver):
    with driver.browser() as browser:
        site.web.open(browser)
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


class Port(Relay):
    """A port that leads to a socket, as `rosterd-metrics.socket` does; before that, its owner's own page is there."""

    def __init__(self, path):
        self.path, self.page = path, None
        super().__init__()

    def carry(self, client):
        # A browser connects before it has a request; the request decides which server answers.
        with client, contextlib.suppress(OSError):
            first = client.recv(65536)
            if page := self.page:
                head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n"
                return client.sendall(f"{head}Connection: close\r\n\r\n{page}".encode())
            with socket.socket(socket.AF_UNIX) as daemon:
                daemon.connect(self.path)
                daemon.sendall(first)
                self.join(client, daemon)


# The status and text that a script reads at each path.
READ = """
const done = arguments[arguments.length - 1], [origin, options] = arguments;
Promise.all(['/', '/v1/status', '/v1/changes?since=0', '/v1/syncs', '/v1/explain', '/metrics', '/healthz', '/page.js']
  .map((path) => fetch(origin + path, options).then(async (answer) => [answer.status, await answer.text()])
    .catch((error) => [0, String(error)]))).then(done);
"""


def rebinding(site, driver, name):
    with Port(str(Path(site.daemon.socket).with_name(name))) as port, driver.browser(names=["evil.example"]) as browser:
        port.page = "<!doctype html><title>evil</title>"
        browser.go(f"http://evil.example:{port.port}/")
        port.page = None
        read = browser.wait_for(READ, "", {})
        assert [status for status, _ in read] == [403] * 8, read
        assert all("no name of loopback" in text for _, text in read), read
        # A name of loopback opens it.
        browser.go(f"http://localhost:{port.port}/")
        browser.until(LIVE)


def elsewhere(site, driver):
    with Port(site.daemon.socket) as port, Port(site.daemon.socket) as other:
        other.page = "<!doctype html><title>elsewhere</title>"
        origin = f"http://127.0.0.1:{port.port}"
        with driver.browser() as browser:
            browser.go(f"http://localhost:{other.port}/")
            for options in [{}, {"mode": "no-cors"}]:
                read = browser.wait_for(READ, origin, options)
                assert all(status == 0 for status, _ in read), read
            browser.run("""
                for (const [name, path] of [['img', '/page.svg'], ['script', '/page.js'], ['iframe', '/']]) {
                  const node = document.createElement(name);
                  node.addEventListener('load', () => { node.dataset.loaded = true; });
                  node.src = arguments[0] + path;
                  document.body.append(node);
                }""", origin)
            browser.until("document.querySelector('iframe').dataset.loaded")
            loaded = browser.run("return [...document.querySelectorAll('[data-loaded]')].map((one) => one.localName)")
            assert loaded == ["iframe"], "something was loaded"
            assert browser.run("return document.querySelector('iframe').contentDocument") is None
            browser.run("location.href = arguments[0]", origin + "/")
            browser.until(LIVE)
            assert browser.run("return location.href") == origin + "/"


class Liar(socketserver.ThreadingUnixStreamServer):
    """A daemon whose every text is hostile; answers that are not JSON are the real daemon's."""

    daemon_threads = True

    def __init__(self, path, real, mark=HOSTILE):
        liar = self
        self.mark = mark
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
            told = {(key if key in SHAPE else key + self.mark): self.lie(item, key) for key, item in value.items()}
            if "state" in told and "clauses" in told:
                told["state"] = "degraded"
                told["upstream"]["client_certificate"] = {"not_after": "2199-12-31T00:00:00.000Z"}
            return told
        if isinstance(value, list):
            return [self.lie(item, name) for item in value]
        if isinstance(value, str) and name not in PLAIN and not name.endswith("_at"):
            return value + self.mark
        return self.mark if name in ("last_error", "error") else value

    def stream(self, out):
        out.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for name in ["token.failed", "page.fetched", "sync.failed", HOSTILE]:
            data = json.dumps({"at": "2026-01-01T00:00:00.000Z", "sync": 1, "resource": HOSTILE, "error": HOSTILE})
            out.write(f"id: {HOSTILE}\nevent: {name}\ndata: {data}\n\n".encode())
            out.flush()
        self.reading.wait(60)


# The members that the page accesses by name, without those of objects with free names.
SHAPE = set()


def shape(value):
    if isinstance(value, dict):
        for name, item in value.items():
            SHAPE.add(name)
            shape(item)
    elif isinstance(value, list):
        for item in value:
            shape(item)


def long(site, driver, folder):
    """An address of upstream's may be as long as it likes."""
    liar = Liar(str(folder / "long.sock"), site.daemon, "x" * 4000)
    try:
        with Web(site.program, str(folder / "long.sock")) as web:
            for width, script in [(1440, True), (360, True), (1440, False), (360, False)]:
                with driver.browser(width=width, script=script) as browser:
                    web.open(browser)
                    if script:
                        browser.until(LIVE)
                        browser.until("document.getElementById('told').innerText")
                    wide, tall = browser.run("""
                        const page = document.documentElement;
                        return [page.scrollWidth - innerWidth, page.scrollHeight]""")
                    assert wide <= 0 and tall < 6 * 900, (width, script, wide, tall)
    finally:
        liar.reading.set()
        liar.shutdown()
        liar.server_close()


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
            web.open(browser)
            browser.until(LIVE)
            browser.until("document.getElementById('list').children.length === 3")
            browser.until("document.getElementById('told').innerText")
            # The reason of the last sync is above the history, unless a reader chooses that sync.
            browser.run("""
                const key = new KeyboardEvent('keydown', { key: 'End', bubbles: true });
                document.getElementById('history').dispatchEvent(key)""")
            browser.until("document.getElementById('told').innerText.includes('<img src=')")
            for place in ["#sentence", "#upstream", "#foot", "#told", "#list", "#why"]:
                assert "<img src=" in browser.text(place), (place, browser.text(place))
            assert "the client certificate expires in" in browser.text("#upstream"), browser.text("#upstream")
            # Marks that turn the direction of text, and invisible ones, are replaced, in attributes too.
            marks = browser.run("""
                const html = document.documentElement.outerHTML;
                const mark = html.match(/[\\u061c\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\u{e0041}]/u);
                return [mark?.index ?? null, html.includes('\\ufffd')]""")
            assert marks == [None, True], marks
            assert browser.run("return [window.ran ?? null, window.caught ?? null]") == [None, None]
            assert browser.run("return document.querySelectorAll('img, main script, b img').length") == 0
            assert browser.run("return document.documentElement.scrollWidth - innerWidth") <= 0
            check_visit(browser, web.origin)
    finally:
        liar.reading.set()
        liar.shutdown()
        liar.server_close()
