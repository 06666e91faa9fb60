"""45: hostile clients during a sync. Afterwards the daemon must use no more resources than before."""

import random
import select
import socket
import sqlite3
import time
from contextlib import ExitStack, suppress

from programs import wait_until
from support import Characters, Client, Daemon, Nginx

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
STATUS = b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n"
CONNECTIONS = 256
MIB = 1 << 20
# Each stuck reader may have 256 KiB waiting, and the allocator does not return all memory.
ALLOWED = 24 * MIB


class Site:
    def __init__(self, daemon, syncs, long):
        self.daemon, self.syncs, self.long = daemon, syncs, long

    def many(self, stack, count):
        return [stack.enter_context(Client(self.daemon.socket)) for _ in range(count)]


def run(lines, program, folder, long):
    folder = folder / "attack"
    folder.mkdir()
    nginx = Nginx(folder / "pages", 1000)
    try:
        with Daemon(
            program, folder / "rosterd", nginx.base, ROSTERD_SYNC_INTERVAL="100ms", ROSTERD_SYNC_RETRY_INTERVAL="1s",
        ) as daemon:
            daemon.until(lambda status: status["cache"]["snapshot"])
            site = Site(daemon, lambda: ended_syncs(daemon), long)
            warm(site)
            # Measured while no sync runs, because memory for syncs is not caused by clients.
            daemon.until(lambda status: status["state"] == "idle")
            base = daemon.resident()
            attacks = [
                idle, crowd, half_heads, huge_heads, byte_by_byte, big_bodies, pipelines, unread_syncs, garbage,
                upgraded, half_closed, storm, stuck_readers, slow_reader]
            for attack in attacks:
                lines.check(f"45: {attack.__doc__}", lambda attack=attack: one(site, attack))
            if long:
                # Memory that the first round has left is not a leak if the second round needs no more.
                base = daemon.resident()
                for attack in attacks:
                    lines.check(f"45: again, {attack.__doc__}",
                                lambda attack=attack: one(site, attack))
            lines.check("45: after all attacks the memory has grown by little", lambda: memory(site, base))
            lines.check("45: the syncs went on", lambda: went_on(site))
        lines.check("45: " + large_answers.__doc__, lambda: large_answers(program, folder / "large"))
    finally:
        nginx.stop()


def ended_syncs(daemon):
    return [sync for sync in daemon.json("/v1/syncs?limit=1000")["syncs"] if sync["exit"] is not None]


def large_answers(program, folder):
    """the largest answers, which fit into no socket, not read: disconnected if there are too many"""
    upstream = Characters(program, pages=3)
    with Daemon(program, folder, upstream.base) as daemon:
        daemon.until(lambda status: status["state"] == "idle")
        daemon.stop()
    database = sqlite3.connect(folder / "state/roster.db")
    columns = [row[1] for row in database.execute("PRAGMA table_info(syncs)") if row[1] != "id"]
    names = ", ".join(columns)
    for _ in range(1000):
        database.execute(f"INSERT INTO syncs ({names}) SELECT {names} FROM syncs WHERE id = 1")
    database.commit()
    database.close()
    with Daemon(program, folder, upstream.base) as daemon, ExitStack() as stack:
        daemon.until(lambda status: status["state"] == "idle")
        request = b"GET /v1/syncs?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with daemon.connect() as client:
            client.send(request)
            size = len(client.read().body)
        assert size > 250_000, size
        before, sizes = daemon.resident(), []
        clients = [stack.enter_context(Client(daemon.socket)) for _ in range(250)]
        for client in clients:
            client.send(request)

        def have_made_room():
            assert daemon.ask("GET", "/healthz").status == 200
            sizes.append(daemon.resident())
            return reporting(clients, select.POLLRDHUP) >= 12

        # A reader that reads nothing for a second is disconnected, and makes room for the next one.
        wait_until(have_made_room, "readers that read nothing are disconnected")
        whole = 0
        for client in clients:
            with suppress(OSError):  # given up
                client.socket.shutdown(socket.SHUT_WR)
            whole += client.read_all().endswith(b"]}\n")
    upstream.stop()
    grown = (max(sizes) - before) / MIB
    assert grown < 64, f"{grown:.0f} MiB more"
    return f"{size // 1024} KiB each, {whole} of {len(clients)} kept, at most {grown:.1f} MiB more"


def warm(site):
    for _ in range(300):
        site.daemon.status()
        site.syncs()


