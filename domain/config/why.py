"""Why a job is in a pipeline or not: the clause that decided, with what it saw."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

HIDDEN: Final = "[masked]"
"""Shown in place of the value of a masked or protected variable."""
NOT_FOR_READERS: Final = "[hidden]"
"""Shown to those who may only read in place of a value that is in the settings, or that somebody gave the pipeline."""
_PREDEFINED: Final = ("CI_", "GITLAB_")


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause that was looked at.

    `name` is as `rules[0]`, `workflow:rules[1]`, `only:refs` or `except:variables`; `expression` is what stands there,
    as `if: $CI_COMMIT_TAG` or `changes: docs/**/*`; `values` holds each variable it saw (None: not defined; masked and
    protected ones show `HIDDEN`), `private` names those whose values are not for everybody; `detail` says in words what
    decided where that is no variable, as `changed: docs/a.md` or `no list of changed files is known, which counts as a
    change`. `file` is empty for the main one.
    """

    name: str
    matched: bool
    expression: str = ""
    values: Mapping[str, str | None] = field(default_factory=dict)
    private: tuple[str, ...] = ()
    detail: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Why:
    """Whether a job (or the pipeline) is in, and the clause that decided.

    `clause` is the name of that clause, `default` if nothing in the text speaks of it, `rules` or `workflow:rules` if
    no rule matched. `text` is one sentence. `tried` are the clauses in the order in which they were looked at; the one
    that decided is the last.
    """

    included: bool
    clause: str
    text: str
    tried: tuple[Clause, ...] = ()


PRESENT: Final = Why(included=True, clause="default", text="nothing in the configuration says otherwise")
"""The reason of a job without any rule where no default excludes it."""


def why_shown(why: Mapping[str, Any], *, may_run: bool) -> dict[str, Any]:
    """A reason as it is stored, as somebody may see it: who may only read sees no value that is not for everybody.

    Of what was stored before it named those, all but the server's own count as such.
    """
    tried = [_clause_shown(clause, may_run=may_run) for clause in why.get("tried", ())]
    return {**why, "tried": tried} if "tried" in why else dict(why)


def private_names(clause: Mapping[str, Any]) -> list[str]:
    """The variables that a stored clause saw whose values are not for everybody."""
    found: list[str] = clause.get("private", [name for name in clause.get("values", {}) if _is_given(name)])
    return found


def _is_given(name: str) -> bool:
    return not name.startswith(_PREDEFINED)


def _clause_shown(clause: Mapping[str, Any], *, may_run: bool) -> dict[str, Any]:
    shown = {name: value for name, value in clause.items() if name not in ("private", "sealed")}
    values: Mapping[str, str | None] = clause.get("values", {})
    if may_run or not values:
        return shown
    for_readers = {name: NOT_FOR_READERS for name in private_names(clause) if values.get(name) != HIDDEN}
    return shown | {"values": {**values, **for_readers}}
