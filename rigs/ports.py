"""Ports for the servers that tests and benches start.

They lie below those that outgoing connections get, and everybody takes the next number of one counter: nobody else has
a port before its server, which may start much later.
"""

import fcntl
import os
import socket
from pathlib import Path
from typing import Final

LOCAL = "127.0.0.1"
FIRST: Final = 20_000
LAST: Final = 32_767
"""Linux gives outgoing connections ports from 32,768 on, others from higher ones."""
COUNTER: Final = Path("/tmp") / f"perdure-ports-{os.getuid()}"
"""One for the machine, whatever `TMPDIR` says: runs with a folder of their own would all begin at the first port."""


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens."""
    (port,) = free_ports(1)
    return port


def free_ports(count: int) -> list[int]:
    """So many of them, all different."""
    with COUNTER.open("a+") as counter:
        fcntl.flock(counter, fcntl.LOCK_EX)
        counter.seek(0)
        port = int(counter.read() or LAST)
        found: list[int] = []
        while len(found) < count:
            port = port + 1 if port < LAST else FIRST
            if _is_free(port):
                found.append(port)
        counter.truncate(0)
        counter.write(str(port))
    return found


def _is_free(port: int) -> bool:
    try:
        socket.create_server((LOCAL, port)).close()
    except OSError:
        return False
    return True
