"""squid and tinyproxy between rosterd and upstream: plain requests, tunnels, a user and a password."""

import os
import shutil
import urllib.parse

from checks import connections_of, three_syncs
from fronts import Front, Nginx
from ground import Certificate, Pages, Roster
from programs import openssl, tool, wait_until
from keeping import IDLE, impatient
from origins import FRAMINGS, Line, Origin

PAGES = 40
USER = "roster"


class Proxy(Front):
    """A proxy that requires a user and a password; its log has a line for each request, tunnels included."""

    password = "geheim"

    def __init__(self, folder):
        super().__init__(folder, None)

    def url(self, password=None):
        password = urllib.parse.quote(password or self.password, safe="")
        return f"http://{USER}:{password}@127.0.0.1:{self.port}"


class Squid(Proxy):
    name = "squid"
    # Each of these bytes is one that a URL must have percent-encoded.
    password = "ge/he:im@%"

    def command(self):
        return [tool("squid"), "-N", "-f", self.configuration]

    def configured(self):
        known = self.folder / "passwords"
        known.write_text(f"{USER}:{openssl('passwd', '-apr1', self.password).decode()}")
        # The hosts file of the proxy, which alone can resolve the name.
        hosts = self.folder / "hosts"
        hosts.write_text("127.0.0.1 upstream.test\n")
        if os.geteuid() == 0:
            for path in [self.folder, *self.folder.iterdir()]:
                shutil.chown(path, "proxy", "proxy")
        return f"""
http_port 127.0.0.1:{self.port}
auth_param basic program /usr/lib/squid/basic_ncsa_auth {known}
auth_param basic children 1
acl known proxy_auth REQUIRED
http_access allow known
http_access deny all
cache deny all
logformat line %rm %ru %>Hs %>p
access_log stdio:{self.access} line
cache_log {self.folder}/squid.log
pid_filename {self.folder}/squid.pid
coredump_dir {self.folder}
hosts_file {hosts}
visible_hostname proxy.test
pinger_enable off
shutdown_lifetime 0 seconds
buffered_logs off
strip_query_terms off
"""

    def parsed(self, text):
        # Clients that connect and send nothing are also in the log.
        return super().parsed(text) if text.startswith(("GET http", "CONNECT ")) else []


class Tinyproxy(Proxy):
    """Its log has no status. It uses HTTP/1.0 for upstreams and closes each connection."""

    name = "tinyproxy"

    def command(self):
        return [tool("tinyproxy"), "-d", "-c", self.configuration]

    def configured(self):
        return f"""
Port {self.port}
Listen 127.0.0.1
Timeout 20
LogFile "{self.access}"
LogLevel Connect
MaxClients 100
BasicAuth {USER} {self.password}
"""

    def parsed(self, text):
        if ": Request (file descriptor " not in text:
            return []
        number, request = text.partition("Request (file descriptor ")[2].split("): ")
        method, target, _ = request.split()
        return [Line(method, target, 200, number)]
PROXIES = [Squid, Tinyproxy]


def plain(place):
    """squid and tinyproxy with absolute addresses: each framing, with user and password"""
    for kind in PROXIES:
        proxy = place.keep(kind(place.path("proxy")))
        for framing in FRAMINGS:
            pages = Pages(place.path("pages"), 10)
            origin = place.keep(Origin(pages, framing))
            # Only squid can resolve this name.
            host = "upstream.test" if kind is Squid else "127.0.0.1"
            base = f"http://{host}:{origin.port}"
            before = len(proxy.log())
            roster = Roster(place.path("rosterd"), place.program, base, upstream_proxy=proxy.url())
            try:
                three_syncs(roster, pages, origin)
            except AssertionError as fault:
                raise AssertionError(f"{proxy.name}, {framing.name}: {fault}") from fault
            wait_until(lambda: len(proxy.log()) >= before + 30, "the proxy's log")  # noqa: B023
            passed = proxy.log()[before:]
            assert sorted(line.target for line in passed) == sorted(
                f"{base}{line.target}" for line in origin.log()), passed
            origin.stop()


