"""A run in a temporary folder, whose steps are written by the test."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from domain.steps.environment import Environment, Exports
from domain.steps.reading import read_definition
from domain.steps.rendering import Known
from domain.steps.results import StepResult
from steps.engine.ending import Ending
from steps.engine.every_finder import every_finder, with_secrets
from steps.engine.finding import Found
from steps.engine.log_files import LogFiles, open_log
from steps.engine.result_files import ResultFiles
from steps.engine.running import StepRun


@dataclass
class Rig:
    """A run, and what was told of it."""

    folder: Path
    ending: Ending
    log: LogFiles
    told: list[tuple[tuple[str, ...], StepResult]] = field(default_factory=list)

    def write(self, name: str, text: str, *files: tuple[str, str]) -> None:
        """A step in the folder of the job, with files beside it."""
        folder = self.folder / "build" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "step.yml").write_text(text)
        for file, content in files:
            (folder / file).write_text(content)
            (folder / file).chmod(0o755)

    def run(
        self,
        text: str,
        *,
        env: dict[str, Known] | None = None,
        variables: dict[str, Known] | None = None,
        service_env: dict[str, str] | None = None,
    ) -> StepResult:
        """Run a definition as a job's."""
        build = self.folder / "build"
        build.mkdir(exist_ok=True)
        run = StepRun(
            build,
            ResultFiles(self.folder),
            self.log,
            self.ending,
            every_finder(self.folder / "cache", self.ending, known := with_secrets(variables or {})),
            known,
            service_env if service_env is not None else dict(os.environ),
            lambda path, result: self.told.append((path, result)),
        )
        found = Found(read_definition(text, "job"), build)
        return run.run(found, Environment(Exports(), env or {}))

    def output(self, name: str = "stdout") -> str:
        """What was written."""
        return (self.folder / name).read_text()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """Half a minute is the most that a run of a test takes."""
    ending = Ending(time.monotonic() + 30)
    log = open_log(tmp_path, ending)
    yield Rig(tmp_path, ending, log)
    log.close()
