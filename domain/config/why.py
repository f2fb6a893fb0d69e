"""Why a job is in a pipeline or not: the clause that decided, with what it saw."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

HIDDEN: Final = "[masked]"
"""Shown in place of the value of a masked variable."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause that was looked at.

    `name` is as `rules[0]`, `workflow:rules[1]`, `only:refs` or `except:variables`; `expression` is what stands there,
    as `if: $CI_COMMIT_TAG` or `changes: docs/**/*`; `values` holds each variable it saw (None: not defined; masked ones
    show `HIDDEN`); `detail` says in words what decided where that is no variable, as `changed: docs/a.md` or
    `no list of changed files is known, which counts as a change`. `file` is empty for the main one.
    """

    name: str
    matched: bool
    expression: str = ""
    values: Mapping[str, str | None] = field(default_factory=dict)
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
