"""The resources of an idle daemon, and the time of its start."""

import socket
import statistics
import time
from pathlib import Path

from programs import PATIENCE, wait_until
from support import Characters, Daemon

MOST_OWN = 6_000_000
MOST_WAKEUPS = 1.3
LONGEST_START = 0.050
LARGEST_PROGRAM = 35_000_000


def run(lines, program, folder, long):
    lines.check("idle: under 6 MB of its own", lambda: idle(program, folder / "idle", 60 if long else 0))
    if long:
        lines.check("READY within 50 ms of the start", lambda: start(program, folder / "start"))
        lines.check("the programs are under 35 MB", lambda: size(program))


def idle(program, folder, seconds):
    """Measures after the first sync. Wakeups are the times that one of its threads had waited.

    Its own memory is the memory without a file. The rest of the resident memory is the program itself, which the
    kernel drops and reads again as needed.
    """
    upstream = Characters(program, pages=42)
    with Daemon(program, folder, upstream.base) as daemon:
        daemon.until(lambda status: status["state"] == "idle")
        # On a loaded machine the sync needed more threads, which have memory until Dispatch ends them.
        wait_until(lambda: daemon.own() < MOST_OWN, f"{daemon.own() / 1e6:.1f} MB are its own")
        # Dispatch ends the threads that the sync needed after five seconds. Their number at rest varies.
        time.sleep(6 if seconds else 0)
        before = switches(daemon.process.pid)
        time.sleep(seconds)  # wakeups are counted by the second
        # The count of a thread is lost when the thread ends; a thread that idles long enough to end has not woken
        # often.
        woken = sum(max(0, count - before.get(thread, 0)) for thread, count in switches(daemon.process.pid).items())
        woken /= seconds or 1
        own, resident = daemon.own(), daemon.resident()
    upstream.stop()
    assert own < MOST_OWN, f"{own / 1e6:.1f} MB"
    assert woken < MOST_WAKEUPS or not seconds, f"{woken:.2f} wakeups a second"
    wakeups = f", {woken:.2f} wakeups a second" if seconds else ""
    return f"{own / 1e6:.1f} MB, with the program {resident / 1e6:.1f} MB{wakeups}"


def switches(process):
    """Voluntary context switches of each thread (proc_pid_status(5))."""
    texts = {path: (path / "status").read_text() for path in Path(f"/proc/{process}/task").iterdir()}
    return {path: int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0]) for path, text in texts.items()}


def start(program, folder):
    """A start with an existing cache, as every start but the first; upstream does not answer."""
    folder.mkdir()
    upstream = Characters(program, pages=42)
    with Daemon(program, folder, upstream.base) as daemon:
        daemon.until(lambda status: status["state"] == "idle")
    upstream.hold()
    times = [ready(program, folder, upstream.base) for _ in range(10)]
    upstream.stop()
    median = statistics.median(times)
    assert median < LONGEST_START, [f"{seconds * 1000:.1f} ms" for seconds in times]
    return f"median {median * 1000:.1f} ms, of 10 {min(times) * 1000:.1f} to {max(times) * 1000:.1f} ms"


def ready(program, folder, base):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        path = folder / "notify"
        path.unlink(missing_ok=True)
        notify.bind(str(path))
        notify.settimeout(PATIENCE)
        began = time.perf_counter()
        with Daemon(program, folder, base, wait=False, NOTIFY_SOCKET=str(path)):
            while b"READY=1" not in notify.recv(4096):
                pass
            return time.perf_counter() - began


def size(program):
    sizes = {path.name: path.stat().st_size for path in [Path(program), Path(program).with_name("rosterctl")]}
    assert max(sizes.values()) < LARGEST_PROGRAM, sizes
    return ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items())
