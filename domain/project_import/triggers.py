"""Trigger tokens (docs.gitlab.com/api/pipeline_triggers), known by their descriptions."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from domain.project_import.plan import Call, Document, Item, NotCarried, Outcome, Plan, unchanged

KIND: Final = "trigger"
_TOKEN: Final = "trigger_token"  # noqa: S105  # the name of a kind
_ANOTHER: Final = "Its token here is another one, and its pipelines run in your name."
_GIVE_ON: Final = "Give the new token, shown below this once, and the new address to whoever calls it."
_MADE_BEFORE: Final = "Its token here was shown when it was made."
_LOST: Final = "If it was lost: `perdure trigger delete {id}`, and import again."
_OVER: Final = "It has expired at the source."


def plan(source: Sequence[Document], present: Sequence[Document], now: datetime) -> Plan:
    """A trigger of the same description for each that is good; each has a token of its own."""
    here: dict[str, list[Document]] = {}
    for one in present:
        here.setdefault(_name(one), []).append(one)
    items: list[Item] = []
    left: list[NotCarried] = []
    for one in source:
        name, ends = _name(one), _moment(one.get("expires_at"))
        if ends is not None and ends <= now:
            left.append(NotCarried(KIND, name, _OVER))
        elif here.get(name):
            known = here[name].pop(0)
            told = NotCarried(_TOKEN, name, _MADE_BEFORE, _LOST.format(id=known["id"]))
            items.append(replace(unchanged(KIND, name), then=(told,)))
        else:
            body: dict[str, Any] = {"description": name}
            if ends is not None:
                body["expires_at"] = one["expires_at"]
            told = NotCarried(_TOKEN, name, _ANOTHER, _GIVE_ON)
            items.append(Item(KIND, name, Outcome.CREATED, (Call("POST", "/triggers", body),), then=(told,)))
    return Plan(tuple(items), tuple(left))


def _name(trigger: Document) -> str:
    return str(trigger.get("description") or "")


def _moment(text: Any) -> datetime | None:
    if not text:
        return None
    found = datetime.fromisoformat(str(text))
    return found if found.tzinfo else found.replace(tzinfo=UTC)
