"""44: the latency of answers during a sync, which wait for no other client."""

import sqlite3
import threading
import time

from support import Characters, Daemon, Nginx

TARGETS = ["/v1/status", "/healthz", "/readyz", "/metrics"]
# These read the database; of changes the first hundred, whole records before and after.
READING = ["/v1/syncs", "/v1/changes?since=0"]


def run(lines, program, folder, long):
    lines.check("44: it answers while the database is locked and upstream is silent",
                lambda: stuck(program, folder / "stuck"))
    if long:
        lines.check("44: the p99 of each path is within 10 ms while a sync runs at full speed",
                    lambda: figures(program, folder / "fast"))


def stuck(program, folder):
    """No limit in milliseconds: on a loaded machine only a blocked answer differs clearly from a slow one."""
    locked = 3.0
    upstream = Characters(program, pages=3)
    # The lock lasts longer than a sync waits for it. The next sync repairs the state.
    with Daemon(program, folder, upstream.base, ROSTERD_SYNC_RETRY_INTERVAL="1s") as daemon:
        daemon.until(lambda status: status["state"] == "idle")
        database = sqlite3.connect(folder / "state/roster.db", isolation_level=None)
        try:
            database.execute("BEGIN IMMEDIATE")
            with daemon.connect() as asking:
                # The row cannot be written, so this request has to wait, or gets the reason.
                asking.send("POST /v1/sync HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
                answered = ask_for(daemon, locked)
                database.execute("ROLLBACK")
                assert asking.read().status in (202, 503)
        finally:
            database.close()
        daemon.until(lambda status: status["state"] == "idle")
        upstream.hold()
        daemon.ask("POST", "/v1/sync")
        daemon.until(lambda status: (status["sync"]["current"] or {}).get("in_flight"))
        answered += ask_for(daemon, 0.5)
        upstream.release()
        daemon.until(lambda status: status["state"] == "idle")
    upstream.stop()
    worst = max(answered)
    assert worst < locked / 2, f"an answer took {worst:.3f} s"
    return f"{len(answered)} answers meanwhile, the slowest after {worst * 1000:.1f} ms"


def ask_for(daemon, seconds):
    times = []
    end = time.monotonic() + seconds
    with daemon.connect() as client:
        while time.monotonic() < end:
            for target in [*TARGETS, *READING]:
                start = time.perf_counter()
                assert client.ask("GET", target).status == 200
                times.append(time.perf_counter() - start)
            time.sleep(0.01)  # so many answers are enough: what is looked for lasts as long as the lock
    return times


def figures(program, folder):
    folder.mkdir()
    nginx = Nginx(folder / "pages", 3000)
    stop = threading.Event()
    try:
        with Daemon(program, folder / "rosterd", nginx.base, ROSTERD_SYNC_INTERVAL="100ms") as daemon:
            first = daemon.until(lambda status: status["cache"]["snapshot"])["cache"]["snapshot"]
            # The first snapshot writes no changes, and there are to be some to read.
            nginx.serve("c")
            daemon.until(lambda status: status["cache"]["snapshot"] != first)
            assert len(daemon.json("/v1/changes?since=0")["changes"]) == 100

            def change():
                which = "b"
                while not stop.wait(1.5):
                    nginx.serve(which)
                    which = "ab"[which == "a"]

            changing = threading.Thread(target=change)
            changing.start()
            try:
                return "\n" + "\n".join(
                    [measure(daemon, target) for target in [*TARGETS, *READING]]
                    + [tell(daemon)])
            finally:
                stop.set()
                changing.join()
    finally:
        nginx.stop()


def measure(daemon, target):
    times = []
    running = 0
    client = daemon.connect()
    while running < 2000:
        if running % 50 == 0:
            daemon.until(lambda status: status["sync"]["current"])
        start = time.perf_counter()
        assert client.ask("GET", target).status == 200
        times.append(time.perf_counter() - start)
        running += 1
        # A fixed load: requests without pauses would take the time that the sync needs.
        time.sleep(0.001)
    client.socket.close()
    times.sort()
    p50, p99 = times[len(times) // 2] * 1000, times[len(times) * 99 // 100] * 1000
    line = f"        {target:19} p50 {p50:.2f} ms, p99 {p99:.2f} ms, longest {times[-1] * 1000:.1f} ms"
    print(line, flush=True)
    assert p99 < 10, line
    return line


def tell(daemon):
    syncs = [sync for sync in daemon.json("/v1/syncs?limit=1000")["syncs"] if sync["exit"] is not None]
    outcomes = [sync["outcome"] for sync in syncs]
    return (
        f"        {len(syncs)} syncs of 3,000 pages meanwhile: {outcomes.count('published')} published, "
        f"{outcomes.count('failed')} failed")
