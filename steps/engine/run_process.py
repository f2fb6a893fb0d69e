"""The process of one run: `python -m steps.engine.run_process FOLDER`.

It runs the steps, notes what becomes of them, and ends whatever they leave behind. It asks nobody and needs nobody:
whoever started it may die.
"""

import os
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import orjson

from domain.errors import PerdureError
from domain.steps.definition import Call, Definition, Script, Sequence, Spec
from domain.steps.environment import LOG_LEVEL, Environment, Exports
from domain.steps.fitting import smaller
from domain.steps.reading import read_definition
from domain.steps.rendering import Known
from domain.steps.results import StepResult, StepStatus, document_of, secrets_of
from domain.steps.runs import RunRequest, RunState, RunStatus
from steps.engine.ending import Ending, Reason, ended_by_signals
from steps.engine.every_finder import CACHE, every_finder, with_secrets
from steps.engine.finding import Found
from steps.engine.log_files import LogFiles, open_log
from steps.engine.processes import adopt_orphans, end_descendants
from steps.engine.result_files import ResultFiles
from steps.engine.run_folder import RESULTS, RunFolder
from steps.engine.running import StepRun

MARK: Final = "PERDURE_STEP_RUN"
"""Environment variable that all processes of a run have; its value is the folder of the run."""
_STATUS: Final[Mapping[StepStatus, RunStatus]] = {
    StepStatus.SUCCESS: RunStatus.SUCCESS,
    StepStatus.FAILURE: RunStatus.FAILURE,
    StepStatus.CANCELLED: RunStatus.CANCELLED,
}
_BY_REASON: Final[Mapping[Reason, RunStatus]] = {
    Reason.CANCELLED: RunStatus.CANCELLED,
    Reason.TIMED_OUT: RunStatus.TIMED_OUT,
    Reason.LOG_FULL: RunStatus.FAILURE,
}
MAX_LINE: Final = 4 * 1024 * 1024
"""Bytes of a result; of a larger one it is told what became of the step, and not what it got and gave."""
MAX_RESULTS: Final = 1024**3
"""Bytes of the results of a run after which all are told so."""
MAX_SAID: Final = 4_000
"""Characters of the sentence why a run has failed."""
_PATIENCE: Final = 1.0
_VARIABLES: Final = "variables"
_FILES: Final = "files"


@dataclass(slots=True)
class Results:
    """The file of results, to which a line is added for each step that begins or ends."""

    fd: int
    folder: Path
    secrets: set[str] = field(default_factory=set)
    size: int = 0

    def tell(self, path: tuple[str, ...], result: StepResult) -> None:
        """Add a line: which step it is, how long the logs are, the result, and what to mask from here on."""
        where = str(self.folder)
        sizes = {name: os.stat(f"{where}/{name}").st_size for name in ("stdout", "stderr")}  # noqa: PTH116  # sooner
        masks = sorted(secrets_of(result) - self.secrets)
        self.secrets.update(masks)
        around = {"path": path, "at": time.time(), **sizes, "masks": masks}
        self.size += self._write(
            orjson.dumps({**around, "result": document}) for document in smaller(document_of(result))
        )

    def _write(self, lines: Iterable[bytes]) -> int:
        """Add the first line that is not too large, or the last one, which is the smallest; how long it is."""
        left, line = min(MAX_LINE, MAX_RESULTS - self.size), b""
        for line in lines:
            if len(line) <= left:
                break
        os.write(self.fd, line + b"\n")
        return len(line)


def run(folder: RunFolder) -> None:
    """Run what the folder asks for. A run that has begun, or whose process lives, is left alone."""
    ending = Ending()
    # Whoever finds the state may send a signal, so it is heard as long as there is a state to find.
    with folder.locked(_PATIENCE) as is_ours, ended_by_signals(ending):
        state = RunState(RunStatus.RUNNING, began_at=time.time(), pid=os.getpid())
        if not is_ours or not folder.turn(state):
            return
        os.environ[MARK] = str(folder.path)  # for whatever is started here: commands, and git
        if folder.is_cancelled:
            ending.end(Reason.CANCELLED)
        request = folder.request()
        ending.deadline = time.monotonic() + request.timeout if request.timeout else None
        log = open_log(folder.path, ending)
        status, message = _ended(folder, request, log, ending)
        end_descendants(request.grace, log.take_all)
        log.take_all()
        log.close()
        folder.turn(replace(state, status=status, message=message[:MAX_SAID], ended_at=time.time()))


def _ended(folder: RunFolder, request: RunRequest, log: LogFiles, ending: Ending) -> tuple[RunStatus, str]:
    """How the run has ended, and why."""
    results = Results(os.open(folder.path / RESULTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), folder.path)
    try:
        work_dir = Path(request.work_dir)
        work_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        (files := folder.path / _FILES).mkdir(mode=0o700)
        variables = with_secrets(_variables(folder.path, request))
        steps = StepRun(
            work_dir,
            ResultFiles(files),
            log,
            ending,
            every_finder(folder.path.parent.parent / CACHE, ending, variables),
            variables,
            {LOG_LEVEL: "info", **os.environ},
            results.tell,
            request.done,
            {MARK: str(folder.path)},
        )
        environment = Environment(Exports(), {name: Known(value) for name, value in request.env.items()})
        result = steps.run(Found(_definition(request), work_dir), environment)
    except (PerdureError, OSError) as error:
        return RunStatus.FAILURE, str(error)
    except Exception as error:  # noqa: BLE001  # a fault of ours ends the run as failed; else nobody would learn of it
        return RunStatus.FAILURE, f"the step runner failed: {error!r}"
    finally:
        os.close(results.fd)
    status = _BY_REASON[ending.reason] if ending.reason is not None else _STATUS[result.status]
    return status, result.failure


def _definition(request: RunRequest) -> Definition:
    """A script is a step like any other, but for expressions, which it has none of."""
    if request.steps:
        return read_definition(request.steps, "steps")
    text = request.script.replace("${{", "\\${{")
    return Definition(Spec(), Sequence((Call("script", Script(text)),)))


def _variables(folder: Path, request: RunRequest) -> dict[str, Known]:
    found = {}
    for name, variable in request.variables.items():
        value = variable.value
        if variable.file:
            path = folder / _VARIABLES / name
            path.parent.mkdir(mode=0o700, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(value)
            value = str(path)
        found[name] = Known(value, variable.masked and not variable.file)
    return found


def main() -> None:
    """Run the run of a folder."""
    adopt_orphans()
    run(RunFolder(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
