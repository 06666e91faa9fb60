"""Programs for tests: to find them, to wait for them, to end them."""

import contextlib
import glob
import os
import resource
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


def leaves_core(arguments, folder, is_ready, number=signal.SIGSEGV, environment=None):
    """Starts a program in a folder, without a limit on core files, and crashes it when it is ready. True if the kernel
    has made a core file, or handed one to the program in kernel.core_pattern."""
    def prepare():
        # A shell lets its background jobs ignore SIGQUIT.
        signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    # Swift's backtracer returns from its handler, and a signal of kill(2) does not come again. Release builds lack it.
    environment = {**(environment or os.environ), "SWIFT_BACKTRACE": "enable=no"}
    process = subprocess.Popen(
        arguments, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, preexec_fn=prepare)
    try:
        wait_until(lambda: is_ready(process), "the program is ready")
    finally:
        process.send_signal(number)
        _, status = os.waitpid(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == -number, process.returncode
    return os.WCOREDUMP(status) or bool(glob.glob(f"{folder}/core*"))


def expect_no_core(program, folder, is_ready, **more):
    """Each signal of a crash leaves no core file of that program, though it leaves one of another program."""
    folder.mkdir()
    try:
        if not leaves_core([tool("sleep"), "60"], folder, lambda _: True):
            print("     this machine makes no core files at all", flush=True)
    except ValueError:
        # The hard limit is lower.
        print("     left out, since no core file is allowed here", flush=True)
        return
    for core in glob.glob(f"{folder}/core*"):
        os.unlink(core)
    for number in [signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT]:
        assert not leaves_core(program, folder, is_ready, number, **more), f"a core file after {number.name}"


def overdue(*_):
    """The handler of SIGALRM: a test that hangs fails."""
    raise TimeoutError("the tests took too long")