def kept_by_squid(place):
    """squid keeps connections: eight are enough for all pages"""
    pages = Pages(place.path("pages"), 200)
    origin = place.keep(Origin(pages))
    proxy = place.keep(Squid(place.path("proxy")))
    roster = Roster(
        place.path("rosterd"), place.program, f"http://upstream.test:{origin.port}", upstream_proxy=proxy.url())
    three_syncs(roster, pages, origin)
    wait_until(lambda: len(proxy.log()) == 600, "squid's log")
    assert connections_of(proxy.log()) <= 24, connections_of(proxy.log())


def tunnelled(place):
    """CONNECT through squid and tinyproxy to nginx with TLS, ca_file and a pin: eight tunnels per sync, no more"""
    certificate = Certificate(place.path("certificate"))
    for kind in PROXIES:
        proxy = place.keep(kind(place.path("proxy")))
        pages = Pages(place.path("pages"), PAGES)
        server = place.keep(Nginx(place.path("server"), pages, certificate=certificate))
        host = "upstream.test" if kind is Squid else "127.0.0.1"
        roster = Roster(
            place.path("rosterd"), place.program, f"https://{host}:{server.port}", upstream_proxy=proxy.url(),
            upstream_tls_ca_file=certificate.authority, upstream_tls_pins=f'["{certificate.pin}"]')
        for lines in three_syncs(roster, pages, server):
            assert connections_of(lines) <= 8, connections_of(lines)
        opened = connections_of(server.log())
        wait_until(lambda: len(proxy.log()) >= opened, "the proxy's log")  # noqa: B023
        passed = proxy.log()
        assert {(line.method, line.target) for line in passed} == {("CONNECT", f"{host}:{server.port}")}, passed
        # A tunnel that opens too late carries nothing.
        assert opened <= len(passed) <= 24, f"{len(passed)} tunnels, {opened} of use"
        server.stop()


def strange(place):
    """A wrong password is 69, names the proxy, and sends no request to upstream; a right one then works"""
    certificate = Certificate(place.path("certificate"))
    for kind in PROXIES:
        proxy = place.keep(kind(place.path("proxy")))
        for tls in [None, certificate]:
            pages = Pages(place.path("pages"), PAGES)
            server = place.keep(Nginx(place.path("server"), pages, certificate=tls))
            trust = {"upstream_tls_ca_file": certificate.authority} if tls else {}
            roster = Roster(
                place.path("rosterd"), place.program, server.base, upstream_proxy=proxy.url("another"),
                retry_max_retries=0, **trust)
            report = roster.sync(exit=69)
            # tinyproxy answers 401 if it is asked for a whole address.
            assert "refuses the user and the password (40" in report["error"], report["error"]
            assert server.log() == [], "something was asked"
            roster.environment["ROSTERD_UPSTREAM_PROXY"] = proxy.url()
            three_syncs(roster, pages, server)
            server.stop()


def limited(place):
    """Tunnels through squid and tinyproxy that nginx closes after three requests or while the next arrives: no retry"""
    certificate = Certificate(place.path("certificate"))
    for kind in PROXIES:
        proxy = place.keep(kind(place.path("proxy")))
        trust = {"upstream_proxy": proxy.url(), "upstream_tls_ca_file": certificate.authority}
        pages = Pages(place.path("pages"), 60)
        server = place.keep(
            Nginx(place.path("server"), pages, certificate=certificate, lines="keepalive_requests 3;"))
        three_syncs(Roster(place.path("rosterd"), place.program, server.base, **trust), pages, server)
        server.stop()
        lines = f"keepalive_timeout {IDLE};"
        server = place.keep(Nginx(place.path("server"), pages, certificate=certificate, lines=lines, shows=True))
        impatient(place, server, pages, **trust)
        server.stop()


TESTS = [plain, kept_by_squid, tunnelled, strange, limited]
