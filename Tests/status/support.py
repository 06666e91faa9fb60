"""The shared parts of the status socket's tests: a controllable upstream, a daemon, a client that sends raw bytes."""

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

from programs import PATIENCE, end, finish, free_port, nginx, outcome, wait_until
from simulator import CHARACTER, PAGE_SIZE, TOKENS, Simulator, character_page


class Characters(Simulator):
    """An upstream with this number of pages of characters. It grants tokens and requires none."""

    def __init__(self, program, pages=5):
        super().__init__(program)
        self.list(record=CHARACTER, ids=list(range(1, pages * PAGE_SIZE + 1)))
        self.change(tokens=TOKENS | {"isRequired": False}, hasValidators=False)


class Nginx:
    """Pages as files, as fast as this machine permits."""

    def __init__(self, folder, pages, size=PAGE_SIZE):
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}/api"
        folder.mkdir()
        # The pages have two versions, so that each sync has something to write; "c" differs from the first in a few
        # pages.
        for name, others in [("a", 0), ("b", pages), ("c", 20)]:
            (folder / name).mkdir()
            for number in range(1, pages + 1):
                text = json.dumps(character_page(number, pages * size, size)).encode()
                text = text if number > others else text.replace(b"Citizen", b"Denizen")
                (folder / name / f"{number}.json").write_bytes(text)
        self.folder = folder
        self.serve("a")
        # No validators: two versions of a page that were written within one second have the same Last-Modified, which
        # rosterd takes for a lying validator.
        self.process = nginx(folder, self.port, f"""
            access_log off; keepalive_requests 1000000;
            etag off; add_header Last-Modified "";
            server {{
              listen 127.0.0.1:{self.port};
              location = /api/character {{
                root {folder}/now;
                default_type application/json;
                try_files /$arg_page.json =404;
              }}
            }}""")

    def serve(self, name):
        link = self.folder / "now"
        link.unlink(missing_ok=True)
        link.symlink_to(self.folder / name)

    def stop(self):
        end(self.process)


class Daemon:
    """rosterd run in a folder of its own. `settings` by the names of environment variables."""

    def __init__(self, program, folder, base, configuration=None, wait=True, **settings):
        self.program = program
        self.folder = folder
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        (folder / "refresh_token").write_text("R0")
        self.socket = str(folder / "status.sock")
        environment = {
            "PATH": os.environ["PATH"], "STATE_DIRECTORY": str(folder / "state"), "RUNTIME_DIRECTORY": str(folder),
            "CREDENTIALS_DIRECTORY": str(folder), "ROSTERD_UPSTREAM_BASE_URL": base, "ROSTERD_SYNC_INTERVAL": "1h",
            "ROSTERD_SYNC_JITTER": "0s", "ROSTERD_RETRY_BASE_DELAY": "0s", "ROSTERD_RETRY_JITTER": "0s",
            "ROSTERD_LOG_FORMAT": "text", "ROSTERD_STATUS_SOCKET_MODE": "0666", **settings,
        }
        arguments = ["run"] + (["--config", str(configuration)] if configuration else [])
        self.log = folder / "daemon.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [program, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        if wait:
            self.wait()

    def wait(self):
        wait_until(lambda: self.process.poll() is not None or os.path.exists(self.socket), "the socket answers")
        assert self.process.poll() is None, self.log.read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(10)

    def connect(self, timeout=PATIENCE):
        return Client(self.socket, timeout)

    def ask(self, method, target, body=b"", **headers):
        with self.connect() as client:
            return client.ask(method, target, body, **headers)

    def json(self, target):
        answer = self.ask("GET", target)
        assert answer.status == 200, answer
        return json.loads(answer.body)

    def status(self):
        return self.json("/v1/status")

    def until(self, what):
        """Waits until `what` is true for the status, and returns the status."""
        found = {}

        def holds():
            found["status"] = self.status()
            return what(found["status"])

        wait_until(holds, f"the status: {json.dumps(found.get('status'))}")
        return found["status"]

    def sync(self, **wish):
        """Requests a sync, and waits until it has ended."""
        answer = self.ask("POST", "/v1/sync", json.dumps(wish).encode() if wish else b"")
        assert answer.status == 202, answer
        number = json.loads(answer.body)["sync"]
        return self.until(lambda status: (status["sync"]["last"] or {}).get("id", 0) >= number)

    def resident(self):
        """Number of resident bytes."""
        return self.statm()[1]

    def own(self):
        """Number of resident bytes without a file."""
        _, resident, shared, *_ = self.statm()
        return resident - shared

    def statm(self):
        """The numbers of proc_pid_statm(5) in bytes."""
        text = Path(f"/proc/{self.process.pid}/statm").read_text()
        return [int(pages) * os.sysconf("SC_PAGESIZE") for pages in text.split()]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:300]!r}"

    def problem(self, status):
        """Expects an error in the documented form (RFC 9457)."""
        assert self.status == status, self
        assert self.headers["content-type"] == "application/problem+json", self
        problem = json.loads(self.body)
        assert problem["status"] == status and problem["title"] and problem["detail"], self
        return problem["detail"]


class Client:
    """One connection. It sends exactly the bytes that the test wrote. `ask` opens another one after each answer."""

    def __init__(self, path, timeout=PATIENCE):
        self.path, self.timeout = path, timeout
        self.connect()

    def connect(self):
        self.socket = socket.socket(socket.AF_UNIX)
        # With a timeout, connect would fail instead of waiting for its turn (connect(2), EAGAIN).
        self.socket.connect(self.path)
        self.socket.settimeout(self.timeout)
        self.bytes, self.is_used = b"", False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def ask(self, method, target, body=b"", **headers):
        if self.is_used:
            self.socket.close()
            self.connect()
        fields = {"Host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if body or method == "POST":
            fields.setdefault("Content-Length", str(len(body)))
        head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.send(head.encode() + b"\r\n" + body)
        return self.read(method)

    def read(self, method="GET"):
        """The next answer."""
        head, _, self.bytes = self.read_to(b"\r\n\r\n").partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        version, status, _ = lines[0].split(" ", 2)
        assert version == "HTTP/1.1", head
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            assert name.lower() not in headers, f"{name} twice: {head}"
            headers[name.lower()] = value.strip()
        self.is_used = headers.get("connection") == "close"
        body = b""
        if method != "HEAD" and int(status) >= 200:
            length = int(headers["content-length"])
            while len(self.bytes) < length:
                self.more()
            body, self.bytes = self.bytes[:length], self.bytes[length:]
        return Answer(int(status), headers, body)

    def read_to(self, mark):
        while mark not in self.bytes:
            self.more()
        return self.bytes

    def read_all(self):
        """All bytes until the daemon closes the connection."""
        try:
            while True:
                self.more()
        except EOFError:
            return self.bytes

    def more(self):
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            raise EOFError(f"the daemon closed after {self.bytes[-300:]!r}")
        self.bytes += data


class Lines:
    """Prints the outcome of each test, and the sum."""

    def __init__(self):
        self.outcomes = []

    def check(self, name, test):
        self.outcomes.append(outcome(name, test))

    def end(self):
        finish(self.outcomes)
