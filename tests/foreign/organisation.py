"""Runners of others, and our own, that serve one organisation wherever it lives, each by a tag of its own."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

from tests.amounts import NIGHTLY
from tests.foreign.own_runner import OwnRunner
from tests.foreign.python_runner import PythonRunner
from tests.foreign.runner import ForeignRunner, Site
from tests.foreign.rust_runner import RustRunner
from tests.waiting import eventually

RUNNERS: Final[dict[str, ForeignRunner]] = {"python": PythonRunner(), "own": OwnRunner()} | (
    {"rust": RustRunner()}
    if NIGHTLY and shutil.which("cargo", path=f"{Path.home() / '.cargo' / 'bin'}:/usr/bin")
    else {}
)
"""By the names of their jobs, which are their tags."""
ASKED: Final = "FOREIGN"
"""The variable of a pipeline that has such jobs."""
_VARIABLES: Final = 'CI_CONFIG_PATH: none, GITLAB_PYTHON_RUNNER_COMPUTED: "1"'
"""As in `tests.foreign.pipeline`: one of them would read its job in the file itself, and knows few keywords."""
_PATIENCE: Final = 600.0


def jobs(stage: str) -> str:
    """Their jobs, as lines of a configuration."""
    return "".join(
        f"{name}: {{stage: {stage}, tags: [{name}], rules: [{{if: ${ASKED}}}], script: [echo {said(name)}],"
        f" variables: {{{_VARIABLES}}}}}\n"
        for name in RUNNERS
    )


def said(name: str) -> str:
    """What the log of such a job has."""
    return f"it-was-{name}"


@asynccontextmanager
async def serving(
    url: str, registration_token: str, is_pending: Callable[[str], Awaitable[bool]], folder: Path
) -> AsyncIterator[None]:
    """They serve until the end of the block; `is_pending` says whether a job of that name waits."""
    async with AsyncExitStack() as running:
        for name, runner in RUNNERS.items():
            (folder / name).mkdir(parents=True)
            site = Site(url, url, registration_token, partial(_wait, is_pending, name), name)
            await running.enter_async_context(runner.serving(site, folder / name))
        yield


async def _wait(is_pending: Callable[[str], Awaitable[bool]], name: str) -> None:
    await eventually(partial(is_pending, name), f"a job for {name} is pending", _PATIENCE)
