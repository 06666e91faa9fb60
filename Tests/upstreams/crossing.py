"""A relay to a server, on which a request and the server's end of the connection cross."""

import contextlib
import itertools
import math
import socket
import struct
import threading

from relay import Relay

# Types of TLS' records (RFC 5246 §6.2.1).
ALERT, APPLICATION = 21, 23
RESET = struct.pack("ii", 1, 0)


class Crossing(Relay):
    """Relays connections to a server that closes idle ones. The close is passed on only after another request was sent
    on that connection. The request is not passed on: it collides with the end of the connection.

    due: this many of the next requests on kept connections wait here until the server has closed their connection.
    With TLS, which must be 1.2, records are distinguished by their type; otherwise each byte belongs to HTTP.
    """

    def __init__(self, server, due=math.inf):
        self.to, self.tls, self.due, self.crossed = server.port, bool(server.certificate), due, 0
        self.counting = threading.Lock()
        super().__init__()
        self.base = server.base.replace(f":{server.port}", f":{self.port}")

    def carry(self, client):
        idle, goodbyes = threading.Event(), []
        with client, socket.create_connection(("127.0.0.1", self.to)) as server:
            for end in [client, server]:
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            down = threading.Thread(target=self.answers, args=[server, client, idle, goodbyes], daemon=True)
            down.start()
            with contextlib.suppress(OSError):
                for kind, part in self.parts(client):
                    if kind == APPLICATION and idle.is_set():
                        if self.is_due() or not down.is_alive():
                            down.join()
                            self.cross(client, goodbyes)
                            return
                        idle.clear()
                    server.sendall(part)
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            down.join()

    def is_due(self):
        with self.counting:
            if self.due:
                self.due -= 1
                return True
            return False

    def answers(self, server, client, idle, goodbyes):
        with contextlib.suppress(OSError):
            for kind, part in self.parts(server):
                if kind == ALERT:
                    goodbyes.append(part)
                    continue
                if kind == APPLICATION:
                    idle.set()
                client.sendall(part)
        if not idle.is_set():
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def cross(self, client, goodbyes):
        """Every second close is a reset, as a server's kernel may send it."""
        with self.counting:
            self.crossed += 1
            resets = self.crossed % 2
        if resets:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        else:
            client.sendall(b"".join(goodbyes))

    def parts(self, connection):
        """The received parts with their kinds."""
        if not self.tls:
            for part in iter(lambda: connection.recv(65536), b""):
                yield APPLICATION, part
            return
        for head in itertools.takewhile(len, iter(lambda: connection.recv(5, socket.MSG_WAITALL), None)):
            yield head[0], head + connection.recv(int.from_bytes(head[3:]), socket.MSG_WAITALL)
