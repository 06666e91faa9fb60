"""The framing, compression and validation of answers."""

from checks import connections_of, three_syncs
from fronts import Caddy, HAProxy, Nginx
from ground import Pages, Roster
from programs import wait_until
from origins import FRAMINGS, Origin

# Number of pages of a list that is requested in each framing through each server.
FEW = 10
SOME = 60
MANY = 200
CONCURRENCY = 8


def files(place, front):
    for packs in [False, True]:
        pages = Pages(place.path("pages"), MANY)
        server = place.keep(front(place.path("server"), pages, packs=packs))
        for lines in three_syncs(Roster(place.path("rosterd"), place.program, server.base), pages, server):
            assert connections_of(lines) <= CONCURRENCY, connections_of(lines)
        server.stop()


def nginx_files(place):
    """1, 9, 27: 200 files of nginx, with gzip and without: all, then 304s, then one change"""
    files(place, Nginx)


def caddy_files(place):
    """1, 9, 27: 200 files of Caddy: all, then 304s, then one change"""
    files(place, Caddy)


def framed(place, front, certificate=None, packs=False):
    """Each framing behind one server, which is not restarted."""
    pages = Pages(place.path("pages"), FEW)
    origin = place.keep(Origin(pages))
    server = place.keep(front(place.path("server"), pages, origin.port, certificate, packs=packs))
    trust = {"upstream_tls_ca_file": certificate.authority} if certificate else {}
    for framing in FRAMINGS:
        origin.restart(framing)
        before = len(origin.log())
        try:
            for lines in three_syncs(Roster(place.path("rosterd"), place.program, server.base, **trust), pages, server):
                # HAProxy ends its client's connection with one that its server ends.
                assert connections_of(lines) <= CONCURRENCY or framing.closes, connections_of(lines)
            wait_until(lambda: len(origin.log()) - before >= 3 * FEW, "the origin's log")  # noqa: B023
            assert len(origin.log()) - before == 3 * FEW, "more was asked of the origin than of the server before it"
        except AssertionError as fault:
            raise AssertionError(f"{front.name}, {framing.name}: {fault}") from fault


def direct(place):
    """Each framing of http.server: HTTP/1.0 kept and closed, chunked, gzip, both, to the connection's end"""
    for framing in FRAMINGS:
        pages = Pages(place.path("pages"), SOME)
        origin = place.keep(Origin(pages, framing))
        roster = Roster(place.path("rosterd"), place.program, f"http://127.0.0.1:{origin.port}")
        try:
            for lines in three_syncs(roster, pages, origin):
                opened = connections_of(lines)
                assert opened <= CONCURRENCY if not framing.closes else opened == SOME, f"{opened} connections"
        except AssertionError as fault:
            raise AssertionError(f"{framing.name}: {fault}") from fault
        origin.stop()


def behind_nginx(place):
    """Each framing behind nginx"""
    framed(place, Nginx)


def behind_haproxy(place):
    """Each framing behind HAProxy"""
    framed(place, HAProxy)


def behind_caddy(place):
    """Each framing behind Caddy"""
    framed(place, Caddy)


TESTS = [nginx_files, caddy_files, direct, behind_nginx, behind_haproxy, behind_caddy]
