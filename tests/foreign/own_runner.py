"""Our own runner, for comparison: the table of the protocol has a column for it."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.foreign.runner import Abilities, ForeignRunner, Site
from tests.foreign.rust_runner import register
from tests.program import Program, running


class OwnRunner(ForeignRunner):
    """`perdure runner` with the shell of this machine."""

    name = "perdure runner"
    abilities = Abilities(exit_codes=True, masks=True, stops=True, after_cancel=True, system_id="")
    extra = """
  after_script: [echo "after the script"]
  artifacts:
    paths: [report.xml]
    exclude: ["*.txt"]
    expire_in: 1 week
    reports: {junit: report.xml}
"""

    @asynccontextmanager
    async def serving(self, site: Site, folder: Path) -> AsyncIterator[None]:
        """Register as a person would, and run it until the end."""
        token = await register(site, self.name)
        config: list[str | Path] = ["--config", folder / "config.toml"]
        command = [sys.executable, "-m", "cli.main", "runner"]
        joining = Program([*command, "register", "--url", site.url, "--token", token, *config], folder / "register.log")
        await joining.start()
        assert await joining.wait(within=60) == 0, joining.output()
        async with running(Program([*command, "run", *config], folder / "runner.log")):
            yield
