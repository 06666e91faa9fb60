"""Servers that close connections which a client wants to keep: after some requests, after a while, at any time."""

from collections import Counter

from checks import connections_of, synced, three_syncs
from crossing import Crossing
from fronts import Caddy, HAProxy, Nginx
from ground import Pages, Roster, connections
from programs import wait_until
from origins import Origin

PAGES = 200
CONCURRENCY = 8
# No test waits for longer than this for a server to close a connection.
IDLE = "5ms"


def few_requests(place):
    """nginx closes each connection after its third request, and announces it: 67 connections for 200 pages, no retry"""
    pages = Pages(place.path("pages"), PAGES)
    server = place.keep(Nginx(place.path("server"), pages, lines="keepalive_requests 3;"))
    for lines in three_syncs(Roster(place.path("rosterd"), place.program, server.base), pages, server):
        carried = Counter(line.connection for line in lines)
        assert max(carried.values()) == 3, carried
        assert len(carried) <= 80, f"{len(carried)} connections"


def impatient(place, server, pages, **settings):
    """Requests that cross the server's end of a kept connection: they are sent again at once and do not count as
    retries.

    This concerns all requests except those that opened a connection, whose number is at most the concurrency.
    """
    way = place.keep(Crossing(server))
    roster = Roster(place.path("rosterd"), place.program, way.base, **settings)
    for outcome, known in [("published", 0), ("unchanged", pages.count)]:
        before = way.crossed
        lines = synced(roster, pages, server, outcome, not_modified=known)
        crossed = way.crossed - before
        assert pages.count - CONCURRENCY <= crossed < pages.count, f"{crossed} requests met the end of a connection"
        assert connections_of(lines) == pages.count, connections_of(lines)


def impatient_nginx(place):
    """nginx closes each connection after its first answer while the next request is in flight: no retry"""
    pages = Pages(place.path("pages"), PAGES)
    lines = f"keepalive_timeout {IDLE};"
    impatient(place, place.keep(Nginx(place.path("server"), pages, lines=lines)), pages)


def impatient_haproxy(place):
    """The same with HAProxy (timeout http-keep-alive)"""
    pages = Pages(place.path("pages"), PAGES)
    origin = place.keep(Origin(pages))
    lines = f"timeout http-keep-alive {IDLE}"
    impatient(place, place.keep(HAProxy(place.path("server"), pages, origin.port, lines=lines)), pages)


def impatient_caddy(place):
    """The same with Caddy (timeouts idle)"""
    pages = Pages(place.path("pages"), PAGES)
    lines = f"timeouts {{\n idle {IDLE}\n }}"
    impatient(place, place.keep(Caddy(place.path("server"), pages, lines=lines)), pages)


def idle_between_syncs(place):
    """nginx, HAProxy and Caddy close a daemon's connections between its syncs: the next one has no retry"""
    pages = Pages(place.path("pages"), PAGES)
    origin = place.keep(Origin(pages))
    for front, behind, lines in [
            (Nginx, None, "keepalive_timeout 1s;"), (HAProxy, origin.port, "timeout http-keep-alive 1s"),
            (Caddy, None, "timeouts {\n idle 1s\n }")]:
        server = place.keep(front(place.path("server"), pages, behind, lines=lines))
        roster = Roster(place.path("rosterd"), place.program, server.base)
        first = len(server.log())
        with roster.daemon():
            # The first began with the daemon.
            wait_until(lambda: roster.names() == pages.names, "the first sync")  # noqa: B023
            wait_until(lambda: len(server.log()) == first + PAGES, "its lines in the log")  # noqa: B023
            wait_until(lambda: connections(server.port) == 0, f"{server.name} closes its connections")  # noqa: B023
            pages.change()
            synced(roster, pages, server, "published", changed=1, not_modified=PAGES - 1, sync=roster.request_sync)
        server.stop()


TESTS = [few_requests, impatient_nginx, impatient_haproxy, impatient_caddy, idle_between_syncs]
