"""Certificates made by openssl and sent by `openssl s_server`: which ones are trusted, and the messages about the
others. curl requests the same page: rosterd trusts nothing that curl refuses."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
from dataclasses import dataclass, field

from ground import EPOCH, Roster
from programs import PATIENCE, ended, free_port, openssl, tool, wait_until
from relay import Relay
from simulator import PAGE_SIZE, character_page

EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
SMALL = ["-newkey", "rsa:1024"]
AUTHORITY = "basicConstraints=critical,CA:TRUE"
LOCAL = "subjectAltName=IP:127.0.0.1"
# OpenSSL's and curl's own limits are out of the way of weak chains.
WEAK = ["-cipher", "ALL:@SECLEVEL=0"]


class Certificates:
    """Certificates by name, each with its key, in one folder."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def file(self, name):
        return self.folder / f"{name}.pem"

    def key(self, name):
        return self.folder / f"{name}.key"

    def root(self, name, *options, new=EC, subject=None):
        openssl("req", "-x509", *new, "-nodes", "-keyout", self.key(name), "-out", self.file(name), "-days", "3",
                "-subj", f"/CN={subject or name}", "-addext", "keyUsage=critical,keyCertSign,cRLSign", *options)

    def signed(self, name, issuer, *extensions, new=EC, options=(), days=2):
        request, text = self.folder / "request", self.folder / "extensions"
        openssl("req", *new, "-nodes", "-keyout", self.key(name), "-out", request, "-subj", f"/CN={name}")
        text.write_text("\n".join(extensions) + "\n")
        openssl("x509", "-req", "-in", request, "-CA", self.file(issuer), "-CAkey", self.key(issuer), "-days",
                str(days), "-extfile", text, "-out", self.file(name), *options)

    def future(self, name, issuer, *extensions):
        """`openssl x509` of OpenSSL 3.0 cannot set the start time."""
        request, text, settings = (self.folder / part for part in ["request", "extensions", "ca.cnf"])
        openssl("req", *EC, "-nodes", "-keyout", self.key(name), "-out", request, "-subj", f"/CN={name}")
        text.write_text("\n".join(extensions) + "\n")
        settings.write_text(
            f"[ca]\ndefault_ca=a\n[a]\ndatabase={self.folder}/index\nserial={self.folder}/serial\nnew_certs_dir={self.folder}\n"
            "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n")
        (self.folder / "index").touch()
        openssl("ca", "-batch", "-config", settings, "-rand_serial", "-in", request, "-cert", self.file(issuer),
                "-keyfile", self.key(issuer), "-notext", "-startdate", "20900101000000Z", "-enddate",
                "20910101000000Z", "-extfile", text, "-out", self.file(name))

    def bundle(self, name, *parts):
        self.file(name).write_text("".join(self.file(part).read_text() for part in parts))


class Server:
    """`openssl s_server` with one page; it reports the requested files."""

    def __init__(self, certificates, name, sent=None, options=()):
        self.folder, self.port = certificates.folder, free_port()
        (self.folder / "api").mkdir(exist_ok=True)
        (self.folder / "api/character?page=1").write_text(json.dumps(character_page(1, PAGE_SIZE)))
        self.log = self.folder / f"server-{self.port}.log"
        chain = ["-cert_chain", certificates.file(sent)] if sent else []
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [tool("openssl"), "s_server", "-accept", f"127.0.0.1:{self.port}", "-cert", certificates.file(name),
                 "-key", certificates.key(name), *chain, "-WWW", *options],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: "ACCEPT" in self.log.read_text(), "openssl s_server")

    def asked(self):
        return self.log.read_text(errors="replace").count("FILE:")

    def stop(self):
        self.process.kill()
        self.process.wait()


class Tunnels(Relay):
    """A proxy that leads every host to 127.0.0.1."""

    def __init__(self):
        super().__init__()
        self.url = f"http://127.0.0.1:{self.port}"

    def carry(self, client):
        with client, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(4096)
            port = int(head.split()[1].rsplit(b":", 1)[1])
            with socket.create_connection(("127.0.0.1", port)) as server:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                self.join(client, server)


@dataclass
class Case:
    """A chain, and words of the message that refuses it; without words it is trusted."""

    name: str
    words: str = ""
    host: str = "127.0.0.1"
    sent: str | None = None
    trusted: str = "root"
    hint: str = ""
    options: list = field(default_factory=list)


def curl(server, tunnels, case, authority):
    """True if curl accepts the page."""
    url = f"https://{case.host}:{server.port}/api/character?page=1"
    done = subprocess.run(
        [tool("curl"), "-sS", "--http1.1", "--max-time", "20", "--ciphers", "DEFAULT@SECLEVEL=2", "--cacert", authority,
         "--proxy", tunnels.url, "-o", "/dev/null", url], capture_output=True, text=True)
    return done.returncode == 0, done.stderr.partition("\n")[0]


