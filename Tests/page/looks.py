"""The look of the page: wide and narrow, light and dark, without script, by keyboard, with a screen reader."""

import random
import shutil

from simulator import LATER_PAGES
from site_of_page import Site

WIDTHS = [360, 1280, 1440, 2560]
# Relative luminance and contrast as WCAG 2.2 defines them. The ground is the colour under a text, mixed if it is
# translucent. A drawn part counts with its own colour.
CONTRAST = """
const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return [n[0], n[1], n[2], n[3] ?? 1]; };
const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
const light = (c) => c.slice(0, 3).map((v) => v / 255)
  .map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
const ground = (node) => {
  const layers = [];
  for (let at = node; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
};
const seen = (node) => node.checkVisibility() && node.getClientRects().length > 0;
const found = [];
for (const node of document.querySelectorAll('body *')) {
  if (!seen(node) || node.closest('symbol')) continue;
  const style = getComputedStyle(node);
  const hasText = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  if (hasText) {
    const isSVG = node instanceof SVGElement;
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ink = over(parse(isSVG ? style.fill : style.color), ground(node));
    found.push([ratio(ink, ground(node)), isLarge ? 3 : 4.5, node.textContent.trim().slice(0, 40)]);
  }
  if (node.matches('#history [role=option] > :not(.hit), .axis, .spark .line, #legend svg *')) {
    const inks = [style.fill, style.stroke].filter((ink) => ink !== 'none').map(parse);
    found.push([Math.max(...inks.map((ink) => ratio(ink, ground(node)))), 3, node.getAttribute('class')]);
  }
}
for (const bar of document.querySelectorAll('.bar > span, #gauge > span, #icon')) {
  const style = getComputedStyle(bar);
  const ink = bar.id === 'icon' ? getComputedStyle(document.getElementById('state')).color : style.backgroundColor;
  const under = bar.id === 'icon' ? ground(bar.closest('p')) : ground(bar.parentElement);
  if (seen(bar.parentElement)) found.push([ratio(parse(ink), under), 3, bar.parentElement.id || 'bar']);
}
return found;
"""


def run(lines, program, folder, driver, pictures, docs):
    with Site(
        program, folder / "site", ROSTERD_LIMIT_BUDGET="20000/1d", ROSTERD_AUTH_FLOW="oauth2_refresh",
        ROSTERD_AUTH_TOKEN_URL="/token",
    ) as site:
        live_through(site)
        for dark in [False, True]:
            lines.check(f"Page: {'dark' if dark else 'light'}, at {WIDTHS} pixels: nothing is cut off, contrast is AA",
                        lambda dark=dark: drawn(site, driver, pictures, dark))
        if docs:
            for name in ["page.png", "page-dark.png"]:
                shutil.copy(pictures / f"idle-1440-{'dark' if 'dark' in name else 'light'}.png", docs / name)
        lines.check("Page: without script it has the same facts as text, for each sync too",
                    lambda: textual(site, driver, pictures))
        lines.check("Page: the keyboard reaches every sync, and the focus is visible and never trapped",
                    lambda: keyboard(site, driver, pictures))
        lines.check("Page: at every width the six facts fill their rows", lambda: rows(site, driver, pictures))
        lines.check("Page: the pointer over a sync shows its sentence", lambda: pointer(site, driver))
        lines.check("Page: everything has a role and a name for a screen reader", lambda: spoken(site, driver))
        lines.check("Page: nothing moves if the user wants no motion", lambda: still(site, driver))


def live_through(site):
    """A history for the picture: all outcomes, more and fewer records, slow and fast."""
    chance, more = random.Random(7), 0
    upstream, daemon = site.upstream, site.daemon
    for number in range(104):
        upstream.change(latency=chance.choice([0, 0, 0, .002, .004]))
        if chance.random() < .18:
            more = min(10, max(0, more + chance.randrange(-6, 11)))
            upstream.grow(more)
        upstream.answer(503 if number in (31, 32, 71) else None)
        upstream.spoil(2 if number == 55 else 0)
        if number == 84:
            cancel(site)
        daemon.sync()
    upstream.change(latency=0)
    daemon.sync()


def cancel(site):
    site.upstream.hold(LATER_PAGES)
    site.daemon.ask("POST", "/v1/sync")
    site.upstream.let(20)
    running = site.daemon.until(lambda status: (status["sync"]["current"] or {}).get("pages_done", 0) > 5)
    site.daemon.ask("POST", "/v1/cancel")
    site.upstream.release()
    number = running["sync"]["current"]["id"]
    site.daemon.until(lambda status: status["sync"]["last"]["id"] == number and status["sync"]["last"])


def drawn(site, driver, pictures, dark):
    worst = 99
    for width in WIDTHS:
        with site.visit(driver, width=width, height=900, dark=dark) as browser:
            browser.until("document.querySelectorAll('[role=option]').length === 100")
            overflow = browser.run("return document.documentElement.scrollWidth - innerWidth")
            assert overflow <= 0, f"{width}: {overflow} pixels too wide"
            worst = min(worst, contrast(browser))
            if width == 1440:
                # The page as a user sees it after opening it.
                foot = "return Math.ceil(document.querySelector('footer').getBoundingClientRect().bottom)"
                browser.size(width, browser.run(foot) + 24)
            browser.picture(pictures / f"idle-{width}-{'dark' if dark else 'light'}.png")
    return f"the least contrast of a text is {worst:.1f}:1"


