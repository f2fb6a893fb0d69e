"""Ends what is left of a run whose process was killed: whatever has the mark of the run in its environment."""

from steps.engine.processes import MARK_LOOKS, end_all, marked
from steps.engine.run_process import MARK


def end_survivors(mark: str, grace: float) -> int:
    """End all processes of the run in this folder, by SIGKILL after `grace` seconds; how many there were at first."""
    return end_all(lambda: marked(MARK, mark), grace, looks=MARK_LOOKS)
