"""Finders of all kinds of references that this step runner knows."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from domain.steps.references import BuiltinReference, GitReference, LocalReference
from domain.steps.rendering import Known
from steps.engine.builtin_steps import BuiltinFinder
from steps.engine.ending import Ending
from steps.engine.finding import Finders, LocalFinder
from steps.engine.git_steps import GitFinder

CACHE: Final = "cache"
"""The folder of what was fetched, beside that of the runs."""
RUNS: Final = "runs"
LOGIN: Final = "DOCKER_AUTH_CONFIG"
"""The variable of a job, or of the environment, with names and passwords for registries; as Docker's `config.json`."""


def every_finder(cache: Path, ending: Ending, variables: Mapping[str, Known]) -> Finders:
    """Those of one run with these variables of its job; what was fetched is kept in `cache`, for all runs."""
    return Finders(
        {
            LocalReference: LocalFinder(),
            BuiltinReference: BuiltinFinder(cache, {LOGIN} & variables.keys()),
            GitReference: GitFinder(cache / "git", ending),
        }
    )


def with_secrets(variables: Mapping[str, Known]) -> Mapping[str, Known]:
    """The variables of a job, of which those that hold passwords by their name are sensitive, whatever was said."""
    return {name: replace(one, is_sensitive=True) if name == LOGIN else one for name, one in variables.items()}
