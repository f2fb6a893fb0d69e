"""Variables of the instance, of groups and of projects: which of them a job gets.

Source: docs/reference/ci-yaml.md, "Variables".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from domain.projects.protection import fits
from domain.variables.job_variables import JobVariable

EVERYWHERE: Final = "*"
"""The scope of a variable that every job gets, also one without an environment."""

KEY: Final = re.compile(r"[A-Za-z0-9_]{1,255}")
MAX_VALUE: Final = 10_000
"""Characters of a value, as in GitLab."""
SHORTEST_MASKED: Final = 8


@dataclass(frozen=True, slots=True)
class CiVariable:
    """A variable with its value in clear. `level` is 0 for the instance, then grows with the depth of its owner."""

    key: str
    value: str
    level: int = 0
    file: bool = False
    protected: bool = False
    masked: bool = False
    raw: bool = False
    environment_scope: str = EVERYWHERE


def chosen(variables: Iterable[CiVariable], *, protected: bool, environment: str = "") -> tuple[CiVariable, ...]:
    """Those that a job gets, one for each name: the nearest owner's wins, of one owner the most exact scope.

    `protected` says whether the pipeline may have protected ones; `environment` is the expanded name, empty for none.
    """
    found: dict[str, CiVariable] = {}
    for variable in variables:
        if variable.protected and not protected:
            continue
        if variable.environment_scope != EVERYWHERE and not (
            environment and fits(variable.environment_scope, environment)
        ):
            continue
        known = found.get(variable.key)
        if known is None or _rank(variable) > _rank(known):
            found[variable.key] = variable
    return tuple(found.values())


def _rank(variable: CiVariable) -> tuple[int, int, int]:
    scope = variable.environment_scope
    return variable.level, "*" not in scope, len(scope.replace("*", ""))


def as_job_variable(variable: CiVariable) -> JobVariable:
    """The form in which runners get it; never for service containers."""
    return JobVariable(
        variable.key, variable.value, public=False, masked=variable.masked, file=variable.file, raw=variable.raw
    )


def cannot_be_masked(value: str) -> str:
    """Why logs could not hide a value; empty if they can. One line, 8 characters at least, no blanks."""
    if len(value) < SHORTEST_MASKED:
        return f"is too short to be masked (minimum is {SHORTEST_MASKED} characters)"
    if any(sign.isspace() for sign in value):
        return "contains whitespace, which cannot be masked"
    return ""
