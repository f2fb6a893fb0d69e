"""Finders of all kinds of references that this step runner knows."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from domain.steps.references import BuiltinReference, GitReference, LocalReference, OciReference
from domain.steps.rendering import Known
from steps.engine.builtin_steps import BuiltinFinder
from steps.engine.ending import Ending
from steps.engine.finding import Finders, LocalFinder
from steps.engine.git_steps import GitFinder
from steps.engine.image_steps import ImageFinder
from steps.oci.logins import LOGIN

CACHE: Final = "cache"
"""The folder of what was fetched, beside that of the runs."""
RUNS: Final = "runs"


def every_finder(cache: Path, ending: Ending, variables: Mapping[str, Known]) -> Finders:
    """Those of one run with these variables of its job; what was fetched is kept in `cache`, for all runs."""
    login = str(variables[LOGIN].value) if LOGIN in variables else None
    return Finders(
        {
            LocalReference: LocalFinder(),
            BuiltinReference: BuiltinFinder(cache, {LOGIN} & variables.keys()),
            GitReference: GitFinder(cache / "git", ending),
            OciReference: ImageFinder(cache, ending, login),
        }
    )


def with_secrets(variables: Mapping[str, Known]) -> Mapping[str, Known]:
    """The variables of a job, of which those that hold passwords by their name are sensitive, whatever was said."""
    return {name: replace(one, is_sensitive=True) if name == LOGIN else one for name, one in variables.items()}
