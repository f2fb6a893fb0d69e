"""The runs of one service: begun once each, found again after a death, kept until they are forgotten."""

import asyncio
import contextlib
import secrets
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog

from domain.errors import Invalid, NotFound, Refused, TooLarge, Unavailable
from domain.steps.reading import read_definition
from domain.steps.runs import ENDED, RunRequest, RunState, RunStatus, check_done, check_id, check_request
from steps.engine.run_folder import REQUEST, Damaged, RunFolder
from steps.service.survivors import end_survivors
from steps.service.watching import Watched

MAX_RUNS: Final = 1_000
"""Runs that have not ended."""
MAX_KEPT: Final = 5_000
"""Runs in all; those that ended first go first, so that a list of all is one message."""
KEPT: Final = 24 * 3600.0
"""Seconds for which a run that has ended is kept."""
LOST: Final = "the process of the run was killed, or the machine has started anew"
_GRACE: Final = 5.0
"""Seconds between SIGTERM and SIGKILL for what is left of a run of which nobody knows how many it had."""
_REMOVED: Final = ".removed-"
"""So begins the name of a folder that is being removed; no id begins with a dot."""

log = structlog.get_logger()


class Registry:
    """All runs below a folder, which is the service's own."""

    def __init__(self, root: Path, start: Callable[[RunFolder], None], *, kept: float = KEPT) -> None:
        """`start` starts the process of a run."""
        self._root = root
        self._start = start
        self._kept = kept
        self._watched: dict[str, Watched] = {}
        self._turn = asyncio.Lock()

    async def open(self) -> None:
        """Find what is there already: go on with what was begun, and end what is left of what was lost."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in sorted(self._root.iterdir()):
            if path.name.startswith(_REMOVED) or not (path / REQUEST).exists():
                await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
                continue
            await self._repair(RunFolder(path))
            watched = self._watch(RunFolder(path))
            if watched.state.status is RunStatus.PENDING and not watched.folder.is_held:
                await asyncio.to_thread(self._start, watched.folder)

    async def _repair(self, folder: RunFolder) -> None:
        """A run whose state nobody can read is lost, unless its process lives: that notes its end."""
        try:
            folder.state()
        except (NotFound, Damaged):
            await self._lost(folder)

    async def close(self) -> None:
        """Look at runs no more; they go on."""
        for watched in self._watched.values():
            await watched.stop()

    async def begin(self, request: RunRequest) -> None:
        """Begin a run; one of this id that is there already stays as it is. Raises `Invalid`, `Refused`, `TooLarge`."""
        check_request(request)
        if request.id in self._watched:
            return
        await asyncio.to_thread(_check_here, request)  # what takes long to read lets nobody wait
        async with self._turn:
            if request.id in self._watched:
                return
            if sum(one.state.status not in ENDED for one in self._watched.values()) >= MAX_RUNS:
                raise TooLarge(f"{MAX_RUNS:,} runs have not ended, and no more are at work at once")
            folder = RunFolder(self._root / request.id)
            try:
                await asyncio.to_thread(folder.create, request)
                await asyncio.to_thread(self._start, folder)
            except (OSError, Unavailable) as error:
                await asyncio.to_thread(shutil.rmtree, folder.path, ignore_errors=True)
                raise Unavailable(f"the run cannot be begun: {error}") from error
            self._watch(folder)
            await self._make_room()

    async def _make_room(self) -> None:
        """Forget the runs that ended first while there are too many."""
        if (surplus := len(self._watched) - MAX_KEPT) > 0:
            ended = sorted((state.ended_at, run_id) for run_id, state in self.all() if state.status in ENDED)
            for _, run_id in ended[:surplus]:
                await self._remove(run_id)

    def get(self, run_id: str) -> Watched:
        """A run. Raises `NotFound`."""
        watched = self._watched.get(run_id)
        if watched is None:
            with contextlib.suppress(Invalid):
                check_id(run_id)
                raise NotFound(f"there is no run {run_id}")
            raise NotFound("there is no run of such an id")
        return watched

    def all(self) -> list[tuple[str, RunState]]:
        """All runs with how far they are, by their ids."""
        return sorted((name, watched.state) for name, watched in self._watched.items())

    async def cancel(self, run_id: str) -> None:
        """Want a run to end; one that has is left alone. Raises `NotFound`."""
        watched = self.get(run_id)
        if watched.state.status in ENDED:
            return
        watched.folder.cancel()
        watched.signal(signal.SIGTERM)

    async def forget(self, run_id: str) -> None:
        """Cancel a run, wait until it has ended, and remove all of it. One that is not there is forgotten already."""
        if run_id not in self._watched:
            return
        await self.cancel(run_id)
        watched = self.get(run_id)
        await watched.until(lambda: watched.state.status in ENDED)
        await self._remove(run_id)

    async def expire(self) -> None:
        """Forget runs that ended a while ago."""
        limit = time.time() - self._kept
        for run_id, state in self.all():
            if state.status in ENDED and state.ended_at < limit:
                await self._remove(run_id)

    async def _remove(self, run_id: str) -> None:
        watched = self._watched.pop(run_id, None)
        if watched is not None:
            doomed = watched.folder.path.with_name(f"{_REMOVED}{secrets.token_hex(8)}")
            with contextlib.suppress(FileNotFoundError):  # its own steps may have removed it
                watched.folder.path.rename(doomed)  # at once: a new run may get the same id
            await watched.stop()
            await asyncio.to_thread(shutil.rmtree, doomed, ignore_errors=True)

    def _watch(self, folder: RunFolder) -> Watched:
        watched = self._watched[folder.path.name] = Watched(folder, self._lost)
        watched.begin()
        return watched

    async def _lost(self, folder: RunFolder) -> None:
        """The process of a run is gone, and it has not ended: whatever it has started is ended."""
        if not folder.path.exists():
            await asyncio.to_thread(end_survivors, str(folder.path), _GRACE)
            return
        with folder.locked() as is_ours:
            state, grace = RunState(RunStatus.RUNNING), _GRACE
            with contextlib.suppress(NotFound, Damaged):
                state = folder.state()
            with contextlib.suppress(NotFound, Damaged):
                grace = folder.request().grace
            if not is_ours or state.status in ENDED:
                return
            count = await asyncio.to_thread(end_survivors, str(folder.path), grace)
            log.warning("a run was lost", run=folder.path.name, processes=count)
            folder.turn(RunState(RunStatus.LOST, state.began_at, time.time(), LOST))


def _check_here(request: RunRequest) -> None:
    """Raise `Refused` for a run of another machine, `Invalid` for steps that cannot be run."""
    missing = [path for path in request.present if not Path(path).exists()]
    if missing:
        raise Refused(f"{missing[0]} is not here: steps run where the folder of the job is, at the same path")
    if request.steps:
        check_done(read_definition(request.steps, "steps"), request.done)
