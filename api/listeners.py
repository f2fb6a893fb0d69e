"""Where a process listens: who comes in a crowd does not stand in a row."""

import socket
from typing import Final

from pods.loopback import family_of

TIMES: Final = 8
"""How often a process listens to its one port: it takes so many new connections in one turn of its loop."""


def listeners(host: str, port: int, backlog: int) -> list[socket.socket]:
    """One listening socket, several times. Raises `OSError` when the port is taken.

    libuv takes one connection from a socket in each turn of the loop, whatever waits (libuv, pull request 3696). Under
    load a turn is long: behind a crowd of clients that come again and again, a good one would wait for seconds.
    """
    first = socket.create_server((host, port), family=family_of(host), backlog=backlog)
    return [first, *(first.dup() for _ in range(TIMES - 1))]
