"""nginx, HAProxy and Caddy from Debian: with the pages, or before another upstream."""

import contextlib
import json
import os
import signal
import socket
import subprocess

from programs import answers, end, free_port, nginx_configuration, tool, wait_until
from origins import Line


def told(act, log, words):
    """Performs the action, and waits until the log has one more line about it."""
    before = log.read_text().count(words)
    act()
    wait_until(lambda: log.read_text().count(words) > before, words)


class Front:
    """A server in the foreground, whose log has one line for each request.

    behind: the port of its upstream; None if it has the pages itself. lines: more of its configuration. shows: TLS
    is 1.2, so that the relay can read the type of a record.
    """

    def __init__(self, folder, pages, behind=None, certificate=None, packs=False, lines="", shows=False):
        self.folder, self.pages, self.behind, self.certificate = folder, pages, behind, certificate
        self.packs, self.lines, self.shows = packs, lines, shows
        folder.mkdir()
        self.port = free_port()
        self.process = None
        self.access = folder / "access.log"
        self.access.touch()
        self.configuration = folder / "configuration"
        self.configuration.write_text(self.configured())
        self.start()

    @property
    def base(self):
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"

    def start(self):
        with open(self.folder / "server.log", "ab") as log, open(self.access, "ab") as access:
            self.process = subprocess.Popen(
                [str(word) for word in self.command()], stdin=subprocess.DEVNULL, stderr=log,
                stdout=access if self.logs_to_stdout else log,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder)})
        wait_until(lambda: self.process.poll() is not None or answers(self.port), f"{self.name} answers")
        assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}"

    logs_to_stdout = False

    def stop(self, number=signal.SIGTERM):
        if self.process:
            end(self.process, number)
            self.process = None

    def restart(self):
        self.stop()
        self.start()

    def reload(self):
        """Returns after the old processes were asked to end, even if they still have requests to answer."""
        raise NotImplementedError

    def log(self):
        return [line for text in self.access.read_text().splitlines() for line in self.parsed(text)]

    def parsed(self, text):
        method, target, status, connection = text.split()
        return [Line(method, target, int(status), connection)]


class Nginx(Front):
    name = "nginx"

    def command(self):
        return [tool("nginx"), "-p", self.folder, "-e", self.folder / "nginx.log", "-c", self.configuration]

    def reload(self):
        told(lambda: self.process.send_signal(signal.SIGHUP), self.folder / "nginx.log", "gracefully shutting down")

    def configured(self):
        own = self.certificate
        tls = own and f"ssl_certificate {own.file}; ssl_certificate_key {own.key};"
        if self.shows:
            tls += " ssl_protocols TLSv1.2;"
        source = (f"proxy_pass http://127.0.0.1:{self.behind};" if self.behind
                  else f"root {self.pages.folder}; try_files /$arg_page.json =404;")
        return nginx_configuration(self.folder, f"""
            log_format line '$request_method $request_uri $status $connection';
            access_log {self.access} line;
            default_type application/json;
            gzip {"on" if self.packs else "off"}; gzip_types application/json; gzip_proxied any;
            {self.lines}
            server {{
              listen 127.0.0.1:{self.port} {"ssl http2" if tls else ""};
              {tls or ""}
              location = /api/character {{ {source} }}
            }}""", connections=512)


class HAProxy(Front):
    """Has no files; its log goes to stdout. A master reloads it, as under systemd. It does not retry requests
    itself. It has one thread: if two threads write a line at once, one line is dropped (fd_write_frag_line)."""

    name = "HAProxy"
    logs_to_stdout = True

    def command(self):
        return [tool("haproxy"), "-W", "-S", self.folder / "master", "-f", self.configuration]

    def reload(self):
        # A master that is still busy with its last reload forgets a signal.
        wait_until(self.master_listens, "HAProxy's master listens")
        told(lambda: self.process.send_signal(signal.SIGUSR2), self.access, "Proxy pages stopped")

    def master_listens(self):
        with socket.socket(socket.AF_UNIX) as master, contextlib.suppress(OSError):
            master.connect(str(self.folder / "master"))
            master.sendall(b"show proc\n")
            return bool(master.recv(1))

    def parsed(self, text):
        # Its master speaks there too.
        return super().parsed(text) if text.startswith("GET ") else []

    def configured(self):
        tls = f"ssl crt {self.certificate.both} alpn h2,http/1.1" if self.certificate else ""
        if self.shows:
            tls += " ssl-max-ver TLSv1.2"
        packs = "compression algo gzip\n  compression type application/json" if self.packs else ""
        return f"""
global
  nbthread 1
  log stdout format raw local0
defaults
  mode http
  timeout connect 5s
  timeout client 10s
  timeout server 10s
  option dontlognull
  retries 0
frontend pages
  bind 127.0.0.1:{self.port} {tls}
  log global
  log-format "%HM %HU %ST %cp"
  {packs}
  {self.lines}
  default_backend origin
backend origin
  server origin 127.0.0.1:{self.behind}
"""


class Caddy(Front):
    name = "Caddy"

    def command(self):
        return [tool("caddy"), "run", "--config", self.configuration, "--adapter", "caddyfile"]

    def stop(self, number=signal.SIGKILL):
        # On the request to end, it would first answer the pending requests.
        super().stop(number)

    def start(self):
        for name in ["data", "config"]:
            (self.folder / name).mkdir(exist_ok=True)
        super().start()

    def reload(self):
        subprocess.run(
            [tool("caddy"), "reload", "--force", "--config", self.configuration, "--adapter", "caddyfile",
             "--address", f"unix/{self.folder}/admin.sock"],
            check=True, timeout=30, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def parsed(self, text):
        told = json.loads(text)
        request = told["request"]
        return [Line(request["method"], request["uri"], told["status"], request["remote_port"])]

    def configured(self):
        tls = f"tls {self.certificate.file} {self.certificate.key}" if self.certificate else ""
        source = (f"reverse_proxy 127.0.0.1:{self.behind}" if self.behind
                  else f"root * {self.pages.folder}\n rewrite * /{{query.page}}.json\n file_server")
        packs = """encode {
    gzip
    match header Content-Type application/json*
  }""" if self.packs else ""
        return f"""
{{
  admin unix/{self.folder}/admin.sock
  auto_https disable_redirects
  storage file_system {self.folder}/data
  servers {{
    {self.lines}
  }}
}}
{self.base.replace("127.0.0.1", "")} {{
  bind 127.0.0.1
  log {{
    output file {self.access}
    format json
  }}
  {tls}
  {packs}
  {source}
}}
"""
