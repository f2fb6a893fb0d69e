"""The front's listening socket, which outlives the front: connections wait in it while no front is there.

It belongs to the supervisor, or to systemd, and is handed to each front as an open file. A front gives it back to the
next supervisor, when the one that had it is gone, through a Unix socket beside the records of the processes.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

HANDED: Final = "PERDURE_LISTENING"
"""Environment variable of a process that was handed listening sockets: numbers of files, with commas between."""
FIRST_OF_SYSTEMD: Final = 3
"""systemd hands files from this number on, as many as `LISTEN_FDS` says (sd_listen_fds)."""
BACKLOG: Final = 2048
"""How many connections may wait; the system's own limit (`net.core.somaxconn`) may be lower."""
MAX_CONCURRENT: Final = 8
"""More listening sockets than that no process hands on."""
ANSWER: Final = 5.0
"""Seconds that a front has to give its sockets away."""
_MAX_LENGTH: Final = 100
"""The system takes Unix addresses up to 107 bytes."""


def opened(host: str, port: int) -> list[socket.socket]:
    """Listening sockets of an address, one of each family that it has; raises OSError if the port is taken."""
    found: list[socket.socket] = []
    try:
        for family, _, _, _, address in _resolved(host, port):
            one = socket.socket(family, socket.SOCK_STREAM)
            found.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(address)
            one.listen(BACKLOG)
            one.setblocking(False)
    except OSError as error:
        for one in found:
            one.close()
        raise OSError(error.errno, f"cannot listen on {host}:{port}: {(error.strerror or '').lower()}") from error
    return found


def _resolved(host: str, port: int) -> list[tuple[int, int, int, str, tuple[str, int]]]:
    flags = socket.AI_PASSIVE
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=flags)
    return list(dict.fromkeys(found))  # type: ignore[arg-type]  # addresses are tuples of text and numbers


def handed(environment: Mapping[str, str] | None = None) -> list[socket.socket]:
    """The listening sockets that whoever started this process has opened for it: our supervisor, or systemd."""
    given = os.environ if environment is None else environment
    numbers = [int(number) for number in given.get(HANDED, "").split(",") if number]
    if not numbers and given.get("LISTEN_PID") == str(os.getpid()):
        numbers = list(range(FIRST_OF_SYSTEMD, FIRST_OF_SYSTEMD + int(given.get("LISTEN_FDS", "0"))))
    return [_listening(number) for number in numbers]


def _listening(number: int) -> socket.socket:
    """The socket of an open file; raises OSError if it is none."""
    one = socket.socket(fileno=number)
    one.setblocking(False)
    os.set_inheritable(number, False)
    return one


def hand_on(sockets: Sequence[socket.socket]) -> dict[str, str]:
    """What the environment of a child says that gets these sockets; `pass_fds` of its start has to name them too."""
    return {HANDED: ",".join(str(one.fileno()) for one in sockets)} if sockets else {}


def addresses(host: str, port: int) -> set[tuple[str, int]]:
    """Where `opened` listens."""
    return {(str(address[0]), port) for _, _, _, _, address in _resolved(host, port)}


def address_of(sockets: Sequence[socket.socket]) -> set[tuple[str, int]]:
    """Where they listen."""
    return {one.getsockname()[:2] for one in sockets}


@contextlib.asynccontextmanager
async def offered(sockets: Sequence[socket.socket], home: Path) -> AsyncIterator[None]:
    """Give the sockets to whoever asks, as long as the block runs; only who may write into `home` can ask."""
    path = offer_of(home, os.getpid())
    if HANDED not in os.environ or not path.parent.is_dir():  # no supervisor will ask
        yield
        return
    path.unlink(missing_ok=True)

    async def give(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with (
            contextlib.suppress(OSError),
            socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno())) as end,
        ):
            socket.send_fds(end, [b"+"], [one.fileno() for one in sockets])
        writer.close()

    with _short(path) as near:
        server = await asyncio.start_unix_server(give, near)
    path.chmod(0o600)
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


def offer_of(home: Path, pid: int) -> Path:
    """Where the front with this pid gives its sockets away. That it is there says that this front serves."""
    return home.resolve() / "run" / f"front-{pid}.sock"


def taken_over(home: Path, pid: int) -> list[socket.socket]:
    """The listening sockets of a living front; none if it does not give them."""
    path = offer_of(home, pid)
    try:
        with _short(path) as near, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as end:
            end.settimeout(ANSWER)
            end.connect(near)
            numbers = socket.recv_fds(end, 1, MAX_CONCURRENT)[1]
    except OSError:
        return []
    return [_listening(number) for number in numbers]


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    """The same path, short enough for an address."""
    if len(os.fsencode(path)) <= _MAX_LENGTH:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
