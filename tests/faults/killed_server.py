"""`python -m tests.faults.killed_server`: a server process that kills itself at the point for which it is armed.

It reads the steps of that point from the file that `ARMED` names, each time that it comes to one of the known places,
and takes out those that are over: the next process goes on with the rest.

The processes are made one after the other by a parent that opens nothing and has imported everything: to import it
again after each death would take longer than the rest of the test.
"""

import functools
import inspect
import os
import signal
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from tests.faults.kill_points import AFTER, BEFORE, POINTS, Step, owner_of

ARMED = "KILL_POINT_FILE"
DIED = "the server process was killed"
"""A line of output for each death."""


class Trap:
    """What is armed, in a file that outlives the process."""

    def __init__(self, file: Path) -> None:
        """Nothing is armed yet."""
        self._file = file
        self._calls = 0

    def arm(self, *steps: Step) -> None:
        """Let the process die where these steps say."""
        self._write(steps)

    def disarm(self) -> None:
        """Let no process die any more."""
        self._write(())

    def armed(self) -> tuple[Step, ...]:
        """The steps that have not been reached."""
        try:
            return tuple(Step(**step) for step in orjson.loads(self._file.read_bytes()))
        except FileNotFoundError:
            return ()

    def reached(self, target: str, place: str) -> None:
        """Somebody is at a place: go on to the next step, or die, if it is the one that is waited for."""
        step, *rest = self.armed() or (None,)
        if step is None or target not in step.targets or step.place != place:
            return
        self._calls += 1
        if self._calls < step.call:
            return
        self._calls = 0
        self._write(tuple(rest))
        if step.fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def _write(self, steps: tuple[Step, ...]) -> None:
        draft = self._file.with_suffix(".new")
        draft.write_bytes(orjson.dumps([asdict(step) for step in steps]))
        draft.replace(self._file)


def lay(trap: Trap, targets: Collection[str]) -> None:
    """Put the trap around every target. One that does not exist has a test of its own."""
    for target in targets:
        with suppress(ImportError, AttributeError):
            owner, name = owner_of(target)
            setattr(owner, name, _trapped(getattr(owner, name), trap, target))


def _trapped(function: Any, trap: Trap, target: str) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):

        async def items(*given: Any, **named: Any) -> Any:
            async for item in function(*given, **named):
                trap.reached(target, BEFORE)
                yield item

        return functools.wraps(function)(items)
    if inspect.iscoroutinefunction(function):

        async def awaited(*given: Any, **named: Any) -> Any:
            trap.reached(target, BEFORE)
            found = await function(*given, **named)
            trap.reached(target, AFTER)
            return found

        return functools.wraps(function)(awaited)

    def called(*given: Any, **named: Any) -> Any:
        trap.reached(target, BEFORE)
        found = function(*given, **named)
        trap.reached(target, AFTER)
        return found

    return functools.wraps(function, updated=())(called)


def forget_soon() -> None:
    """Let Temporal give up a worker that has died after 1 s, not 10: nothing here is about that."""
    from temporalio.worker import Worker

    from activities import temporal_worker

    soon = functools.partial(Worker, sticky_queue_schedule_to_start_timeout=timedelta(seconds=1))
    vars(temporal_worker)["Worker"] = soon


def serve_again_and_again() -> None:
    """Run one server process after the other, until one ends by itself; SIGTERM is handed on to it."""
    import worker

    while True:
        process = os.fork()
        if process == 0:
            worker.main()
        signal.signal(signal.SIGTERM, lambda *_, to=process: os.kill(to, signal.SIGTERM))
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if code != -signal.SIGKILL:
            raise SystemExit(code)
        print(DIED, flush=True)


if __name__ == "__main__":
    lay(Trap(Path(os.environ[ARMED])), {target for point in POINTS for step in point.steps for target in step.targets})
    forget_soon()
    serve_again_and_again()
