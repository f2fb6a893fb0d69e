"""The modes of resource groups (docs.gitlab.com/api/resource_groups); a group itself is made by its first job."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from domain.pipelines.resource_groups import ProcessMode
from domain.project_import.plan import Call, Document, Item, NotCarried, Outcome, Plan, together, unchanged

KIND: Final = "resource_group"
_ORDINARY: Final = ProcessMode.UNORDERED


def plan(source: Sequence[Document], present: Sequence[Document]) -> Plan:
    """One that is here gets the mode of the source's; of others only the mode could be lost."""
    here = {one["key"]: one["process_mode"] for one in present}
    return together(_planned(one["key"], one["process_mode"], here.get(one["key"])) for one in source)


def _planned(key: str, mode: str, have: str | None) -> Plan:
    if have == mode:
        return Plan((unchanged(KIND, key),))
    if have is not None:
        call = Call("PUT", f"/resource_groups/{quote(key, safe='')}", {"process_mode": mode})
        return Plan((Item(KIND, key, Outcome.UPDATED, (call,), mode),))
    if mode == _ORDINARY:
        return Plan()
    reason = f"Its process mode is {mode}, but it is made here only by its first job."
    return Plan(not_carried=(NotCarried(KIND, key, reason, "Import again when a pipeline has used it."),))
