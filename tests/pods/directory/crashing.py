"""A directory that kills itself once: `python -m tests.pods.directory.crashing STEP POINT`.

STEP is `claim`, `confirm` or `release`; POINT is `arrived`, `before` or `after` its commit.
"""

import os
import signal
import sys
from typing import Any

import uvloop

from pods.directory.server import serve
from pods.directory.service import DirectoryService
from settings import Settings


def die() -> None:
    """No handler runs, nothing is closed."""
    os.kill(os.getpid(), signal.SIGKILL)


def crash_at(step: str, point: str) -> None:
    """The first call of this step is the last thing that this process does."""
    real = getattr(DirectoryService, step)

    async def crashing(service: Any, *given: Any) -> Any:
        if point == "arrived":
            die()
        run = service._store._database.run

        async def cut(work: Any, *, writes: bool) -> Any:
            def killed(connection: Any) -> Any:
                work(connection)
                die()

            if writes and point == "before":
                return await run(killed, writes=writes)
            found = await run(work, writes=writes)
            if writes:
                die()
            return found

        service._store._database.run = cut
        return await real(service, *given)

    setattr(DirectoryService, step, crashing)


if __name__ == "__main__":
    crash_at(*sys.argv[1:])
    uvloop.run(serve(Settings()))
