"""Keeps the processes of the embedded mode alive.

Children lead sessions of their own and do not notice when the supervisor dies; the next supervisor of the same home
adopts those that live. Dead ones are started again, at first at once, then ever more slowly, and never given up.
"""

import asyncio
import contextlib
import logging
import signal
import subprocess
import time
from collections.abc import Sequence

import psutil

from pods.child import Child
from pods.process import MARK, Identity, end, end_group, exited, find_marked, identity_of, is_marked
from pods.run_folder import SUPERVISOR, RunFolder, RunRecord
from pods.stack import stack
from settings import Settings

GRACE = 10.0
"""How long a child may take to end after SIGTERM."""
DEPENDENCY = 10.0
"""How long a child waits for those it is started after; then it is started anyway and copes."""
LOOK_EVERY = 0.25
TRIM_EVERY = 30.0
"""How often logs are looked at that may have become too long."""

log = logging.getLogger("perdure.supervisor")


class BackOff:
    """How long to wait before a child is started again: 0, 1, 2, 4 ... 30 s; 0 again after 30 s of life."""

    def __init__(self, first: float = 1.0, most: float = 30.0, reset_after: float = 30.0) -> None:
        """All in seconds."""
        self._first = first
        self._most = most
        self._reset_after = reset_after
        self._next = 0.0

    def after(self, life: float) -> float:
        """The pause after a life of so many seconds."""
        pause = 0.0 if life >= self._reset_after else self._next
        self._next = min(max(self._first, 2 * pause), self._most)
        return pause


class Supervisor:
    """Starts, adopts, watches, restarts and stops the children of one home."""

    def __init__(self, children: Sequence[Child], folder: RunFolder, grace: float = GRACE) -> None:
        """`children` in the order of their start; `grace` is the time between SIGTERM and SIGKILL in seconds."""
        self._children = tuple(children)
        self._folder = folder
        self._grace = grace
        self._living: dict[str, Identity] = {}
        self._own: dict[str, subprocess.Popen[bytes]] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Keep all children alive until `stop` is set, then stop them in reverse order."""
        keepers = [asyncio.create_task(self._keep(child)) for child in self._children]
        keepers.append(asyncio.create_task(self._trim_logs()))
        await stop.wait()
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        for child in reversed(self._children):
            await self._stop(child)

    async def _trim_logs(self) -> None:
        """Keep the logs of processes that run for months from filling the disk."""
        while True:
            for name in (SUPERVISOR, *(child.name for child in self._children)):
                try:
                    await asyncio.to_thread(self._folder.trim_log, name)
                except OSError as error:
                    log.error("the log of %s cannot be put aside: %s", name, error)  # noqa: TRY400
            await asyncio.sleep(TRIM_EVERY)

    async def _keep(self, child: Child) -> None:
        """Watch one child for ever; a fault of our own costs a second, never the watch."""
        while True:
            try:
                await self._watch(child)
            except Exception:  # whatever it is, an unwatched child would be worse
                log.exception("watching %s failed; it is taken up again", child.name)
                await asyncio.sleep(1)

    async def _watch(self, child: Child) -> None:
        """Start or adopt one child and start it again whenever it ends."""
        record = await self._adopt(child)
        if record is None:
            await self._until_wanted(child)
            await self._dependencies(child)
        back_off = BackOff()
        restarts = record.restarts if record else 0
        while True:
            record = record or self._start(child, restarts)
            started = record.create_time if record else time.time()
            if record:
                self._living[child.name] = record.identity
                await exited(record.identity)
                self._bury(child)
            pause = back_off.after(time.time() - started)
            log.warning("%s has ended; it is started again in %g s", child.name, pause)
            await asyncio.sleep(pause)
            record, restarts = None, restarts + 1

    async def _until_wanted(self, child: Child) -> None:
        while not child.wanted:  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(LOOK_EVERY)

    async def _dependencies(self, child: Child) -> None:
        """Wait until the children it comes after are ready, but not for ever."""
        checks = [other.ready for other in self._children if other.name in child.after and other.wanted]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DEPENDENCY):
                for check in checks:
                    while check and not await asyncio.to_thread(check.ask):  # noqa: ASYNC110  # another process
                        await asyncio.sleep(LOOK_EVERY / 5)

    async def _adopt(self, child: Child) -> RunRecord | None:
        """The living process of this child, if an earlier supervisor left one that was started in the same way."""
        mark = self._folder.mark(child.name)
        record = self._folder.read(child.name)
        if record is None or not is_marked(record.identity, mark):
            # A supervisor that was killed between start and record leaves a process without one.
            orphan = find_marked(mark, child.argv)
            if orphan is None:
                return None
            record = RunRecord(child.name, orphan.pid, orphan.create_time, child.argv)
        if record.argv != child.argv:
            log.info("%s (pid %d) was started with other arguments; it is replaced", child.name, record.pid)
            await end(record.identity, self._grace)
            return None
        log.info("%s (pid %d) lives and is adopted", child.name, record.pid)
        self._remember(record)
        return record

    def _start(self, child: Child, restarts: int) -> RunRecord | None:
        """Start it; None if that is not possible now, with the reason in the log."""
        try:
            with self._folder.open_log(child.name) as output:
                process = subprocess.Popen(
                    child.argv,
                    env={**child.env, MARK: self._folder.mark(child.name)},
                    cwd=self._folder.home,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            log.error("%s cannot be started: %s", child.name, error)  # noqa: TRY400  # the reason is the message
            return None
        self._own[child.name] = process
        log.info("%s started as pid %d", child.name, process.pid)
        identity = identity_of(process.pid)
        if identity is None:
            self._bury(child)
            return None
        record = RunRecord(child.name, identity.pid, identity.create_time, child.argv, restarts)
        self._remember(record)
        return record

    def _remember(self, record: RunRecord) -> None:
        try:
            self._folder.write(record)
        except OSError as error:
            # The child runs and carries its mark, by which the next supervisor finds it.
            log.error("the record of %s cannot be written: %s", record.name, error)  # noqa: TRY400

    def _bury(self, child: Child) -> None:
        """Clean up after a child that has ended."""
        identity = self._living.pop(child.name, None)
        process = self._own.pop(child.name, None)
        if process:
            process.wait()
        if identity:
            end_group(identity, self._folder.mark(child.name))

    async def _stop(self, child: Child) -> None:
        identity = self._living.get(child.name)
        if identity:
            log.info("stopping %s (pid %d)", child.name, identity.pid)
            await end(identity, self._grace)
            self._bury(child)
        self._folder.forget(child.name)


async def supervise(children: Sequence[Child], folder: RunFolder) -> None:
    """Be the supervisor of a home until SIGTERM or SIGINT; raises Refused if there is one already."""
    with folder.sole_supervisor():
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        own = psutil.Process()
        folder.write(RunRecord(SUPERVISOR, own.pid, own.create_time(), tuple(own.cmdline())))
        try:
            await Supervisor(children, folder).run(stop)
        finally:
            folder.forget(SUPERVISOR)


def main() -> None:
    """Entry point of `python -m pods.supervisor`."""
    settings = Settings()
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    asyncio.run(supervise(stack(settings), RunFolder(settings.home)))


if __name__ == "__main__":
    main()
