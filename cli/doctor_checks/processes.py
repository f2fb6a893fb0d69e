"""What `perdure doctor` says of the processes of this machine's installation."""

from pathlib import Path
from typing import Final

from cli.doctor_checks.check import Check, State
from cli.installation.status import look
from cli.installation.up import supervisor_runs
from pods.run_folder import RunFolder
from pods.stack import stack
from settings import Settings

NAME: Final = "processes"


def is_supervised(settings: Settings) -> bool:
    """Whether Perdure was started here and its supervisor lives."""
    return _was_started(settings.home) and supervisor_runs(RunFolder(settings.home))


def processes(settings: Settings) -> Check:
    """Which of the processes that `perdure up` starts are down."""
    if not _was_started(settings.home):
        return Check(NAME, State.WARN, "Perdure was never started here", "`perdure up`")
    folder = RunFolder(settings.home)
    found = [look(child, folder) for child in stack(settings) if child.wanted]
    up, down = ([one.name for one in found if one.ready is ready] for ready in (True, False))
    if not down:
        return Check(NAME, State.OK, f"{', '.join(up)}: ready")
    detail = f"down: {', '.join(down)}" + (f"; ready: {', '.join(up)}" if up else "")
    if not supervisor_runs(folder):
        return Check(NAME, State.FAIL, detail, "`perdure up`")
    logs = ", ".join(str(folder.logs / f"{name}.log") for name in down)
    return Check(NAME, State.FAIL, detail, f"The supervisor starts them again; if it does not help, look at {logs}")


def _was_started(home: Path) -> bool:
    return (home / "run").is_dir()
