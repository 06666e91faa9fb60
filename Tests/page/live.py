"""The page during events: syncs, failures, restarts, many resources, many events."""

import json
import signal
import time

from site_of_page import LIVE, Site, Web, check_visit
from programs import wait_until
from simulator import LATER_PAGES
from support import Daemon, Nginx

PAGES = 52  # of the three lists
# The progress of the bar as drawn, and as announced to screen readers.
BAR = """(() => {
  const bar = document.getElementById('bar');
  const drawn = bar.firstChild.getBoundingClientRect().width / bar.getBoundingClientRect().width;
  return [Math.round(drawn * 52), Number(bar.ariaValueNow ?? -1), Number(bar.ariaValueMax ?? -1)];
})()"""

# The bars of the three lists, whose totals are known.
TOLD = """(() => {
  const texts = [...document.querySelectorAll('#list [role=progressbar]')].map((one) => one.ariaValueText);
  return texts.length === 3 && texts.every((text) => /^\\d+ of (42|7|3) pages$/.test(text));
})()"""

FULL = """[...document.querySelectorAll('#list [role=progressbar]')]
  .filter((one) => one.ariaValueMax && one.ariaValueNow === one.ariaValueMax).length"""


def run(lines, program, folder, driver, pictures):
    with Site(program, folder / "site") as site:
        for name, test in [
            ("during a sync the bars move and the counts grow, and its end is shown", running),
            ("a failed sync is shown, and so is the next successful one", failing),
            ("the age of the data counts", counting),
            ("47: a daemon that stops is shown; a new one is followed from the last event on", restart),
            ("47: after a sleep of the machine it asks again, from the last event on, without an alarm", asleep),
            ("47: it says from its first request on that the daemon does not answer, and tries again", unanswered),
            ("47: it reports a daemon that hangs within 10 s", hanging),
            ("a hidden page keeps no stream open", hidden),
            ("it asks for a new address of rosterctl web if the old one is not valid any more", superseded),
        ]:
            lines.check(f"Page: {name}", lambda test=test: test(site, driver, pictures))
            site.reset()
    lines.check("Page: it shows credentials that upstream refuses",
                lambda: unauthorized(program, folder / "token", driver, pictures))
    lines.check("Page: a hundred resources, each with its bar",
                lambda: many(program, folder / "many", driver, pictures))
    lines.check("Page: a resource that is called constructor has its own numbers",
                lambda: constructor(program, folder / "constructor", driver))
    lines.check("Page: 10,000 events are drawn in frames and leave no memory behind",
                lambda: events(program, folder / "events", driver))


def running(site, driver, pictures):
    with site.visit(driver) as browser:
        site.upstream.hold(LATER_PAGES)
        site.daemon.ask("POST", "/v1/sync")
        number = site.daemon.status()["sync"]["current"]["id"]
        browser.until("document.body.dataset.state === 'syncing'")
        seen = []
        for let, done in [(7, 10), (15, 25), (15, 40)]:
            site.upstream.let(let)
            # The animation of the bar takes some time.
            browser.until(f"{BAR}.join() === '{done},{done},{PAGES}'", f"the bar at {done}")
            seen.append(browser.text("#sentence"))
            browser.until(TOLD, "the bars of resources are told")
        assert seen == [f"{done} of {PAGES} pages" for done in (10, 25, 40)], seen
        assert browser.text("#next") == "after this one"
        browser.picture(pictures / "syncing-1440.png")
        site.upstream.release()
        browser.until(f"document.querySelector('#sync-{number}')")
        browser.until("document.body.dataset.state === 'idle'")
        assert browser.text("#told").split("\n")[-1].endswith("52 requests"), browser.text("#told")
        assert f"sync {number} unchanged in" in browser.text("#told")
        assert browser.run("return document.getElementById('bar').ariaValueText") == "no sync runs"


