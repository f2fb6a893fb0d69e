"""Values in stored documents that are secrets: variables that people gave, and those that decided about a job. Pure.

A variable keeps its sealed value as `sealed` in the place of `value`; a clause of a reason shows `SEALED` among its
`values` and has the sealed ones beside them, by name. What stands there in clear, of before or because it is no secret,
is left as it is. A document whose secrets are sealed may be sealed again: nothing changes.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from domain.config.rules.scope import names_in
from domain.config.why import HIDDEN, private_names

Change: TypeAlias = Callable[[str], str]
"""Seals a text, or opens one."""
Document: TypeAlias = Mapping[str, Any]

SEALED: Final = "[sealed]"
"""Stands in the place of a value that is kept sealed."""


def seal_variables(items: Iterable[Document], seal: Change, clear: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Variables with their values sealed, but for those whose names are in `clear`."""
    kept = frozenset(clear)
    return [dict(item) if item["key"] in kept else _renamed(item, "value", "sealed", seal) for item in items]


def open_variables(items: Iterable[Document], open_: Change) -> list[dict[str, Any]]:
    """Variables with their values in clear."""
    return [_renamed(item, "sealed", "value", open_) for item in items]


def seal_reason(why: Document, seal: Change) -> dict[str, Any]:
    """A reason (`domain.config.why.Why` as it is stored) with the values sealed that are not for everybody."""
    return _with_clauses(why, lambda clause: _sealed_clause(clause, seal))


def open_reason(why: Document, open_: Change) -> dict[str, Any]:
    """A reason with its values in clear."""
    return _with_clauses(why, lambda clause: _opened_clause(clause, open_))


def seal_reasons(reasons: Document, seal: Change) -> dict[str, Any]:
    """The reasons of a pipeline, which are why it is there and why jobs are not, with such values sealed."""
    return _each_reason(reasons, lambda why: seal_reason(why, seal))


COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "pipeline": ("variables", "reasons"),
    "job": ("variables", "why"),
    "play_variables": ("variables",),
}
"""The columns that hold such documents, by table."""


def seal_row(table: str, row: Document, seal: Change) -> dict[str, Any]:
    """A row with its documents sealed; that of a job has its `plan`, which says what its environment's URL shows."""
    clear = names_in((row.get("plan", {}).get("environment") or {}).get("url", ""))
    return _with_documents(
        table, row, lambda items: seal_variables(items, seal, clear), lambda why: seal_reason(why, seal)
    )


def open_row(table: str, row: Document, open_: Change) -> dict[str, Any]:
    """A row with its documents in clear."""
    return _with_documents(table, row, lambda items: open_variables(items, open_), lambda why: open_reason(why, open_))


def _with_documents(
    table: str, row: Document, variables: Callable[[Any], Any], reason: Callable[[Document], Document]
) -> dict[str, Any]:
    work: Mapping[str, Callable[[Any], Any]] = {
        "variables": variables,
        "why": reason,
        "reasons": lambda reasons: _each_reason(reasons, reason),
    }
    return {**row, **{column: work[column](row[column]) for column in COLUMNS.get(table, ())}}


def _renamed(item: Document, before: str, after: str, change: Change) -> dict[str, Any]:
    if before not in item:
        return dict(item)
    return {name: value for name, value in item.items() if name != before} | {after: change(item[before])}


def _with_clauses(why: Document, change: Callable[[Document], Document]) -> dict[str, Any]:
    return {**why, "tried": [change(clause) for clause in why["tried"]]} if why.get("tried") else dict(why)


def _sealed_clause(clause: Document, seal: Change) -> Document:
    values = clause.get("values", {})
    secret = {name: seal(value) for name in private_names(clause) if (value := values.get(name)) and _is_told(value)}
    if not secret:
        return clause
    sealed = {**clause.get("sealed", {}), **secret}
    return {**clause, "values": {**values, **dict.fromkeys(secret, SEALED)}, "sealed": sealed}


def _is_told(value: str) -> bool:
    return value not in (HIDDEN, SEALED)


def _opened_clause(clause: Document, open_: Change) -> Document:
    if "sealed" not in clause:
        return clause
    opened = {**clause["values"], **{name: open_(value) for name, value in clause["sealed"].items()}}
    return {name: value for name, value in clause.items() if name != "sealed"} | {"values": opened}


def _each_reason(reasons: Document, change: Callable[[Document], Document]) -> dict[str, Any]:
    changed = dict(reasons)
    if reasons.get("why"):
        changed["why"] = change(reasons["why"])
    if reasons.get("absent"):
        changed["absent"] = [{**one, "why": change(one["why"])} for one in reasons["absent"]]
    return changed
