"""What a directory tells those who keep a copy of it: all, or what has changed since they asked last.

Fields that are not known are passed over, as in `directory_document`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from domain.errors import Invalid
from domain.pods.directory import Directory, IdKind, PodState
from domain.pods.directory_document import directory_of, document_of_owners, owners_of, pod_of

Key = TypeVar("Key", str, int)

_FIELDS: Final = frozenset({"epoch", "version", "complete", "pods", "organisations", "moved"})


@dataclass(frozen=True, slots=True)
class Changes:
    """A response of the directory. `epoch` names a life of the service: versions of two lives do not compare.

    With `is_complete` it is all that there is; else what it does not name stays. A pod whose `state` is `removed`, a
    path and an id that lead to None are there no more.
    """

    epoch: str
    version: int
    is_complete: bool
    pods: tuple[Mapping[str, Any], ...] = ()
    organisations: Mapping[str, int | None] = field(default_factory=dict)
    moved: Mapping[str, int | None] = field(default_factory=dict)
    owners: Mapping[IdKind, Mapping[int, int]] = field(default_factory=dict)


def changes_of(document: object) -> Changes:
    """The changes that a response tells. Raises `Invalid`."""
    if not isinstance(document, dict) or not document.keys() >= _FIELDS:
        raise Invalid(f"The changes of a directory are an object with {', '.join(sorted(_FIELDS))}.")
    pods, organisations, moved = document["pods"], document["organisations"], document["moved"]
    is_right = (
        isinstance(document["epoch"], str)
        and isinstance(document["version"], int)
        and isinstance(document["complete"], bool)
        and isinstance(pods, list)
        and all(isinstance(pod, dict) and isinstance(pod.get("number"), int) for pod in pods)
        and isinstance(organisations, dict)
        and isinstance(moved, dict)
        and all(isinstance(key, str) and key.isdecimal() for key in moved)
        and all(number is None or isinstance(number, int) for number in (*organisations.values(), *moved.values()))
    )
    if not is_right:
        raise Invalid("The changes of a directory have fields of the wrong kind.")
    owners = owners_of(document.get("owners", {}))
    return Changes(
        document["epoch"], document["version"], document["complete"], tuple(pods), organisations, moved, owners
    )


def document_of_changes(changes: Changes) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "epoch": changes.epoch,
        "version": changes.version,
        "complete": changes.is_complete,
        "pods": [dict(pod) for pod in changes.pods],
        "organisations": dict(changes.organisations),
        "moved": dict(changes.moved),
        **document_of_owners(changes.owners),
    }


def applied(known: Directory | None, changes: Changes) -> Directory | None:
    """The directory after changes; None while it has no pods, as at its first start. Raises `Invalid`."""
    if changes.is_complete or known is None:
        pods = [dict(pod) for pod in changes.pods if pod.get("state") != PodState.REMOVED]
        placed = {"organisations": _left(changes.organisations), "moved": _left(changes.moved)}
        found = directory_of({"version": changes.version, "pods": pods, **placed}) if pods else None
        return found and replace(found, owners=changes.owners)
    there = dict(known.by_number)
    for place, pod in enumerate(changes.pods):
        if pod.get("state") == PodState.REMOVED:
            there.pop(pod["number"], None)
        else:
            there[pod["number"]] = pod_of(f"pods[{place}]", pod)
    # Only what changed is looked at: there may be many organisations, and routers apply this between requests.
    for number in (*changes.organisations.values(), *changes.moved.values()):
        if number is not None and number not in there:
            raise Invalid(f"The changes of a directory lead to pod {number}, which there is not.")
    if not there:
        return None
    organisations: dict[str, int | None] = {**known.organisations, **changes.organisations}
    moved: dict[int, int | None] = {**known.moved}
    moved.update({int(key): number for key, number in changes.moved.items()})
    pods_left = tuple(there[number] for number in sorted(there))
    owners = {kind: {**known.owners.get(kind, {}), **changes.owners.get(kind, {})} for kind in IdKind}
    owners = {kind: ids for kind, ids in owners.items() if ids}
    return Directory(changes.version, pods_left, _left(organisations), _left(moved), owners)


def _left(entries: Mapping[Key, int | None]) -> dict[Key, int]:
    return {key: number for key, number in entries.items() if number is not None}