def failing(site, driver, pictures):
    with site.visit(driver) as browser:
        site.upstream.answer(503)
        status = site.daemon.sync()
        browser.until("document.body.dataset.state === 'degraded'")
        number = status["sync"]["last"]["id"]
        kind = browser.until(f"document.querySelector('#sync-{number} rect:not(.hit)')?.getAttribute('class')")
        assert kind == "failed", kind
        browser.until("!document.getElementById('why').hidden")
        assert f"Sync {number} failed" in browser.text("#sentence") and "503" in browser.text("#sentence")
        assert browser.run("return document.title") == "degraded · rosterd"
        assert "degraded: " in browser.run("return document.getElementById('announced').textContent")
        explained = browser.text("#why")
        assert "readers see" in explained and "what to do" in explained and "Sync" not in explained, explained
        browser.picture(pictures / "degraded-1440.png")
        site.upstream.answer()
        site.upstream.spoil(2)
        site.daemon.sync()
        browser.until("/could not be stored/.test(document.getElementById('sentence').innerText)")
        assert "6 records" in browser.text("#sentence"), browser.text("#sentence")
        browser.until("/rosterctl rejects/.test(document.getElementById('why').innerText)")
        browser.picture(pictures / "rejected-1440.png")
        site.upstream.spoil(0)
        site.daemon.sync()
        browser.until("document.body.dataset.state === 'idle' && document.getElementById('why').hidden")


def counting(site, driver, _):
    with site.visit(driver) as browser:
        age = "parseInt(document.getElementById('age').innerText)"
        site.daemon.sync()
        first = browser.until(f"{age} < 3 && {age} + 1") - 1
        browser.until(f"{age} >= {first + 2}", "the age counts")
        left = browser.text("#next")
        assert left.startswith(("in 59 min", "in 1 h")), left


def streams(browser):
    """The requests for the stream so far: the Last-Event-ID of each, or None."""
    return [
        {name.lower(): value for name, value in request["headers"].items()}.get("last-event-id")
        for request in browser.asked() if request["url"].endswith("/v1/events")]


def restart(site, driver, pictures):
    with site.visit(driver, gone=True) as browser:
        site.daemon.sync()
        browser.until("document.body.dataset.state === 'idle'")
        before = browser.run("return document.querySelectorAll('[role=option]').length")
        site.daemon.stop()
        browser.until("document.body.dataset.state === 'lost'")
        assert "What stands here is older" in browser.text("#sentence"), browser.text("#sentence")
        assert browser.run("return document.title") == "no answer · rosterd"
        browser.picture(pictures / "lost-1440.png")
        site.start()
        site.daemon.until(lambda status: status["state"] == "idle")
        browser.until("document.body.dataset.state === 'idle'")
        assert "rosterd was started again at" in browser.text("#note"), browser.text("#note")
        # The events of the new daemon include those of its first sync.
        browser.until(f"document.querySelectorAll('[role=option]').length === {before + 1}")
        asked = streams(browser)
        assert len(asked) > 1 and asked[0] is None and asked[-1], asked


def asleep(site, driver, _):
    with site.visit(driver) as browser:
        site.daemon.sync()
        browser.until("document.body.dataset.state === 'idle'")
        before = len(streams(browser))
        browser.run("""
            window.states = new Set();
            new MutationObserver(() => states.add(document.body.dataset.state))
              .observe(document.body, {attributes: true});
            const real = Date.now; Date.now = () => real() + 3600e3""")
        found = []

        def again():
            found[:] = streams(browser)
            return len(found) > before

        wait_until(again, "the stream is asked for again")
        assert found[-1], found
        number = site.daemon.sync()["sync"]["last"]["id"]
        # A short sync may begin and end within one frame, so that the state does not change.
        browser.until(f"document.querySelector('#sync-{number}') && document.body.dataset.state === 'idle'")
        assert browser.run("return states.has('lost')") is False, browser.run("return [...states]")


def unanswered(site, driver, pictures):
    with site.visit(driver, script=True, gone=True) as browser:
        inside = browser.run("return location.href")
        browser.tell("Network.enable")
        browser.tell("Network.setBlockedURLs", urls=["*/v1/*"])
        browser.go(inside)
        browser.until("document.body.dataset.state === 'lost'")
        sentence = browser.text("#sentence")
        assert "rosterd does not answer. What stands here is older" in sentence, sentence
        assert "--socket" not in browser.text("body")
        assert browser.run("return document.title") == "no answer · rosterd"
        browser.picture(pictures / "unanswered-1440.png")
        browser.tell("Network.setBlockedURLs", urls=[])
        browser.until(LIVE)
        browser.until("document.body.dataset.state === 'idle'")