def one(site, attack):
    daemon = site.daemon
    with daemon.connect() as client:
        client.ask("GET", "/healthz")
    before = quiet_descriptors(daemon)
    memory, peak, slowest = daemon.resident(), [0], [0]
    syncs, start = len(site.syncs()), time.monotonic()

    def watch():
        peak[0] = max(peak[0], daemon.resident())
        asked = time.monotonic()
        status = daemon.ask("GET", "/healthz")
        assert status.status == 200, status
        slowest[0] = max(slowest[0], time.monotonic() - asked)

    note = attack(site, watch)
    took = time.monotonic() - start
    ended = len(site.syncs()) - syncs
    wait_until(lambda: quiet_descriptors(daemon) <= before, f"{daemon.descriptors()} descriptors, {before} before", 20)
    grown = (peak[0] - memory) / MIB
    assert peak[0] - memory < 2 * ALLOWED, f"{grown:.0f} MiB more at its peak"
    # Other clients must not be delayed, however loaded the machine is.
    assert slowest[0] < 3, f"/healthz took {slowest[0]:.1f} s"
    return (
        f"{note + ', ' if note else ''}at most {grown:.1f} MiB more, "
        f"others answered within {slowest[0] * 1000:.0f} ms, {ended} syncs in {took:.1f} s")


def quiet_descriptors(daemon):
    """The descriptors of the status socket; those of the sync, its connections and files, vary."""
    import os

    folder = f"/proc/{daemon.process.pid}/fd"
    inodes = set()
    for name in os.listdir(folder):
        try:
            target = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    with open("/proc/net/unix") as sockets:
        return sum(1 for line in sockets if line.split()[6] in inodes)


def idle(site, watch):
    """1,000 idle connections: 256 stay, the longest idle makes room"""
    with ExitStack() as stack:
        clients = []
        for index in range(1000):
            clients.append(stack.enter_context(Client(site.daemon.socket)))
            if index % 100 == 0:
                watch()
        watch()
        open_ones = sum(is_open(client) for client in clients)
        # The watching client has taken a place too, each time.
        assert CONNECTIONS - 12 <= open_ones <= CONNECTIONS, open_ones
        assert not any(is_open(client) for client in clients[:700]), "the longest idle go first"
        # The newest still answers.
        clients[-1].send(GET)
        assert clients[-1].read().status == 200
    return f"{open_ones} kept"


def crowd(site, watch):
    """1,000 clients at once that each send one request: never more than 256"""
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(site.daemon.socket)) for _ in range(1000)]
        for client in clients:
            with suppress(OSError):  # it has made room already
                client.send(GET)
        watch()
        open_ones = sum(is_open(client) for client in clients)
        assert open_ones <= CONNECTIONS, open_ones
        assert quiet_descriptors(site.daemon) <= CONNECTIONS + 12, quiet_descriptors(site.daemon)
    return f"{open_ones} kept"


def is_open(client):
    """True if the daemon has not closed the connection; received bytes are dropped."""
    client.socket.setblocking(False)
    try:
        while client.socket.recv(65536):
            pass
        return False
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        client.socket.setblocking(True)


def half_heads(site, watch):
    """half a head, half a body: 408 after 10 s"""
    starts = [b"", b"GET /heal", GET[:-2],
              b"POST /v1/sync HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
              b"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", b"\r\n\r\n"]
    with ExitStack() as stack:
        clients = site.many(stack, len(starts) * (30 if site.long else 1))
        begun = time.monotonic()
        for index, client in enumerate(clients):
            client.send(starts[index % len(starts)])
        watch()
        for client in clients:
            client.read().problem(408)
            assert time.monotonic() - begun > 9.5
            assert client.read_all() == b""
        watch()


def huge_heads(site, watch):
    """heads without an end: 431"""
    with ExitStack() as stack:
        clients = site.many(stack, 200 if site.long else 50)
        for client in clients:
            with suppress(BrokenPipeError, ConnectionResetError):
                client.send(b"GET / HTTP/1.1\r\nX: " + b"x" * (MIB if site.long else 100_000))
        watch()
        for client in clients:
            client.read().problem(431)


def byte_by_byte(site, watch):
    """heads and bodies byte by byte"""
    text = b"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 400\r\n\r\n" + b"x" * 400
    with ExitStack() as stack:
        clients = site.many(stack, 100 if site.long else 20)
        for byte in text:
            for client in clients:
                client.send(bytes([byte]))
        watch()
        for client in clients:
            client.read().problem(404)


def big_bodies(site, watch):
    """bodies of 64 KiB without an end, and larger bodies: 413"""
    with ExitStack() as stack:
        clients = site.many(stack, 250 if site.long else 50)
        for client in clients:
            head = b"POST /v1/sync HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            client.send(head + b"ffff\r\n" + b"x" * 0xffff)
        watch()
        for client in clients:
            client.send(b"\r\n10\r\n" + b"x" * 16)
        for client in clients:
            client.read().problem(413)


def pipelines(site, watch):
    """thousands of pipelined requests whose answers are not read"""
    with ExitStack() as stack:
        clients = site.many(stack, 250 if site.long else 60)
        sent = sum(push(client, STATUS * 20_000) for client in clients)
        sent += sum(push(client, STATUS * 20_000) for client in clients)
        for _ in range(20):
            watch()
    return f"{sent // len(STATUS)} requests taken"


