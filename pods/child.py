"""What a supervised process is: how it is started, on which ports it listens and how one knows that it is ready."""

import http.client
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from settings import host_in_url


@dataclass(frozen=True, slots=True)
class Port:
    """A TCP port that a child listens on, and the environment variable that changes it."""

    host: str
    number: int
    setting: str


@dataclass(frozen=True, slots=True)
class Ready:
    """A question that a ready child answers: GET `path` with 200 or, without a path, a TCP connection."""

    host: str
    port: int
    path: str = ""

    def __str__(self) -> str:
        """The address that is asked."""
        place = f"{host_in_url(self.host)}:{self.port}"
        return f"http://{place}{self.path}" if self.path else place

    def ask(self, limit: float = 2.0) -> bool:
        """Is it ready? Blocks for `limit` seconds at most."""
        try:
            if not self.path:
                socket.create_connection((self.host, self.port), timeout=limit).close()
                return True
            connection = http.client.HTTPConnection(self.host, self.port, timeout=limit)
            try:
                connection.request("GET", self.path)
                return connection.getresponse().status == HTTPStatus.OK
            finally:
                connection.close()
        except (OSError, http.client.HTTPException):
            return False


@dataclass(frozen=True, slots=True)
class Child:
    """One row of the table of children.

    `env` is the whole environment. `after` names children that shall be ready first. With `only_if` the child is
    started as soon as that file exists. The listening socket of `socket` belongs to the supervisor, which hands it to
    the child: connections wait in it while the child is dead, and a second process can take over from a first one.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    ready: Ready | None = None
    ports: tuple[Port, ...] = ()
    after: tuple[str, ...] = ()
    only_if: Path | None = None
    socket: Port | None = None

    @property
    def wanted(self) -> bool:
        """Shall it run now?"""
        return self.only_if is None or self.only_if.exists()
