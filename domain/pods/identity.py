"""What a pod is called: one name, from which everything in Temporal has its own, written down at the first start."""

import re
from dataclasses import dataclass
from typing import Final

from domain.errors import Invalid

TASK_QUEUE: Final = "pipelines"
"""Of every pod: a queue belongs to its namespace."""
NAMESPACE_OF_BEFORE: Final = "default"
"""Where the workflows of a pod are that was made before namespaces had the names of pods, if nothing else was said."""

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,37}[a-z0-9])?")
_NAME_RULE: Final = "small letters, digits and, between them, hyphens, 39 at most"


@dataclass(frozen=True, slots=True)
class PodIdentity:
    """A pod's name and number, and its namespace and task queue in Temporal; empty (None): nothing is said of it."""

    name: str
    number: int | None = None
    namespace: str = ""
    task_queue: str = ""


def check_name(name: str) -> None:
    """Raise `Invalid` for a name that a new pod cannot have: a Temporal namespace is called by it."""
    if not _NAME.fullmatch(name):
        raise Invalid(f"A pod cannot have the name {name!r}: {_NAME_RULE}.")


def of_new_pod(given: PodIdentity) -> PodIdentity:
    """What a pod is from its first start on. Raises `Invalid` for its name."""
    check_name(given.name)
    return PodIdentity(given.name, given.number or 0, given.namespace or given.name, given.task_queue or TASK_QUEUE)


def of_known_pod(kept: PodIdentity, given: PodIdentity, *, is_restored: bool = False) -> PodIdentity:
    """What a pod is whose database says `kept`, of which all but the name may be missing.

    What is given must be the same; in Temporal a pod may move when it was restored, as all of it begins anew there.
    Raises `Invalid`, which says what to look at.
    """
    if kept.name != given.name:
        raise Invalid(
            f"This database belongs to pod {kept.name}, not to {given.name}; check PERDURE_DATABASE_URL and "
            "PERDURE_POD."
        )
    if None not in {kept.number, given.number} and kept.number != given.number:
        raise Invalid(
            f"Pod {kept.name} has the number {kept.number}, not {given.number}: its ids and tokens carry it for ever. "
            f"Set PERDURE_POD_NUMBER to {kept.number}."
        )
    number = given.number or 0 if kept.number is None else kept.number
    places: dict[str, str] = {}
    for field, setting, before in (
        ("namespace", "PERDURE_TEMPORAL_NAMESPACE", NAMESPACE_OF_BEFORE),
        ("task_queue", "PERDURE_TASK_QUEUE", TASK_QUEUE),
    ):
        was, wish = getattr(kept, field), getattr(given, field)
        if was and wish and was != wish and not is_restored:
            raise Invalid(
                f"The workflows of pod {kept.name} are in the {field.replace('_', ' ')} {was} of Temporal, not in "
                f"{wish}; unset {setting}, since the pod knows it."
            )
        places[field] = (wish or was if is_restored else was or wish) or before
    return PodIdentity(kept.name, number, **places)
