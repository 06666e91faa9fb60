"""Programs for tests: to find them, to wait for them, to end them."""

import contextlib
import glob
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

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
    folder = Path(os.environ.get(f"ROSTERD_{name.upper()}_VENV", ROOT / f".build/{name}-venv"))
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != "\n".join(requirements):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True, timeout=120)
        subprocess.run([folder / "bin/pip", "install", "-q", *requirements], check=True, timeout=240)
        stamp.write_text("\n".join(requirements))
    return folder


def free_port():
    """A port below those that the kernel gives to clients: otherwise a client may take it before the server listens."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def openssl(*words, folder=None):
    done = subprocess.run([tool("openssl"), *words], capture_output=True, cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def nginx(folder, port, http, connections=256):
    """Starts nginx in the foreground with this `http` block, and waits until the port answers."""
    (folder / "nginx.conf").write_text(nginx_configuration(folder, http, connections))
    process = subprocess.Popen(
        [tool("nginx"), "-p", folder, "-e", folder / "nginx.log", "-c", folder / "nginx.conf"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: answers(port), "nginx answers")
    return process


def nginx_configuration(folder, http, connections=256):
    """All files of nginx are in the folder, also if root starts it."""
    user = "user root;" if os.geteuid() == 0 else ""
    temporary = "".join(
        f"{name}_temp_path {folder}/tmp-{name};" for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    return f"""
        {user} daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log notice;
        events {{ worker_connections {connections}; }}
        http {{ {temporary} {http} }}"""


def wait_until(condition, what, patience=PATIENCE):
    """Polls for conditions without a notification: a foreign program that is ready, a log line, the view of a
    reader."""
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.01)


def heed_signals():
    """For `preexec_fn`: the program heeds the signals that a shell lets its background jobs ignore, and nohup(1) its
    program."""
    for number in [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP]:
        signal.signal(number, signal.SIG_DFL)


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


def limit(seconds):
    """A test that hangs fails after these seconds. SIGTERM ends the tests in an orderly way."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(seconds)


def overdue(*_):
    raise TimeoutError("the tests took too long")


def rosterd(given, build="debug"):
    """The path of the program: the first word, else $ROSTERD_BIN, else the one of this build."""
    path = Path(given[0] if given else os.environ.get("ROSTERD_BIN", ROOT / f".build/{build}/rosterd")).absolute()
    if not os.access(path, os.X_OK):
        sys.exit(f"{path} is missing: {'make build' if build == 'release' else 'swift build --build-tests'}")
    return path


def outcome(name, test, folder=None):
    """Runs a test, which may return a note, and prints its outcome: `ok`, `FAILED` or `skipped`. If it fails, the ends
    of the logs in the folder follow."""
    started = time.monotonic()
    try:
        note = test()
        print(f"ok      {name}{f': {note}' if note else ''} ({time.monotonic() - started:.1f} s)", flush=True)
        return "ok"
    except Missing as missing:
        result = "FAILED" if "CI" in os.environ else "skipped"
        print(f"{result:7} {name}: {missing}", flush=True)
        return result
    except Exception:
        print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
        for log in folder.rglob("*.log") if folder else ():
            last = log.read_text(errors="replace").splitlines()[-20:]
            print(f"--- {log.relative_to(folder)}", *(line[:300] for line in last), sep="\n", flush=True)
        return "FAILED"


def tried(test, place, seconds):
    """The outcome of a test within this time. `place` is its first argument, and is stopped afterwards."""
    limit(seconds)
    try:
        return outcome(test.__doc__, lambda: test(place), place.folder)
    finally:
        signal.alarm(0)
        place.stop()


def finish(outcomes):
    """Prints the sum, and ends with 1 if a test has failed."""
    print(", ".join(f"{outcomes.count(word)} {said}" for word, said in [
        ("ok", "passed"), ("FAILED", "failed"), ("skipped", "skipped")]))
    sys.exit(1 if "FAILED" in outcomes else 0)
