"""A listener on 127.0.0.1 that hands each connection to `carry` on a thread of its own."""

import contextlib
import socket
import threading


class Relay:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.carry, args=[client], daemon=True).start()

    def carry(self, client):
        raise NotImplementedError

    def join(self, client, server):
        """Passes all bytes on in both directions until both sides have ended."""
        back = threading.Thread(target=self.copy, args=[server, client], daemon=True)
        back.start()
        self.copy(client, server)
        back.join()

    @staticmethod
    def copy(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