def reporting(clients, event):
    """Number of clients whose socket has this event of poll(2)."""
    poll = select.poll()
    for client in clients:
        poll.register(client.socket, event)
    return len(poll.poll(0))


def push(client, data):
    """Sends until the daemon accepts no more."""
    client.socket.setblocking(False)
    sent = 0
    try:
        while sent < len(data):
            sent += client.socket.send(data[sent:sent + 65536])
    except BlockingIOError:
        pass
    except ConnectionError:
        pass
    finally:
        client.socket.setblocking(True)
    return sent


def unread_syncs(site, watch):
    """the largest answers, requested again and again and not read"""
    with ExitStack() as stack:
        clients = site.many(stack, 250 if site.long else 60)
        for client in clients:
            push(client, b"GET /v1/syncs?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200)
        wait_until(lambda: watch() or reporting(clients, select.POLLIN) == len(clients), "an answer for each client")


def garbage(site, watch):
    """random bytes, a TLS client hello, binary zeros, a shell's line"""
    dice = random.Random(7)
    hello = bytes.fromhex("16030100c8010000c40303") + dice.randbytes(194)
    for index in range(400 if site.long else 100):
        kinds = [hello, dice.randbytes(dice.randint(1, 5000)), b"\0" * 3000, b"help\r\n", b"\xff" * 20000,
                 b"GET\t/ HTTP/9.9\n\n"]
        data = kinds[index % len(kinds)]
        with Client(site.daemon.socket) as client:
            push(client, data)
            client.socket.shutdown(socket.SHUT_WR)
            text = client.read_all()
            assert text == b"" or text.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 ")), text[:100]
    watch()


def upgraded(site, watch):
    """an upgrade to an unknown protocol, followed by endless bytes"""
    with ExitStack() as stack:
        clients = site.many(stack, 20)
        for client in clients:
            head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
            push(client, head + b"x" * 4 * MIB)
            push(client, b"x" * 4 * MIB)
        watch()
        for client in clients:
            assert client.read().status == 200


def half_closed(site, watch):
    """clients that shut their side down, and clients that disconnect without a word, event readers too"""
    for index in range(400 if site.long else 100):
        with Client(site.daemon.socket) as client:
            client.send(GET * 10)
            client.socket.shutdown(socket.SHUT_WR)
            if index % 2:
                assert client.read_all().count(b"HTTP/1.1 200 OK") == 1
        with Client(site.daemon.socket) as client:
            client.send(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client.read_to(b"\r\n\r\n")
            client.socket.shutdown(socket.SHUT_WR)
        with Client(site.daemon.socket) as client:
            client.send(b"GET /heal")
            client.socket.shutdown(socket.SHUT_WR)
            client.read_all()
    watch()


def storm(site, watch):
    """10,000 short connections"""
    count = 10_000
    for index in range(count):
        with Client(site.daemon.socket) as client:
            if index % 3 == 0:
                client.send(GET)
            if index % 9 == 0:
                client.read()
        if index % 2000 == 0:
            watch()


def stuck_readers(site, watch):
    """readers of /v1/events that never read are dropped"""
    with ExitStack() as stack:
        clients = site.many(stack, 50 if site.long else 10)
        for client in clients:
            # Small, so that few events fill it.
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.send(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")

        def readers():
            watch()
            return sum(writable(client) for client in clients)

        wait_until(lambda: readers() == 0, "they are dropped", 60)


def slow_reader(site, watch):
    """a reader of /v1/events that reads slowly is dropped too, one that reads fast is not"""
    with Client(site.daemon.socket) as slow, Client(site.daemon.socket) as quick:
        for client in [slow, quick]:
            client.send(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        end = time.monotonic() + 60
        read = 0
        while time.monotonic() < end:
            quick.bytes = b""
            quick.more()
            read += len(quick.bytes)
            try:
                if int(time.monotonic() * 20) % 2 and not slow.socket.recv(64):
                    break
            except ConnectionError:
                break
            if not writable(slow):
                break
        else:
            raise AssertionError("it was not dropped")
        watch()
        quick.bytes = b""
        quick.more()
        assert quick.bytes
    return f"the other one read {read // 1024} KiB meanwhile"


def writable(client):
    """True if the daemon still has its end of the connection."""
    try:
        client.socket.send(b"\r\n")
        return True
    except ConnectionError:
        return False


def memory(site, base):
    # The same condition as for the base: no sync runs.
    site.daemon.until(lambda status: status["state"] == "idle")
    grown = site.daemon.resident() - base
    assert grown < ALLOWED, f"{grown / MIB:.1f} MiB more"
    return f"{grown / MIB:.1f} MiB more than the {base / MIB:.1f} before"


def went_on(site):
    syncs = site.syncs()
    assert all(sync["outcome"] in ("published", "unchanged") for sync in syncs), syncs[:3]
    assert len(syncs) > 10
    return f"{len(syncs)} syncs of 1,000 pages, none failed"
