"""Environments (docs.gitlab.com/api/environments), known by their names."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from domain.project_import.plan import (
    MADE,
    Call,
    Document,
    Item,
    NotCarried,
    Outcome,
    Plan,
    differing,
    together,
    unchanged,
)

KIND: Final = "environment"
_STOPPED: Final = frozenset({"stopped", "stopping"})
_CLUSTER: Final = ("cluster_agent", "kubernetes_namespace", "flux_resource_path")
_STOP: Final[Mapping[str, bool]] = {"force": True}
"""No stop job is played: nothing was deployed from here."""


def plan(source: Sequence[Document], present: Sequence[Document]) -> Plan:
    """One that is stopped at the source is stopped here, unless something has been deployed to it from here.

    Of those in `present` that are stopped at the source, `last_deployment` must be known.
    """
    here = {one["name"]: one for one in present}
    return together(_planned(one, here.get(one["name"])) for one in source)


def needs_detail(source: Sequence[Document], present: Sequence[Document]) -> list[int]:
    """The ids of those here of which it has to be known whether something was deployed to them."""
    stopped = {one["name"] for one in source if _is_stopped(one)}
    return [one["id"] for one in present if one["name"] in stopped and not _is_stopped(one)]


def _planned(source: Document, present: Document | None) -> Plan:
    name = source["name"]
    wanted: dict[str, Any] = {"external_url": source.get("external_url") or ""}
    if source.get("tier"):
        wanted["tier"] = source["tier"]
    left = tuple(_left(source))
    if present is None:
        calls = [Call("POST", "/environments", {"name": name, **wanted})]
        if _is_stopped(source):
            calls.append(Call("POST", f"/environments/{MADE}/stop", _STOP))
        return Plan((Item(KIND, name, Outcome.CREATED, tuple(calls)),), left)
    calls = []
    if changes := differing(wanted, present):
        calls.append(Call("PUT", f"/environments/{present['id']}", changes))
    if _is_stopped(source) and not _is_stopped(present) and present.get("last_deployment") is None:
        calls.append(Call("POST", f"/environments/{present['id']}/stop", _STOP))
    item = Item(KIND, name, Outcome.UPDATED, tuple(calls)) if calls else unchanged(KIND, name)
    return Plan((item,), left)


def _is_stopped(environment: Document) -> bool:
    return environment.get("state") in _STOPPED


def _left(source: Document) -> Iterator[NotCarried]:
    name = source["name"]
    if source.get("auto_stop_at") and not _is_stopped(source):
        reason = f"At the source it stops by itself at {source['auto_stop_at']}; here it has no such time yet."
        yield NotCarried(KIND, name, reason, "The next deployment sets it, if its job has `auto_stop_in`.")
    if any(source.get(field) for field in _CLUSTER):
        yield NotCarried(KIND, name, "It shows a Kubernetes cluster at the source; here it does not.")