def contrast(browser):
    found = browser.run(CONTRAST)
    assert len(found) > 40, found
    bad = [(round(ratio, 2), needed, what) for ratio, needed, what in found if ratio < needed]
    assert not bad, bad
    return min(ratio for ratio, needed, _ in found if needed == 4.5)


def textual(site, driver, pictures):
    with site.visit(driver, script=False) as browser:
        # The pictures are for people. The test reads the HTML, because the driver's own scripts do not run either.
        browser.picture(pictures / "text-1440.png")
        browser.size(360, 900)
        browser.picture(pictures / "text-360.png")
    html = site.daemon.ask("GET", "/").body.decode()
    status = site.daemon.status()
    for fact in ["1,", "oauth2_refresh", "of 20,000 a day", "character", "sync ", status["cache"]["path"]]:
        assert fact in html, fact
    import html as escapes
    import re

    told = [escapes.unescape(text) for text in re.findall(r"<li><time>[^<]*</time>(.*)", html)]
    assert len(told) == 100, len(told)
    with site.visit(driver) as browser:
        drawn = browser.until("[...document.querySelectorAll('[role=option]')].map((one) => one.ariaLabel)")
    assert drawn == told[::-1], [pair for pair in zip(drawn, told[::-1], strict=True) if pair[0] != pair[1]][:3]
    return f"{len(told)} sentences are the same"


def keyboard(site, driver, pictures):
    with site.visit(driver) as browser:
        browser.press("Tab")
        assert browser.run("return document.activeElement.id") == "history"
        style = browser.run(
            "const style = getComputedStyle(document.activeElement); return [style.outlineStyle, style.outlineWidth]")
        assert style == ["solid", "2px"], style
        labels = browser.run("return [...document.querySelectorAll('[role=option]')].map((one) => one.ariaLabel)")
        way = [(None, -1), ("ArrowLeft", -2), ("ArrowLeft", -3), ("ArrowRight", -2), ("Home", 0), ("End", -1)]
        for key, place in way:
            if key:
                browser.press(key)
            chosen = browser.run("""
                const box = document.getElementById('history');
                const one = document.getElementById(box.getAttribute('aria-activedescendant'));
                return [one.ariaLabel, one.ariaSelected, document.querySelectorAll('[aria-selected=true]').length]""")
            assert chosen == [labels[place], "true", 1], (key, chosen)
            assert browser.text("#told").endswith(labels[place]), (key, browser.text("#told"))
        browser.picture(pictures / "keyboard-1440.png")
        browser.press("Tab")
        assert browser.run("return document.activeElement.id") != "history"
        assert browser.run("return document.querySelectorAll('button, form, input, a').length") == 0
    return f"{len(labels)} syncs"


def rows(site, driver, pictures):
    found = {}
    with site.visit(driver) as browser:
        for width in [320, 360, 560, 561, 768, 1024, 1159, 1160, 1280, 1440, 2560]:
            browser.size(width, 900)
            places = browser.run("return [...document.querySelectorAll('#facts > div')].map((one) => one.offsetTop)")
            found[width] = {places.count(place) for place in places}
            assert browser.run("return document.documentElement.scrollWidth - innerWidth") <= 0, width
            if width == 1280:
                browser.picture(pictures / "facts-1280.png")
        assert all(len(counts) == 1 for counts in found.values()), found
        assert found[360] == {2} and found[1024] == {3} and found[1280] == {6}, found


def pointer(site, driver):
    with site.visit(driver) as browser:
        for place in [10, 60]:
            label, x, y = browser.run("""
                const one = document.querySelectorAll('[role=option]')[arguments[0]];
                const box = one.getBoundingClientRect();
                return [one.ariaLabel, box.x + box.width / 2, box.y + 20]""", place)
            browser.point(x, y)
            browser.until(f"document.getElementById('told').innerText.endsWith({label!r})")
        browser.point(5, 5)
        browser.until("!document.querySelector('[aria-selected=true]')")


def spoken(site, driver):
    with site.visit(driver) as browser:
        browser.until("document.querySelectorAll('[role=option]').length === 100")
        nodes = browser.tell("Accessibility.getFullAXTree")["nodes"]
        named = {}
        for node in nodes:
            if not node.get("ignored"):
                named.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
        options = named["option"]
        assert len(options) == 100 and all(name.startswith("sync ") for name in options), options
        for role in ["main", "heading", "listbox", "meter", "progressbar", "region", "status", "image"]:
            assert named.get(role), (role, sorted(named))
            assert role in ("main", "status") or all(named[role]), (role, named[role])
        announced = browser.run("return document.querySelector('[role=status]').textContent")
        assert announced.startswith("idle: "), announced
        assert browser.run("return document.documentElement.lang") == "en"
    return f"{len(options)} syncs, {len(named['progressbar'])} bars"


def still(site, driver):
    with site.visit(driver, motion=False) as browser:
        moving = browser.run("""
            return [...document.querySelectorAll('*')].map((node) => getComputedStyle(node))
              .filter((style) => style.animationName !== 'none' || parseFloat(style.transitionDuration))
              .length""")
        assert moving == 0, moving
