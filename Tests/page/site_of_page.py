"""The shared parts of the page's tests: a daemon, `rosterctl web`, and the rules for every visit of a browser."""

import contextlib
import http.client
import re
import subprocess
import urllib.parse

from programs import end, heed_signals
from simulator import PAGE_SIZE, TOKENS, Simulator
from support import Daemon

# Three lists, as the demo has them.
LISTS = {"character": 42, "location": 7, "episode": 3}
# These tests are about the page, so records are removed without a request to upstream.
SETTINGS = {"ROSTERD_RETRY_MAX_RETRIES": "0", "ROSTERD_SYNC_MAX_REMOVAL": "100"}
# The text without script is gone, and the first frame is drawn.
LIVE = "!document.getElementById('text') && document.getElementById('token').textContent"
# The browser's messages about a stopped daemon, and no others.
GONE = ("net::ERR_", "502 (Bad Gateway)")

# The headers of every answer.
SECLUSION = {
    "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "frame-ancestors 'none'", "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}


class Lists(Simulator):
    """An upstream with any number of lists."""

    def __init__(self, program, pages):
        super().__init__(program)
        # The number of pages by list.
        self.pages = pages
        self.change(tokens=TOKENS | {"isRequired": False}, hasValidators=False)
        for name in pages:
            self.list(name, record=f'{{"id":<n>,"name":"{name} <n>"}}', ids=self.ids(name))

    def ids(self, name, more=0):
        # There is room for ten more on the last page.
        return [*range(1, self.pages[name] * PAGE_SIZE - 9), *range(1_000_000, 1_000_000 + more)]

    def grow(self, more):
        """Adds this number of records to each list."""
        for name in self.pages:
            self.list(name, ids=self.ids(name, more))

    def spoil(self, count):
        """Makes the first records of each list such that they are rejected."""
        for name in self.pages:
            self.list(name, replaced=dict.fromkeys(range(1, count + 1), '{"id":"<b>not a number</b>","name":"x"}'))

    def configuration(self, text=""):
        """A rosterd.toml that pulls all lists."""
        resources = "".join(f"""
[resource.{name}]
path = "/{name}"
records = "/results"
[resource.{name}.pages]
last = "/info/pages"
[resource.{name}.columns]
id = {{ at = "/id", type = "integer" }}
name = "/name"
""" for name in self.pages)
        return text + resources


class Web:
    """rosterctl web."""

    def __init__(self, program, socket, *arguments, **environment):
        rosterctl = program.with_name("rosterctl")
        self.process = subprocess.Popen(
            [rosterctl, "web", "--socket", socket, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=environment or None, preexec_fn=heed_signals)
        self.renew()
        self.origin = f"http://127.0.0.1:{self.port}"
        # They are set by `enter`.
        self.cookie = self.folder = None

    def renew(self):
        """Takes the next printed address."""
        line = self.process.stdout.readline().strip()
        assert line, self.process.stderr.read()
        self.address = line.rpartition(" ")[2]
        parts = urllib.parse.urlsplit(self.address)
        assert parts.hostname == "127.0.0.1", self.address
        self.port, self.token = parts.port, urllib.parse.parse_qs(parts.query)["token"][0]

    def enter(self):
        """Enters as a browser: with the token, once. After that, `ask` sends the cookie."""
        answer = self.ask("GET", "/?token=" + self.token)
        assert answer.status == 200, answer.text
        self.cookie = answer.getheader("set-cookie")
        self.folder = re.search('url=([^"]*)', answer.text)[1]
        self.renew()
        return answer

    def open(self, browser):
        """Opens the page. The address leads to an entry page, which leads to the page by a meta refresh."""
        browser.go(self.address)
        browser.until(
            "document.readyState === 'complete' && document.styleSheets.length > 0", "the page and its style are there")
        self.renew()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, method, target, body=None, **headers):
        """The answer with its complete body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            fields = {name.replace("_", "-"): value for name, value in headers.items()}
            if self.cookie:
                fields.setdefault("Cookie", self.cookie.split(";")[0])
            connection.request(method, target, body, fields)
            answer = connection.getresponse()
            answer.text = answer.read().decode()
            return answer


class Site:
    """An upstream, its daemon and its page. `settings` by the names of environment variables."""

    def __init__(self, program, folder, lists=LISTS, configuration="", **settings):
        self.program, self.folder = program, folder
        self.upstream = Lists(program, lists)
        folder.mkdir()
        self.configuration = folder / "rosterd.toml"
        self.configuration.write_text(self.upstream.configuration(configuration))
        self.settings = SETTINGS | settings
        self.daemon = None
        self.start()
        self.daemon.until(lambda status: status["sync"]["last"])
        self.web = Web(program, self.daemon.socket)

    def start(self):
        self.daemon = Daemon(
            self.program, self.folder, self.upstream.base, configuration=self.configuration, **self.settings)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.ExitStack() as last:
            last.callback(self.upstream.stop)
            last.callback(self.daemon.__exit__)
            last.callback(self.web.__exit__)
            self.upstream.release()

    @contextlib.contextmanager
    def visit(self, driver, gone=False, **wanted):
        """The live page in a new browser. At the end, no request may have gone to another host, and the console must be
        empty.

        `gone`: true if the daemon was stopped during the visit.
        """
        with driver.browser(**wanted) as browser:
            self.web.open(browser)
            if wanted.get("script", True):
                browser.until(LIVE, "the page is live")
            yield browser
            check_visit(browser, self.web.origin, GONE if gone else ())

    def reset(self):
        """Restores the state of the beginning."""
        self.upstream.answer()
        self.upstream.spoil(0)
        self.upstream.grow(0)
        self.upstream.release()
        if self.daemon.process.poll() is not None:
            self.start()
        self.daemon.until(lambda status: status["sync"]["current"] is None)
        if self.daemon.status()["state"] != "idle":
            self.daemon.sync()


def check_visit(browser, origin, but=()):
    strangers = [request["url"] for request in browser.asked() if not request["url"].startswith(origin + "/")]
    # Requests of the browser itself, before the first page.
    strangers = [url for url in strangers if not url.startswith(("data:", "chrome:", "about:"))]
    assert not strangers, strangers
    told = [line for line in browser.console() if not any(part in line for part in but)]
    assert not told, told
