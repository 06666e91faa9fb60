"""Servers that are reloaded, restarted and killed during requests."""

import time
from functools import partial

from checks import synced
from crossing import Crossing
from fronts import Caddy, HAProxy, Nginx
from ground import Pages, Roster
from programs import wait_until
from keeping import CONCURRENCY
from origins import Origin

PAGES = 200
# Eight pages at once with this delay in seconds: a sync takes at least half a second.
SLOW = 0.02
# Number of reloads during a sync.
RELOADS = 4
# Time in seconds during which a server is down: longer than rosterd waits before its retry.
AWAY = 0.3


def reloaded(place, front, certificate=None):
    """Each reload closes seven connections at the moment of their next use, and leaves one request to answer."""
    pages = Pages(place.path("pages"), PAGES)
    origin = place.keep(Origin(pages, latency=SLOW))
    server = place.keep(front(place.path("server"), pages, origin.port, certificate, shows=certificate is not None))
    way = place.keep(Crossing(server, due=0))
    trust = {"upstream_tls_ca_file": certificate.authority} if certificate else {}
    roster = Roster(place.path("rosterd"), place.program, way.base, **trust)

    def reload():
        way.due = CONCURRENCY - 1
        wait_until(lambda: way.due == 0, "requests on all other connections")
        with origin.quiet():
            server.reload()
    moments = [PAGES * number // (RELOADS + 1) for number in range(1, RELOADS + 1)]
    for outcome, known in [("published", 0), ("unchanged", PAGES), ("unchanged", PAGES)]:
        before = way.crossed
        with origin.at(moments, reload):
            synced(roster, pages, server, outcome, not_modified=known)
        crossed = way.crossed - before
        assert crossed == RELOADS * (CONCURRENCY - 1), f"{crossed} requests met the end of a connection"


def reloaded_nginx(place):
    """nginx is reloaded four times in each of three syncs: no retry, no request that it does not know"""
    reloaded(place, Nginx)


def reloaded_haproxy(place):
    """The same with HAProxy (SIGUSR2 to its master)"""
    reloaded(place, HAProxy)


def reloaded_caddy(place):
    """The same with Caddy (caddy reload)"""
    reloaded(place, Caddy)


def good_answers(server, before):
    return sum(line.status in (200, 304) for line in server.log()[before:])


def away(origin, server, breaks, logged):
    """Stops the server while the maximum number of requests is in flight, and the log contains the earlier ones."""
    with origin.quiet():
        wait_until(lambda: len(server.log()) - logged == origin.requests - CONCURRENCY, "eight requests at once")
        breaks.stop()
        time.sleep(AWAY)  # a server that takes its time to come back is what is played
        breaks.start()


def broken(place, pages, origin, server, breaks):
    """Succeeds despite the interruption, and does not pull kept pages again."""
    roster = Roster(place.path("rosterd"), place.program, server.base, retry_max_retries=10)
    for outcome, known in [("published", 0), ("unchanged", PAGES)]:
        before = len(server.log())
        with origin.at([PAGES // 2], partial(away, origin, server, breaks, before)):
            report = roster.sync()
        told = {name: report[name] for name in ["outcome", "records", "not_modified", "error", "rejected"]}
        assert told == {
            "outcome": outcome, "records": len(pages.names), "not_modified": known, "error": None, "rejected": 0}, told
        assert report["retries"] >= CONCURRENCY, f"{report['retries']} retries: not all answers were interrupted"
        assert report["requests"] == PAGES + report["retries"], report
        # Interrupted answers are not in the log, and neither are refused connections.
        wait_until(lambda: good_answers(server, before) >= PAGES, "good answers in the log")  # noqa: B023
        good = good_answers(server, before)
        assert good <= report["requests"], f"{good} good answers of {report['requests']}"
        assert roster.names() == pages.names


def killed_origin(place):
    """An upstream that is killed and restarted: its requests are repeated, all records arrive"""
    pages = Pages(place.path("pages"), PAGES)
    origin = place.keep(Origin(pages, latency=SLOW))
    origin.base = f"http://127.0.0.1:{origin.port}"
    broken(place, pages, origin, origin, origin)


def broken_behind_each(place, victim):
    for front in [Nginx, HAProxy, Caddy]:
        pages = Pages(place.path("pages"), PAGES)
        origin = place.keep(Origin(pages, latency=SLOW))
        server = place.keep(front(place.path("server"), pages, origin.port))
        broken(place, pages, origin, server, victim(origin, server))
        server.stop()
        origin.stop()


def killed_behind(place):
    """The same behind nginx, HAProxy and Caddy, which answer 502 and 503 during that time"""
    broken_behind_each(place, lambda origin, _: origin)


def restarted(place):
    """nginx, HAProxy and Caddy are killed and restarted during syncs: all records arrive"""
    broken_behind_each(place, lambda _, server: server)


TESTS = [reloaded_nginx, reloaded_haproxy, reloaded_caddy, killed_origin, killed_behind, restarted]
