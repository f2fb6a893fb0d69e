"""Finders of all kinds of references that this step runner knows."""

from pathlib import Path
from typing import Final

from domain.steps.references import GitReference, LocalReference
from steps.engine.ending import Ending
from steps.engine.finding import Finders, LocalFinder
from steps.engine.git_steps import GitFinder

CACHE: Final = "cache"
"""The folder of what was fetched, beside that of the runs."""
RUNS: Final = "runs"


def every_finder(cache: Path, ending: Ending) -> Finders:
    """Those of one run; what was fetched is kept in `cache`, for all runs."""
    return Finders({LocalReference: LocalFinder(), GitReference: GitFinder(cache / "git", ending)})
