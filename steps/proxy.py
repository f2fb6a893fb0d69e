"""Joins two streams of bytes with the socket of the step runner, so that whatever starts a process can reach it.

Nothing but the bytes of the socket is written to the output. `python -m steps.proxy PATH` is the same as `perdure
step-runner proxy`, and begins sooner.
"""

import os
import socket
import sys
import threading
from pathlib import Path
from typing import Final

from domain.errors import Unavailable

_SIZE: Final = 256 * 1024


def join(path: Path, reading: int, writing: int) -> None:
    """Carry bytes both ways until the socket has no more. Raises `Unavailable` where nobody listens."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(path))
        except OSError as error:
            raise Unavailable(f"no step runner listens at {path}: {error.strerror}") from None
        threading.Thread(target=_send, args=(connection, reading), daemon=True).start()
        while data := _received(connection):
            view = memoryview(data)
            while view:
                view = view[os.write(writing, view) :]


def _send(connection: socket.socket, reading: int) -> None:
    """Until the input has no more: then the other side hears that nothing comes any more."""
    try:
        while data := os.read(reading, _SIZE):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        connection.close()


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(_SIZE)
    except ConnectionError:
        return b""


if __name__ == "__main__":
    join(Path(sys.argv[1]), sys.stdin.fileno(), sys.stdout.fileno())
