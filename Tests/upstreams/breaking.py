"""Servers that are reloaded, restarted and killed while they are asked."""

import contextlib
import threading
import time

from checks import synced
from fronts import Caddy, HAProxy, Nginx
from ground import Pages, Roster, wait_until
from origins import Origin

PAGES = 200
# Eight pages at once, each so many seconds: a sync takes at least half a second.
SLOW = 0.02
# How often a server is reloaded in a sync.
RELOADS = 4
# How long a server is away, in seconds: eight requests at least find nobody.
AWAY = 0.3


@contextlib.contextmanager
def at_pages(origin, numbers, act):
    """Does it when the origin has answered so many pages."""
    before = len(origin.log())
    faults = []

    def watch():
        try:
            for number in numbers:
                wait_until(lambda: len(origin.log()) - before >= number, f"page {number}")  # noqa: B023
                act()
        except Exception as fault:
            faults.append(fault)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        watcher.join()
    assert not faults, faults


def reloaded(place, front, lost=0, certificate=None):
    pages = Pages(place.path("pages"), PAGES)
    origin = place.keep(Origin(pages, delay=SLOW))
    server = place.keep(front(place.path("server"), pages, origin.port, certificate))
    trust = {"upstream_tls_ca_file": certificate.authority} if certificate else {}
    roster = Roster(place.path("rosterd"), place.program, server.base, **trust)
    moments = [PAGES * number // (RELOADS + 1) for number in range(1, RELOADS + 1)]
    for outcome, known in [("published", 0), ("unchanged", PAGES), ("unchanged", PAGES)]:
        with at_pages(origin, moments, server.reload):
            synced(roster, pages, server, outcome, not_modified=known, lost=lost)


def reloaded_nginx(place):
    """nginx is reloaded four times in each of three syncs: no retry, no request that it does not know"""
    reloaded(place, Nginx)


def reloaded_haproxy(place):
    """The same of HAProxy (SIGUSR2 to its master)"""
    reloaded(place, HAProxy)


def reloaded_caddy(place):
    """The same of Caddy (caddy reload), but for those that it answers into connections that it has closed"""
    # Go's Shutdown takes a connection for idle of which a request is being read.
    reloaded(place, Caddy, lost=RELOADS)


def broken(place, pages, origin, server, breaks):
    """Ends well whatever breaks on the way, and nothing is pulled that was there already."""
    roster = Roster(place.path("rosterd"), place.program, server.base, retry_max_retries=10)

    def again():
        breaks.stop()
        time.sleep(AWAY)  # a server that takes its time to come back is what is played
        breaks.start()
    for outcome, known in [("published", 0), ("unchanged", PAGES)]:
        before = len(server.log())
        with at_pages(origin, [PAGES // 2], again):
            report = roster.sync()
        told = {name: report[name] for name in ["outcome", "records", "not_modified", "error", "rejected"]}
        assert told == {
            "outcome": outcome, "records": len(pages.names), "not_modified": known, "error": None, "rejected": 0}, told
        assert report["retries"] > 0, "nothing broke"
        assert report["requests"] == PAGES + report["retries"], report
        # What was broken off is in no log, and neither is what found nobody.
        good = sum(line.status in (200, 304) for line in server.log()[before:])
        assert PAGES <= good <= report["requests"], f"{good} good answers of {report['requests']}"
        assert roster.names() == pages.names


def killed_origin(place):
    """An upstream that ends in the midst and is back: its requests are repeated, all records come"""
    pages = Pages(place.path("pages"), PAGES)
    origin = place.keep(Origin(pages, delay=SLOW))
    origin.base = f"http://127.0.0.1:{origin.port}"
    broken(place, pages, origin, origin, origin)


def killed_behind(place):
    """The same behind nginx, HAProxy and Caddy, which answer 502 and 503 meanwhile"""
    for front in [Nginx, HAProxy, Caddy]:
        pages = Pages(place.path("pages"), PAGES)
        origin = place.keep(Origin(pages, delay=SLOW))
        server = place.keep(front(place.path("server"), pages, origin.port))
        broken(place, pages, origin, server, origin)
        server.stop()
        origin.stop()


def restarted(place):
    """nginx, HAProxy and Caddy are killed and started anew in the midst of syncs: all records come"""
    for front in [Nginx, HAProxy, Caddy]:
        pages = Pages(place.path("pages"), PAGES)
        origin = place.keep(Origin(pages, delay=SLOW))
        server = place.keep(front(place.path("server"), pages, origin.port))
        broken(place, pages, origin, server, server)
        server.stop()
        origin.stop()


TESTS = [reloaded_nginx, reloaded_haproxy, reloaded_caddy, killed_origin, killed_behind, restarted]