def judged(place, certificates, cases):
    tunnels = place.keep(Tunnels())
    authority = certificates.file
    for case in cases:
        server = place.keep(Server(certificates, case.name, case.sent, case.options))
        roster = Roster(
            place.path("rosterd"), place.program, f"https://{case.host}:{server.port}",
            upstream_proxy=tunnels.url, upstream_tls_ca_file=authority(case.trusted))
        report = roster.sync(exit=69 if case.words else 0)
        asked = server.asked()
        is_taken, reason = curl(server, tunnels, case, authority(case.trusted))
        error = report["error"] or ""
        shown = f"{case.name} for {case.host}: {error or 'trusted'} (curl: {reason or 'trusted'})"
        if "SHOW" in os.environ:
            print(f"        {shown}", flush=True)
        assert report["retries"] == 0, shown
        if case.words:
            assert case.words in error and case.hint in error, shown
            assert asked == 0, f"{case.name}: something was asked"
        else:
            assert report["outcome"] == "published" and asked == 1, shown
            assert is_taken, f"curl refuses what rosterd trusts: {shown}"
        server.stop()


def names(place):
    """A certificate is for the hosts of its subjectAltName, as in RFC 9525; else 69, and no request is sent"""
    certificates = Certificates(place.path("certificates"))
    certificates.root("root")
    rows = [
        ("exact", "DNS:api.example.test",
         ["api.example.test", "API.example.test", "api.example.test."], ["example.test"]),
        ("wildcard", "DNS:*.example.test",
         ["api.example.test", "my_host.example.test", "xn--bcher-kva.example.test"],
         ["example.test", "a.b.example.test"]),
        ("underscore", "DNS:my_host.example.test", ["my_host.example.test"], ["myhost.example.test"]),
        ("partial", "DNS:a*.example.test", [], ["api.example.test"]),
        ("top", "DNS:*.test", [], ["example.test"]),
        ("any", "DNS:*", [], ["localhost"]),
        ("address", "IP:127.0.0.1", ["127.0.0.1"], ["localhost", "127.0.0.2"]),
        ("number", "DNS:127.0.0.1", [], ["127.0.0.1"]),
    ]
    cases = []
    for name, alternatives, accepted, refused in rows:
        certificates.signed(name, "root", f"subjectAltName={alternatives}")
        cases += [Case(name, host=host) for host in accepted]
        cases += [Case(name, "the server's certificate is for another host", host) for host in refused]
    certificates.signed("common.example.test", "root", "basicConstraints=CA:FALSE")
    cases.append(Case("common.example.test", "it has no subjectAltName", "common.example.test"))
    judged(place, certificates, cases)


def weak(place):
    """RSA keys below 2048 bits and signatures with SHA-1, anywhere in the chain except in the root itself: 69"""
    certificates = Certificates(place.path("certificates"))
    certificates.root("root")
    certificates.root("sha1-root", "-sha1")
    certificates.root("small-root", new=SMALL)
    certificates.signed("small", "root", AUTHORITY, new=SMALL)
    certificates.signed("old", "root", AUTHORITY, options=["-sha1"])
    certificates.signed("rsa2048", "root", LOCAL, new=["-newkey", "rsa:2048"])
    certificates.signed("rsa1024", "root", LOCAL, new=SMALL)
    certificates.signed("sha1", "root", LOCAL, options=["-sha1"])
    for issuer in ["small", "old", "sha1-root", "small-root"]:
        certificates.signed(f"below-{issuer}", issuer, LOCAL)
    bits = "has an RSA key of only 1024 bits"
    judged(place, certificates, [
        Case("rsa2048"), Case("below-sha1-root", trusted="sha1-root"),
        Case("rsa1024", f'"rsa1024" {bits}', hint="2048 bits", options=WEAK),
        Case("below-small", f'"small" {bits}', sent="small", options=WEAK),
        Case("below-small-root", f'"small-root" {bits}', trusted="small-root", options=WEAK),
        Case("sha1", '"sha1" is signed with SHA-1', hint="SHA-256", options=WEAK),
        Case("below-old", '"old" is signed with SHA-1', sent="old", options=WEAK),
    ])


