"""Headless Chromium with its driver, controlled by W3C WebDriver (w3.org/TR/webdriver2)."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from programs import end, free_port, wait_until

PATIENCE = 20
KEYS = {"Tab": "\ue004", "ArrowLeft": "\ue012", "ArrowRight": "\ue014", "Home": "\ue011", "End": "\ue010"}


class Driver:
    """One chromedriver for any number of browsers."""

    def __init__(self):
        program = shutil.which("chromedriver")
        assert program, "chromedriver is not installed: apt-get install chromium chromium-driver"
        self.port = free_port()
        self.process = subprocess.Popen(
            [program, f"--port={self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.answers, "chromedriver answers")

    def answers(self):
        try:
            return self.ask("GET", "/status")["ready"]
        except OSError:
            return False

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method, headers={"Content-Type": "application/json"},
            data=json.dumps(body or {}).encode() if method == "POST" else None)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"].splitlines()[0]) from None

    def browser(self, **wanted):
        return Browser(self, **wanted)

    def stop(self):
        end(self.process)


class Browser:
    """A window with its own profile. `script` and `motion` can be switched off, as a user may do.

    `names` of hosts lead to this machine.
    """

    def __init__(self, driver, width=1440, height=900, dark=False, script=True, motion=True, names=()):
        self.driver = driver
        self.profile = tempfile.TemporaryDirectory(prefix="rosterd-page-")
        arguments = [
            "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
            "--disable-background-networking", "--disable-component-update", "--js-flags=--expose-gc",
            "--enable-precise-memory-info", f"--user-data-dir={self.profile.name}",
        ] + (["--no-sandbox"] if os.geteuid() == 0 else [])
        if names:
            rules = ", ".join(f"MAP {name} 127.0.0.1" for name in names)
            arguments.append(f"--host-resolver-rules={rules}")
        preferences = {} if script else {"profile.managed_default_content_settings.javascript": 2}
        session = driver.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": {"args": arguments, "prefs": preferences}}}})
        self.path = f"/session/{session['sessionId']}"
        # The settings apply from the first page on, and allow widths below those of any window.
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        if not motion:
            features.append({"name": "prefers-reduced-motion", "value": "reduce"})
        self.tell("Emulation.setEmulatedMedia", features=features)
        self.size(width, height)
        self.requests = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.ask("DELETE", self.path)
        self.profile.cleanup()

    def ask(self, method, path, **body):
        return self.driver.ask(method, self.path + path, body)

    def tell(self, command, **parameters):
        """Sends a command of the DevTools protocol."""
        return self.ask("POST", "/goog/cdp/execute", cmd=command, params=parameters)

    def size(self, width, height):
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def go(self, address):
        self.ask("POST", "/url", url=address)

    def run(self, script, *arguments):
        return self.ask("POST", "/execute/sync", script=script, args=arguments)

    def wait_for(self, script, *arguments):
        """The value that the script passes to its last argument, a function."""
        return self.ask("POST", "/execute/async", script=script, args=arguments)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def until(self, script, what=None):
        """Waits until the expression is true, and returns its value."""
        found = []

        def holds():
            found[:] = [self.run(f"return {script}")]
            return found[0]

        wait_until(holds, what or script, PATIENCE)
        return found[0]

    def press(self, *keys):
        actions = [
            {"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def point(self, x, y):
        self.ask("POST", "/actions", actions=[{
            "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
            "actions": [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}]}])

    def picture(self, path, whole=True):
        """A PNG of the window, or of the whole page."""
        parameters = {"format": "png"}
        if whole:
            width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
            parameters |= {
                "captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}}
        Path(path).write_bytes(base64.b64decode(self.tell("Page.captureScreenshot", **parameters)["data"]))

    def heap(self):
        """Number of bytes in use after a garbage collection."""
        self.tell("HeapProfiler.collectGarbage")
        return self.tell("Runtime.getHeapUsage")["usedSize"]

    def console(self):
        """The console's messages of level SEVERE and WARNING since the last call."""
        entries = self.ask("POST", "/se/log", type="browser")
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def asked(self):
        """All requests so far, from the browser's own log."""
        for entry in self.ask("POST", "/se/log", type="performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"])
        return self.requests
