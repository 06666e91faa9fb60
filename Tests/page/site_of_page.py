"""What the tests of the page share: a daemon, `rosterctl web` before it, what every visit of a browser has to be."""

import contextlib
import http.client
import re
import subprocess
import urllib.parse

from programs import end
from support import Daemon
from upstream import Upstream

# Three lists, as the demo has them.
LISTS = {"character": 42, "location": 7, "episode": 3}
# Of the lists' records, without asking upstream first: these tests are about the page.
SETTINGS = {"ROSTERD_RETRY_MAX_RETRIES": "0", "ROSTERD_SYNC_MAX_REMOVAL": "100"}
# Its text is gone, and the first frame is drawn.
LIVE = "!document.getElementById('text') && document.getElementById('token').textContent"
# What a browser says of a daemon that is gone, and of nothing else.
GONE = ("net::ERR_", "502 (Bad Gateway)")

# With every answer.
SECLUSION = {
    "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "frame-ancestors 'none'", "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}


class Web:
    """rosterctl web."""

    def __init__(self, program, socket, *arguments, **environment):
        rosterctl = program.with_name("rosterctl")
        self.process = subprocess.Popen(
            [rosterctl, "web", "--socket", socket, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=environment or None)
        self.renew()
        self.origin = f"http://127.0.0.1:{self.port}"
        # They are set by `enter`.
        self.cookie = self.folder = None

    def renew(self):
        """Takes the address that was printed next."""
        line = self.process.stdout.readline().strip()
        assert line, self.process.stderr.read()
        self.address = line.rpartition(" ")[2]
        parts = urllib.parse.urlsplit(self.address)
        assert parts.hostname == "127.0.0.1", self.address
        self.port, self.token = parts.port, urllib.parse.parse_qs(parts.query)["token"][0]

    def enter(self):
        """As a browser: with the token, once. From then on `ask` sends the cookie."""
        answer = self.ask("GET", "/?token=" + self.token)
        assert answer.status == 200, answer.text
        self.cookie = answer.getheader("set-cookie")
        self.folder = re.search('url=([^"]*)', answer.text)[1]
        self.renew()
        return answer

    def open(self, browser):
        browser.go(self.address)
        self.renew()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, method, target, body=None, **headers):
        """The answer, its body read."""
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
        self.upstream = Upstream(lists)
        folder.mkdir()
        (folder / "refresh_token").write_text("first")
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
        self.web.__exit__()
        self.upstream.open()
        self.daemon.__exit__()
        self.upstream.stop()

    @contextlib.contextmanager
    def visit(self, driver, gone=False, **wanted):
        """The page in a browser of its own, live. In the end: nothing was asked of another host, the console is empty.

        `gone`: the daemon was, meanwhile.
        """
        with driver.browser(**wanted) as browser:
            self.web.open(browser)
            if wanted.get("script", True):
                browser.until(LIVE, "the page is live")
            yield browser
            check_visit(browser, self.web.origin, GONE if gone else ())

    def reset(self):
        """As at the beginning, whatever a test has left."""
        upstream = self.upstream
        upstream.status, upstream.rejected, upstream.more = None, 0, 0
        upstream.reopen()
        if self.daemon.process.poll() is not None:
            self.start()
        self.daemon.until(lambda status: status["sync"]["current"] is None)
        if self.daemon.status()["state"] != "idle":
            self.daemon.sync()


def check_visit(browser, origin, but=()):
    strangers = [request["url"] for request in browser.asked() if not request["url"].startswith(origin + "/")]
    # Of the browser's own, before the first page.
    strangers = [url for url in strangers if not url.startswith(("data:", "chrome:", "about:"))]
    assert not strangers, strangers
    told = [line for line in browser.console() if not any(part in line for part in but)]
    assert not told, told
