"""Downloading an archive so that nothing is lost when the connection breaks, the server restarts, or we are killed."""

import base64
import fcntl
import hashlib
import os
import re
from collections.abc import Callable
from http import HTTPStatus
from io import BufferedRandom
from pathlib import Path
from typing import Final

import httpx

from cli.client import Api
from cli.remote.outage import Deadline, Outage
from domain.errors import Refused, Unavailable

_CHUNK: Final = 256 * 1024
_RANGE: Final = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")
_DIGEST: Final = re.compile(r"sha-256=:([A-Za-z0-9+/=]+):")

Progress = Callable[[int, int | None], None]
"""Is told of the bytes that are here, and of how many there will be where that is known."""


class Download:
    """One file of a server, first under the name `part`, which a later download goes on with."""

    def __init__(self, api: Api, route: str, part: Path) -> None:
        """Download what `route` answers."""
        self._api = api
        self._route = route
        self._part = part
        self._digest = ""

    def run(self, outage: Outage, deadline: Deadline, progress: Progress) -> str:
        """Download all of it; its SHA-256 in hex. A damaged file is fetched anew once.

        Raises `Refused` when another process downloads the same, `TimedOut`, `Unavailable`.
        """
        with self._part.open("a+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise Refused(f"Another process downloads into {self._part}; wait for it.") from error
            for _ in range(2):
                self._fetch(file, outage, deadline, progress)
                found = _sha256(file)
                if self._digest in {"", found}:
                    os.fsync(file.fileno())
                    return found
                file.truncate(0)
        raise Unavailable(f"{self._route}: what came is not what the server says it sends; try again later.")

    def _fetch(self, file: BufferedRandom, outage: Outage, deadline: Deadline, progress: Progress) -> None:
        while True:
            try:
                if self._receive(file, outage, progress):
                    return
            except Unavailable as error:
                file.flush()
                outage.wait(error, deadline)
            deadline.check()

    def _receive(self, file: BufferedRandom, outage: Outage, progress: Progress) -> bool:
        """Ask for what is missing; true when all of it is here."""
        file.seek(0, os.SEEK_END)
        have = file.tell()
        headers = {"Range": f"bytes={have}-"} if have else {}
        with self._api.stream(self._route, headers, accept=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE) as response:
            outage.answered()
            first, size = _place(response)
            if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                if size == have:
                    return True
                file.truncate(0)  # what is here is of another file
                return False
            if first != have:
                file.truncate(0)
                if first:
                    return False
            self._digest = _digest(response)
            for chunk in response.iter_raw(_CHUNK):
                file.write(chunk)
                progress(file.tell(), size)
        file.flush()
        return True


def _place(response: httpx.Response) -> tuple[int, int | None]:
    """At which byte the response begins, and how many the whole has."""
    found = _RANGE.fullmatch(response.headers.get("content-range", ""))
    if found is None:
        length = response.headers.get("content-length", "")
        return 0, int(length) if length.isdigit() else None
    return int(found[1] or 0), int(found[2]) if found[2].isdigit() else None


def _digest(response: httpx.Response) -> str:
    found = _DIGEST.search(response.headers.get("repr-digest", ""))
    return base64.b64decode(found[1]).hex() if found else ""


def _sha256(file: BufferedRandom) -> str:
    file.flush()
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()
