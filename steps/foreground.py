"""Runs steps at once, where somebody looks at them: what they write is shown as it comes, and nothing of it is kept."""

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from domain.steps.environment import LOG_LEVEL, Environment, Exports
from domain.steps.rendering import Known
from domain.steps.results import StepResult
from steps.engine.ending import Ending, ended_by_signals
from steps.engine.every_finder import every_finder, with_secrets
from steps.engine.finding import Found
from steps.engine.log_files import open_log
from steps.engine.processes import adopt_orphans, end_descendants
from steps.engine.result_files import ResultFiles
from steps.engine.running import StepRun

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL for what is left at the end."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be run, where, and with what. `timeout` are seconds, 0 for no limit."""

    found: Found
    work_dir: Path
    inputs: Mapping[str, Known] = field(default_factory=dict)
    env: Mapping[str, Known] = field(default_factory=dict)
    variables: Mapping[str, Known] = field(default_factory=dict)
    timeout: float = 0


def run_here(
    wanted: Wanted, echo: Callable[[str, bytes], None], tell: Callable[[tuple[str, ...], StepResult], None]
) -> StepResult:
    """Run steps in this process, which gets whatever they leave behind, and ends it. SIGINT and SIGTERM cancel.

    `echo` hears of each piece that is written, with the name of the stream, `tell` of each step that begins or ends.
    """
    adopt_orphans()
    ending = Ending(time.monotonic() + wanted.timeout if wanted.timeout else None)
    with tempfile.TemporaryDirectory(prefix="perdure-steps-") as name, ended_by_signals(ending):
        folder = Path(name)
        log = open_log(folder, ending)
        log.echo = echo
        variables = with_secrets(wanted.variables)
        run = StepRun(
            wanted.work_dir,
            ResultFiles(folder),
            log,
            ending,
            every_finder(_cache(), ending, variables),
            variables,
            {LOG_LEVEL: "info", **os.environ},
            tell,
        )
        result = run.run(wanted.found, Environment(Exports(), wanted.env), wanted.inputs)
        end_descendants(GRACE, log.take_all)
        log.take_all()
        log.close()
    return result


def _cache() -> Path:
    """Where steps that were fetched are kept for this user."""
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "perdure/steps"