def hanging(site, driver, _):
    with site.visit(driver, gone=True) as browser:
        browser.until("document.body.dataset.state === 'idle'")
        site.daemon.process.send_signal(signal.SIGSTOP)
        try:
            start = time.monotonic()
            browser.until("document.body.dataset.state === 'lost'")
            took = time.monotonic() - start
            assert "rosterd does not answer" in browser.text("#sentence"), browser.text("#sentence")
        finally:
            site.daemon.process.send_signal(signal.SIGCONT)
        assert took < 10, took
        browser.until("document.body.dataset.state === 'idle'")
    return f"after {took:.1f} s"


def hidden(site, driver, _):
    with site.visit(driver) as browser:
        before = site.daemon.descriptors()
        # Another tab before it.
        own = browser.ask("GET", "/window")
        other = browser.ask("POST", "/window/new", type="tab")["handle"]
        browser.ask("POST", "/window", handle=other)
        wait_until(lambda: site.daemon.descriptors() < before, "the stream is closed")
        site.daemon.sync()
        number = site.daemon.status()["sync"]["last"]["id"]
        browser.ask("POST", "/window", handle=own)
        browser.until(f"document.querySelector('#sync-{number}')")


def superseded(site, driver, _):
    web = Web(site.program, site.daemon.socket)
    with driver.browser() as browser:
        web.open(browser)
        browser.until(LIVE)
        assert browser.run("return location.search") == "", "the token stands in the address"
        web.__exit__()
        browser.until("document.body.dataset.state === 'lost'")
        with Web(site.program, site.daemon.socket, "--port", str(web.port)):
            browser.until(
                "/open the address that rosterctl web prints now/.test(document.getElementById('sentence').innerText)")
        check_visit(browser, web.origin, ("net::ERR_", "403 (Forbidden)"))


def unauthorized(program, folder, driver, pictures):
    flow = {"ROSTERD_AUTH_FLOW": "oauth2_refresh", "ROSTERD_AUTH_TOKEN_URL": "/token"}
    with Site(program, folder, **flow) as site, site.visit(driver) as browser:
        assert browser.text("#token") == "valid", browser.text("#token")
        assert "expires in" in browser.text("#token-more"), browser.text("#token-more")
        refusal = json.dumps({"error": "invalid_grant", "error_description": "<b>gone</b>"})
        site.upstream.answer(401, token=400, body=refusal)
        site.daemon.sync()
        browser.until("document.body.dataset.state === 'unauthorized'")
        assert browser.text("#token") == "unauthorized", browser.text("#token")
        assert "invalid_grant" in browser.text("#sentence"), browser.text("#sentence")
        browser.picture(pictures / "unauthorized-1440.png")
        browser.until("/rosterd login/.test(document.getElementById('reasons').innerText)")
        browser.until("/retry-session/.test(document.getElementById('reasons').innerText)")
        for width in [360, 1280]:
            browser.size(width, 900)
            browser.until(f"document.querySelector('#history svg').viewBox.baseVal.width < {width}")
            browser.picture(pictures / f"unauthorized-{width}.png")
            # The cause is the headline; the steps are in its explanation.
            text = " ".join(browser.text(part) for part in ["#sentence", "#why", "#told"])
            assert "unless a credential file has changed" in browser.text("#next-more"), browser.text("#next-more")
            assert text.count("invalid_grant") == 1 and text.count("--retry-session") == 1, text
            cut = browser.run("""return [...document.querySelectorAll('#sentence, #why li, #told')]
                .filter((one) => one.scrollHeight > one.clientHeight + 1).map((one) => one.innerText)""")
            assert not cut, (width, cut)
            broken = browser.run("""return [...document.querySelectorAll('.whole')]
                .filter((one) => one.getClientRects().length > 1).map((one) => one.innerText)""")
            assert not broken, (width, broken)
            labels = browser.run("""return [...document.querySelectorAll('#history text')]
                .map((one) => one.getBoundingClientRect()).map((one) => [one.left, one.right, one.top, one.bottom])""")
            over = [(a, b) for a in labels for b in labels if a is not b
                    and a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]]
            assert not over, (width, over)


