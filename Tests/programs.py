"""Programs for tests: to find them, to wait for them, to end them."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

# Maximum time of one program in seconds.
PATIENCE = 60


class Missing(Exception):
    """A program that is not installed."""


def tool(name):
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not found:
        raise Missing(f"{name} is not installed")
    return found


def virtual_environment(name, requirements):
    """A virtual environment beside the build, so that the packages are fetched once."""
    root = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get(f"ROSTERD_{name.upper()}_VENV", root / f".build/{name}-venv"))
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != "\n".join(requirements):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True, timeout=120)
        subprocess.run([folder / "bin/pip", "install", "-q", *requirements], check=True, timeout=240)
        stamp.write_text("\n".join(requirements))
    return folder


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def wait_until(condition, what, patience=PATIENCE):
    """Polls for conditions without a notification: a foreign program that is ready, a log line, the view of a
    reader."""
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.01)


@contextlib.contextmanager
def ended(process, number=signal.SIGTERM):
    """Ends a program at the end of the block, whatever happens in the block."""
    try:
        yield process
    finally:
        end(process, number)


def end(process, number=signal.SIGTERM):
    process.send_signal(number)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def overdue(*_):
    """The handler of SIGALRM: a test that hangs fails."""
    raise TimeoutError("the tests took too long")
