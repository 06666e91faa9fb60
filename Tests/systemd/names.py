"""A name server (RFC 1035) on 127.0.0.1, for which every name is 127.0.0.1."""

import socket

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
while True:
    query, peer = server.recvfrom(512)
    end = query.index(b"\0", 12) + 5
    is_a = query[end - 4:end - 2] == b"\0\1"
    record = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1" if is_a else b""
    server.sendto(query[:2] + b"\x81\x80\0\1\0" + bytes([is_a]) + b"\0\0\0\0" + query[12:end] + record, peer)
