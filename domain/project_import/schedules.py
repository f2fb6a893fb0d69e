"""Pipeline schedules with their variables and inputs (docs.gitlab.com/api/pipeline_schedules).

One is known by description, ref and cron. It is made paused, since the source still runs its own; what starts it comes
last of all, in `Schedules.starts`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

from domain.project_import.plan import MADE, Call, Document, Item, NotCarried, Outcome, Plan, differing, unchanged
from domain.projects.ref_names import HEADS, TAGS

KIND: Final = "schedule"
_ROUTE: Final = "/pipeline_schedules"
_OURS: Final = ("overlap_policy", "catch_up", "catch_up_window")
"""What only Perdure knows of a schedule."""
_PREFIXES: Final = (HEADS, TAGS)
_NOT_SHOWN: Final = "Its variables are not shown to this token."
_SHOW: Final = "Take a token of a maintainer of the source, and import again."
_BY_HAND: Final = "Correct it at the source and import again, or make it here: `perdure schedule create`."
_STAYS_PAUSED: Final = "It ran here and is paused now; look at it, then `perdure schedule resume ID`."
_PAUSED: Final = "It runs at the source; here it is paused, so that nothing runs twice."
_START: Final = "`perdure schedule resume ID` when the source's is paused, or import again with `--activate-schedules`."


@dataclass(frozen=True, slots=True)
class Schedules:
    """The plan, and what lets schedules run when everything else is there, by the place of their item in the plan."""

    plan: Plan
    starts: Mapping[int, Item]


@dataclass(frozen=True, slots=True)
class Around:
    """What schedules depend on: the full names of the source's branches and tags, who imports, and what is asked."""

    refs: Collection[str]
    username: str
    activate: bool = False


def plan(source: Sequence[Document], present: Sequence[Document], around: Around) -> Schedules:
    """Documents are those of single schedules, with variables. One that runs here is paused while it changes."""
    here: dict[tuple[str, str, str], list[Document]] = {}
    for one in present:
        here.setdefault(_identity(one, around), []).append(one)
    items: list[Item] = []
    starts: dict[int, Item] = {}
    left: list[NotCarried] = []
    for one in source:
        ref = _full_ref(one["ref"], around)
        if not ref:
            reason = f"The source has no branch or tag {one['ref']} any more."
            left.append(NotCarried(KIND, _name(one), reason, "Make it anew with another ref, if it is wanted."))
            continue
        if "variables" not in one:
            left.append(NotCarried(KIND, _name(one), _NOT_SHOWN, _SHOW, failed=True))
        known = here.get(_identity(one, around), [])
        before = known.pop(0) if known else None
        item = _created(one, ref) if before is None else _updated(one, before)
        waits = bool(one.get("active") and not (before and before.get("active")))
        items.append(replace(item, then=tuple(_told(one, around, paused=waits and not around.activate))))
        if waits and around.activate:
            starts[len(items) - 1] = _start(one, before)
    return Schedules(Plan(tuple(items), tuple(left)), starts)


def _created(source: Document, ref: str) -> Item:
    body: dict[str, Any] = {
        "description": source["description"],
        "ref": ref,
        "cron": source["cron"],
        "cron_timezone": source.get("cron_timezone") or "UTC",
        "active": False,
        **_policies(source),
    }
    if source.get("inputs"):
        body["inputs"] = _inputs(source)
    variables = (Call("POST", f"{_ROUTE}/{MADE}/variables", _variable(one)) for one in source.get("variables") or ())
    calls = (Call("POST", _ROUTE, body), *variables)
    return Item(KIND, _name(source), Outcome.CREATED, calls, if_refused=_BY_HAND)


def _updated(source: Document, present: Document) -> Item:
    route = f"{_ROUTE}/{present['id']}"
    changes = differing({"cron_timezone": source.get("cron_timezone") or "UTC", **_policies(source)}, present)
    inputs = {one["name"]: one.get("value") for one in present.get("inputs") or ()}
    other = [one for one in _inputs(source) if one["name"] not in inputs or inputs[one["name"]] != one["value"]]
    if other:
        changes["inputs"] = other
    calls = [Call("PUT", route, changes)] if changes else []
    calls += _changed_variables(route, source, present)
    if not calls:
        return unchanged(KIND, _name(source))
    if not present.get("active"):
        return Item(KIND, _name(source), Outcome.UPDATED, tuple(calls))
    pause, resume = (Call("PUT", route, {"active": active}) for active in (False, True))
    return Item(KIND, _name(source), Outcome.UPDATED, (pause, *calls, resume), if_refused=_STAYS_PAUSED)


def _changed_variables(route: str, source: Document, present: Document) -> Iterator[Call]:
    here: Mapping[str, Document] = {one["key"]: _variable(one) for one in present.get("variables") or ()}
    for one in map(_variable, source.get("variables") or ()):
        if one["key"] not in here:
            yield Call("POST", f"{route}/variables", one)
        elif here[one["key"]] != one:
            body = {name: value for name, value in one.items() if name != "key"}
            yield Call("PUT", f"{route}/variables/{quote(one['key'], safe='')}", body)


def _start(source: Document, before: Document | None) -> Item:
    key = MADE if before is None else before["id"]
    return Item(KIND, _name(source), Outcome.UPDATED, (Call("PUT", f"{_ROUTE}/{key}", {"active": True}),), "started")


def _told(source: Document, around: Around, *, paused: bool) -> Iterator[NotCarried]:
    name = _name(source)
    if paused:
        yield NotCarried(KIND, name, _PAUSED, _START)
    owner = (source.get("owner") or {}).get("username")
    if owner and owner != around.username:
        reason = f"It runs in your name here, and in that of {owner} at the source."
        yield NotCarried("schedule_owner", name, reason, "That person takes it: `perdure schedule take-ownership ID`.")


def _policies(source: Document) -> dict[str, Any]:
    return {name: source[name] for name in _OURS if source.get(name) is not None}


def _inputs(source: Document) -> list[dict[str, Any]]:
    return [{"name": one["name"], "value": one.get("value")} for one in source.get("inputs") or ()]


def _variable(variable: Document) -> dict[str, Any]:
    return {
        "key": variable["key"],
        "value": variable.get("value") or "",
        "variable_type": variable.get("variable_type") or "env_var",
        "raw": bool(variable.get("raw")),
    }


def _identity(schedule: Document, around: Around) -> tuple[str, str, str]:
    ref = _full_ref(schedule["ref"], around) or str(schedule["ref"])
    return str(schedule["description"]), ref, str(schedule["cron"]).strip()


def _full_ref(ref: str, around: Around) -> str:
    """The full name; a short one is of a branch if there is one. Empty if the source has no such ref."""
    if ref.startswith(_PREFIXES):
        return ref if ref in around.refs else ""
    return next((prefix + ref for prefix in _PREFIXES if prefix + ref in around.refs), "")


def _name(schedule: Document) -> str:
    return str(schedule["description"])
