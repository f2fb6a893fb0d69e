"""A copy of the directory that follows it, and that is there while it is away, across restarts too."""

import asyncio
import json
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

from domain.errors import Invalid, PerdureError, Unavailable
from domain.pods.directory import Directory
from domain.pods.directory_changes import Changes, applied
from domain.pods.directory_document import document_of
from files import durable
from pods.back_off import BackOff
from pods.directory_client import DirectoryClient
from pods.directory_file import read_directory
from settings import Settings

CACHE: Final = "directory.json"
HELD: Final = 25.0
"""Seconds for which the directory holds a request for changes; below the 60 s of middle boxes."""
_FIRST_PAUSE: Final = 0.5
_MAX_PAUSE: Final = 10.0

Listener: TypeAlias = Callable[[Directory], Awaitable[None]]
Follow: TypeAlias = Callable[[Listener], Awaitable[None]]
"""Tells a listener of the directory of now, and of each later one."""

log = logging.getLogger("perdure.directory")


class DirectoryFollower:
    """The directory as it was last heard of; an async context manager that asks while it is open."""

    def __init__(self, client: DirectoryClient, cache: Path) -> None:
        """`cache` is the file in which the copy is kept."""
        self._client = client
        self._cache = cache
        self._directory: Directory | None = None
        self._heard: Directory | None = None
        """What the service itself told in this life of ours: changes are changes of that."""
        self._is_there = asyncio.Event()
        self._listeners: list[Listener] = []
        self._task: asyncio.Task[None] | None = None
        self.is_away = False
        """Whether the last request failed."""
        self.epoch = ""
        """The life of the service that was last heard of."""

    async def __aenter__(self) -> Self:
        """Begin with the copy that there is, and ask."""
        if await asyncio.to_thread(self._cache.exists):
            try:
                self._directory = await asyncio.to_thread(read_directory, self._cache)
            except Invalid as error:
                log.warning("the copy of the directory is passed over: %s", error)
            else:
                self._is_there.set()
        self._task = asyncio.create_task(self._follow())
        self._task.add_done_callback(_tell_end)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ask no more."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    @property
    def is_there(self) -> bool:
        """Whether it was ever heard of."""
        return self._directory is not None

    def current(self) -> Directory:
        """The directory of now. Raises `Unavailable` where it was never heard of."""
        if self._directory is None:
            raise Unavailable("The directory of pods has not been heard of yet; try again in a few seconds.")
        return self._directory

    async def first(self, seconds: float) -> Directory:
        """The same, as soon as there is one. Raises `Unavailable` when so many seconds are over."""
        try:
            async with asyncio.timeout(seconds):
                await self._is_there.wait()
        except TimeoutError:
            log.error("no directory within %g s", seconds)  # noqa: TRY400  # `current` says what it means
        return self.current()

    async def tell(self, listener: Listener) -> None:
        """Call a listener with the directory of now, if there is one, and with each later one, one after another."""
        self._listeners.append(listener)
        if self._directory is not None:
            await listener(self._directory)

    async def _follow(self) -> None:
        epoch, after, back_off = "", 0, _patience()
        while True:
            try:
                changes = await self._client.changes(epoch, after, HELD if epoch else 0)
                await self._take(changes)
            except PerdureError as error:
                if not self.is_away:
                    log.warning("the directory is away, and its copy goes on: %s", error)
                self.is_away = True
                if isinstance(error, Invalid):
                    epoch, after = "", 0
                await asyncio.sleep(back_off.after(0) * random.uniform(0.5, 1))
                continue
            if self.is_away:
                log.info("the directory is back")
            self.is_away, back_off = False, _patience()
            self.epoch = epoch = changes.epoch
            after = changes.version

    async def _take(self, changes: Changes) -> None:
        """Raises `Invalid` for changes that do not fit."""
        found = await asyncio.to_thread(applied, self._heard, changes)
        if found is None:
            log.warning("the directory has no pods yet")
            return
        is_new, self._heard = found != self._directory, found
        if not is_new:
            return
        self._directory = found
        self._is_there.set()
        for listener in self._listeners:
            await listener(found)
        try:
            await asyncio.to_thread(_keep, self._cache, found)
        except OSError as error:
            log.error("the copy of the directory cannot be kept: %s", error)  # noqa: TRY400  # the words suffice


def is_followed(settings: Settings) -> bool:
    """Whether the settings make a router that follows a directory. Raises `Invalid` where they name two."""
    follows = bool(settings.directory.url and settings.directory.token)
    if follows and settings.front.directory is not None:
        raise Invalid(
            "PERDURE_FRONT_DIRECTORY names a file with the pods, PERDURE_DIRECTORY_URL a service that tells them: "
            "a router has one of the two. Unset the other."
        )
    return follows


@asynccontextmanager
async def following(settings: Settings) -> AsyncIterator[DirectoryFollower]:
    """A router's copy of the directory that the settings name, kept in `home/directory.json`."""
    with suppress(OSError):  # where nothing can be kept it is said with each change
        await asyncio.to_thread(settings.home.mkdir, mode=0o700, parents=True, exist_ok=True)
    async with (
        DirectoryClient(settings.directory_url, lambda: settings.directory.token) as client,
        DirectoryFollower(client, settings.home / CACHE) as follower,
    ):
        yield follower


async def look_up(settings: Settings) -> Directory:
    """The directory that the settings name: from the service, else from the copy in `home`.

    Raises `Unavailable` where there is neither, and what the service says of a wrong token.
    """
    cache = settings.home / CACHE
    try:
        if not settings.directory.token:
            raise Unavailable(
                f"PERDURE_DIRECTORY_TOKEN is not set, and there is no copy of the directory in {cache}: set it to the "
                "read token of the directory."
            )
        async with DirectoryClient(settings.directory_url, lambda: settings.directory.token) as client:
            found = applied(None, await client.changes())
    except Unavailable:
        if not await asyncio.to_thread(cache.exists):
            raise
        return await asyncio.to_thread(read_directory, cache)
    if found is None:
        raise Unavailable("The directory has no pods yet.")
    return found


def _keep(cache: Path, directory: Directory) -> None:
    durable.replace(cache, json.dumps(document_of(directory)).encode())


def _patience() -> BackOff:
    return BackOff(_FIRST_PAUSE, _MAX_PAUSE)


def _tell_end(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("the directory is followed no more", exc_info=error)