def causes(place):
    """Each reason to refuse a chain has a sentence of its own, and the hint names what to trust"""
    certificates = Certificates(place.path("certificates"))
    certificates.root("root")
    certificates.root("other")
    certificates.root("imposter", subject="root")
    certificates.signed("inter", "root", AUTHORITY)
    certificates.signed("narrow", "root", AUTHORITY, "nameConstraints=critical,permitted;IP:10.0.0.0/255.0.0.0")
    certificates.signed("stale", "root", AUTHORITY, days=-1)
    for name, issuer in [("leaf", "root"), ("below", "inter"), ("outside", "narrow"), ("under-stale", "stale")]:
        certificates.signed(name, issuer, LOCAL)
    certificates.signed("forged", "imposter", LOCAL, "authorityKeyIdentifier=none")
    certificates.signed("expired", "root", LOCAL, days=-1)
    certificates.signed("client", "root", LOCAL, "extendedKeyUsage=clientAuth")
    certificates.signed("signer", "root", LOCAL, "keyUsage=critical,keyCertSign")
    certificates.future("future", "root", LOCAL)
    openssl("req", "-x509", *EC, "-nodes", "-keyout", certificates.key("alone"), "-out", certificates.file("alone"),
            "-days", "3", "-subj", "/CN=alone", "-addext", LOCAL)
    certificates.bundle("chain", "inter", "root")
    authority = 'no authority that is trusted here vouches for the certificate "inter", which "root" has signed'
    root = 'name the root certificate of "root" in upstream.tls.ca_file'
    judged(place, certificates, [
        Case("leaf"), Case("below", sent="inter"), Case("below", sent="chain"), Case("alone", trusted="alone"),
        Case("below", 'the certificate "below", which "inter" has signed', hint="the server must send"),
        Case("below", authority, trusted="inter", hint=root),
        Case("below", authority, sent="inter", trusted="inter", hint=root),
        Case("below", 'the certificate "root" is self-signed', sent="chain", trusted="other", hint="name that"),
        Case("leaf", 'the certificate "leaf", which "root" has signed', trusted="other", hint=root),
        Case("client", 'the certificate "client", which "root" has signed', hint="openssl verify"),
        Case("signer", "the server's certificate could not be verified"),
        Case("outside", 'an authority of the certificate "outside" may not sign for its names', sent="narrow"),
        Case("expired", '"expired" expired at 20'), Case("under-stale", '"stale" expired at 20', sent="stale"),
        Case("future", '"future" is not valid before 2090-01-01T00:00:00.000Z'),
        Case("alone", '"alone" is self-signed', hint="name that certificate in upstream.tls.ca_file"),
        Case("forged", 'the signature of the certificate "forged" is wrong'),
        Case("leaf", "for another host", host="localhost", hint="upstream.base_url"),
    ])


def system_roots(place):
    """SSL_CERT_FILE and SSL_CERT_DIR name the system's roots; a daemon reads them again at SIGHUP"""
    certificates = Certificates(place.path("certificates"))
    certificates.root("root")
    certificates.root("other")
    certificates.signed("leaf", "root", LOCAL)
    hashed = certificates.folder / "hashed"
    hashed.mkdir()
    shutil.copy(certificates.file("root"), hashed)
    openssl("rehash", hashed)
    server = place.keep(Server(certificates, "leaf"))
    base = f"https://127.0.0.1:{server.port}"

    def roster(**variables):
        made = Roster(place.path("rosterd"), place.program, base)
        made.environment |= variables
        return made
    for variables in [{"SSL_CERT_FILE": certificates.file("root")}, {"SSL_CERT_DIR": hashed}]:
        assert roster(**variables).sync()["outcome"] == "published"
    assert "vouches for the certificate" in roster().sync(exit=69)["error"]
    file = certificates.folder / "system.pem"
    shutil.copy(certificates.file("other"), file)
    daemon = roster(SSL_CERT_FILE=file)
    with open(daemon.folder / "daemon.log", "wb") as log:
        process = subprocess.Popen([daemon.program, "run"], env=daemon.environment, stdout=log, stderr=log)
    with ended(process):
        text = daemon.folder / "daemon.log"
        wait_until(lambda: "vouches for the certificate" in text.read_text(), "a refused certificate")
        shutil.copy(certificates.file("root"), file)
        os.utime(file, (EPOCH, EPOCH))
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: "configuration reloaded" in text.read_text(), "the reload")
        report = daemon.end(daemon.start(daemon.control, "sync", "--wait", "--json"))
        assert report["outcome"] == "published", report


def silent_dns(place):
    """A name server that does not answer: the reason is dns, and the message says so (as root only)"""
    # No package would help a user who may not mount.
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
        return
    folder = place.path("rosterd")
    roster = Roster(folder, place.program, "https://upstream.test", upstream_timeout="1s", retry_max_retries="1")
    settings = folder / "resolv.conf"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        # resolv.conf(5) has no port.
        silent.bind(("127.0.0.153", 53))
        settings.write_text("nameserver 127.0.0.153\noptions timeout:5 attempts:1\n")
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", 'mount --bind "$1" /etc/resolv.conf; exec "$2" sync --json', "sh", settings,
             roster.program], env=roster.environment, capture_output=True, text=True, timeout=PATIENCE)
        silent.setblocking(False)
        assert silent.recv(512), "the name server was not asked"
    assert done.returncode == 69, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert "the name upstream.test has no address in time: no name server answers" in report["error"], report["error"]
    assert report["retries"] == 1, report
    trouble = json.loads((folder / "roster.db.trouble").read_text())["trouble"]
    assert trouble["kind"] == "dns", trouble


TESTS = [names, weak, causes, system_roots, silent_dns]
