"""TLS by nginx, HAProxy and Caddy: a test authority, pins, and further requirements of HTTP/1.1."""

from answering import framed
from breaking import reloaded
from checks import connections_of, three_syncs
from fronts import Caddy, HAProxy, Nginx
from ground import Certificate, Pages, Roster
from keeping import IDLE, impatient
from origins import Origin

PAGES = 40
FRONTS = [Nginx, HAProxy, Caddy]


def verified(place):
    """nginx, HAProxy and Caddy with TLS, which also offer HTTP/2, keys of EC and RSA: ca_file, and pins that match"""
    for key in ["EC", "RSA"]:
        certificate = Certificate(place.path("certificate"), key)
        for front in FRONTS:
            pages = Pages(place.path("pages"), PAGES)
            origin = place.keep(Origin(pages))
            server = place.keep(front(place.path("server"), pages, origin.port, certificate))
            roster = Roster(
                place.path("rosterd"), place.program, server.base, upstream_tls_ca_file=certificate.authority,
                upstream_tls_pins=f'["{certificate.pin}"]')
            for lines in three_syncs(roster, pages, server):
                assert connections_of(lines) <= 8, connections_of(lines)
            server.stop()


def refused(place):
    """Another authority, the system's, another pin: 69 without a retry, and no request reaches the server"""
    certificate, another = Certificate(place.path("certificate")), Certificate(place.path("certificate"))
    pages = Pages(place.path("pages"), PAGES)
    origin = place.keep(Origin(pages))
    trust = {"upstream_tls_ca_file": certificate.authority}
    for front in FRONTS:
        server = place.keep(front(place.path("server"), pages, origin.port, certificate))
        for settings, word in [
                ({"upstream_tls_ca_file": another.authority}, "certificate"), ({}, "certificate"),
                (trust | {"upstream_tls_pins": f'["{another.pin}"]'}, "pin")]:
            report = Roster(place.path("rosterd"), place.program, server.base, **settings).sync(exit=69)
            assert word in report["error"] and report["retries"] == 0, report["error"]
        assert server.log() == [] == origin.log(), "something was asked"
        server.stop()


def misnamed(place, names):
    """Uses https://localhost, which the certificate does not contain."""
    certificate = Certificate(place.path("certificate"), names=names)
    pages = Pages(place.path("pages"), PAGES)
    server = place.keep(Nginx(place.path("server"), pages, certificate=certificate))
    base = f"https://localhost:{server.port}"
    settings = {"upstream_tls_ca_file": certificate.authority}
    report = Roster(place.path("rosterd"), place.program, base, **settings).sync(exit=69)
    assert "localhost" in report["error"] and report["retries"] == 0, report["error"]
    assert server.log() == [], "something was asked"


def another_name(place):
    """A certificate for another name: 69 without a retry, and no request reaches the server"""
    misnamed(place, "DNS:upstream.test")


def address_for_a_name(place):
    """A certificate for the address that a name leads to, and not for the name: 69, the same as with curl"""
    misnamed(place, "DNS:upstream.test,IP:127.0.0.1")


def packed_over_tls(place):
    """Each framing behind them with TLS, compressed: chunked and gzip, the ETag a weak one"""
    certificate = Certificate(place.path("certificate"))
    for front in FRONTS:
        framed(place, front, certificate, packs=True)


def impatient_over_tls(place):
    """The same with nginx over TLS: connections that it closes at the moment of their next use, no retry"""
    certificate = Certificate(place.path("certificate"))
    pages = Pages(place.path("pages"), 200)
    lines = f"keepalive_timeout {IDLE};"
    server = place.keep(Nginx(place.path("server"), pages, certificate=certificate, lines=lines, shows=True))
    impatient(place, server, pages, upstream_tls_ca_file=certificate.authority)


def reloaded_over_tls(place):
    """nginx and HAProxy, with TLS, are reloaded during syncs: no retry"""
    for front in [Nginx, HAProxy]:
        reloaded(place, front, certificate=Certificate(place.path("certificate")))


TESTS = [verified, refused, another_name, address_for_a_name, packed_over_tls, impatient_over_tls, reloaded_over_tls]