def constructor(program, folder, driver):
    with Site(program, folder, {"constructor": 2, "character": 1}) as site:
        site.daemon.sync()
        with site.visit(driver) as browser:
            # A sync that fails has no numbers by resource.
            site.upstream.answer(503)
            last = site.daemon.sync()["sync"]["last"]
            browser.until(f"document.querySelector('#sync-{last['id']}')")
            # The row of a sync can be on the page before the status that the sync has ended.
            browser.until("document.getElementById('list').innerText.split('always as many').length === 3")
            assert "NaN" not in browser.text("#list"), browser.text("#list")


def many(program, folder, driver, pictures):
    lists = {f"resource_{number}": 1 + number % 5 for number in range(100)}
    with Site(program, folder, lists) as site:
        for more in range(6):
            site.upstream.grow(more % 4)
            site.daemon.sync()
        for width in [1440, 360]:
            with site.visit(driver, width=width) as browser:
                assert browser.run("return document.querySelectorAll('#list li').length") == 100
                assert browser.run("return document.documentElement.scrollWidth - innerWidth") <= 0
                site.upstream.hold(LATER_PAGES)
                site.daemon.ask("POST", "/v1/sync")
                site.upstream.let(50)
                browser.until(f"{FULL} >= 20")
                whole = browser.run(f"return {FULL}")
                assert whole < 100, whole
                browser.picture(pictures / f"many-{width}.png")
                site.upstream.release()
                browser.until("document.body.dataset.state === 'idle'")
    return f"{whole} of 100 bars are full when 50 pages have come that had to wait"


# Counts the frames, and the time during which the page did not respond, from before the page's own script.
WATCH = """
window.frames_ = 0; window.longest = 0; window.told_ = 0;
const ask = window.requestAnimationFrame;
window.requestAnimationFrame = (draw) => ask((time) => { window.frames_ += 1; draw(time); });
const parse = JSON.parse;
JSON.parse = (text, ...more) => { if (text.startsWith('{"at"')) window.told_ += 1; return parse(text, ...more); };
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
}).observe({ type: 'longtask' });
"""


def events(program, folder, driver):
    folder.mkdir()
    # Pages of one record each, because this test is about events.
    nginx = Nginx(folder / "pages", 2500, size=1)
    try:
        with Daemon(program, folder / "rosterd", nginx.base, ROSTERD_SYNC_CONCURRENCY="32") as daemon:
            daemon.until(lambda status: status["state"] == "idle")
            with Web(program, daemon.socket) as web, driver.browser() as browser:
                browser.tell("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
                web.open(browser)
                browser.until(LIVE)
                heaps, took = [], 0.0
                for turn in range(5):
                    nginx.serve("ba"[turn % 2])
                    status = daemon.sync()
                    assert status["state"] == "idle", status["message"]
                    browser.until(f"document.querySelector('#sync-{status['sync']['last']['id']}')")
                    browser.until("document.body.dataset.state === 'idle'")
                    heaps.append(browser.heap())
                told, frames, longest = browser.run("return [window.told_, window.frames_, window.longest]")
                took = browser.run("return performance.now() / 1000")
                check_visit(browser, web.origin)
    finally:
        nginx.stop()
    # Events that wait too long for the reader are dropped, and the status replaces them. So not every event has to
    # arrive.
    assert told >= 10000, told
    assert frames < took * 70, (frames, took)
    growth = heaps[-1] - heaps[0]
    assert growth < 1_000_000, heaps
    return (f"{told} events in {took:.0f} s, {frames} frames, the longest task {longest:.0f} ms; "
            f"heap {heaps[0] / 1e6:.2f} MB after 2,500, {heaps[-1] / 1e6:.2f} MB after all")
