"""`gitlab-python-runner`, in a Python environment of its own: made at the first use and kept under `.perdure/venvs`.

It is an old client: it registers with a form instead of JSON, asks without `last_update` and `system_id`, names a last
byte that is one too high in each piece of log, and ends jobs without a checksum of the log. When a job is canceled it
stops telling of it, but leaves its script running.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from tests.foreign.installing import install_once
from tests.foreign.runner import Abilities, ForeignRunner, Site
from tests.program import ROOT, Program, environment

REQUIREMENTS: Final = Path(__file__).with_name("requirements.txt")
HOME: Final = ROOT / ".perdure" / "venvs" / "foreign-runner"
ONE_JOB: Final = 600.0
"""Seconds that one job may take, an outage of the server among them; the runner itself would sleep for 40 s when there
is none."""


class PythonRunner(ForeignRunner):
    """Takes one job after the other, each in a process of its own."""

    name = "gitlab-python-runner"
    abilities = Abilities(exit_codes=False, masks=False, stops=False, after_cancel=False, system_id="<legacy>")
    extra = ""

    @asynccontextmanager
    async def serving(self, site: Site, folder: Path) -> AsyncIterator[None]:
        """Register, take jobs while there are some, leave."""
        await asyncio.to_thread(_install)
        code, output = await _run(
            folder,
            "--register",
            site.url,
            "--regtoken",
            site.registration_token,
            "--desc",
            self.name,
            "--tag",
            site.tag,
        )
        assert code == 0, output
        taking = asyncio.create_task(_take_jobs(folder, site))
        try:
            yield
        finally:
            taking.cancel()
            with suppress(asyncio.CancelledError):
                await taking
        code, output = await _run(folder, "--unregister")
        assert code == 0, output


async def _take_jobs(folder: Path, site: Site) -> None:
    while True:
        await site.pending()
        await _run(folder, "--start", "gitlab-runner.yml", "--once")


async def _run(folder: Path, *words: str) -> tuple[int, str]:
    """Run one command to its end: exit code and output."""
    program = Program(
        [HOME / "bin" / "python", "-m", "GitlabPyRunner", *words],
        folder / "runner.log",
        cwd=folder,
        env=environment(HOME=str(folder)),
    )
    try:
        await program.start()
        return await program.wait(within=ONE_JOB), program.output()
    finally:
        await program.kill()


def _install() -> None:
    install_once(
        HOME,
        f"{sys.version}\n{REQUIREMENTS.read_text()}",
        (sys.executable, "-m", "venv", HOME),
        (HOME / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", REQUIREMENTS),
    )
