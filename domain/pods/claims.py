"""Names that there may be once in a cluster, and how they are taken: first tentatively, then for good.

A pod claims a name, writes what has it into its own database, and confirms. Whatever dies in between, only the pod
knows whether its own write was committed: it confirms or releases later what was left over. A directory never does by
itself (docs/pods.md, "The directory").

Each function answers with the claim as it is to be from now on. The same call again changes nothing.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from domain.errors import Invalid, NotFound, Refused, Taken
from domain.pods.directory import BLOCK_BITS
from domain.projects.path_names import is_path

MAX_EMAIL: Final = 320
MAX_ORGANISATION_ID: Final = 2**53
RELEASED_KEPT: Final = 30 * 86_400
"""Seconds for which a directory remembers a released claim."""


class ClaimKind(StrEnum):
    """What a name is of: paths are those of organisations and of people, who share them in GitLab."""

    PATH = "path"
    EMAIL = "email"


class ClaimState(StrEnum):
    """How far a claim is. One that was released stays known for `RELEASED_KEPT`, so that a late call takes nothing."""

    TENTATIVE = "tentative"
    CONFIRMED = "confirmed"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim on a name; `claim_id` is the caller's UUID, `name` as `unique_name` writes it.

    `was_moved`: its organisation has lived in a pod that its id does not say.
    """

    claim_id: str
    kind: ClaimKind
    name: str
    pod_number: int
    state: ClaimState = ClaimState.TENTATIVE
    organisation_id: int | None = None
    was_moved: bool = False

    @property
    def is_away(self) -> bool:
        """Whether its organisation is in another pod than its id says."""
        return self.organisation_id is not None and self.organisation_id >> BLOCK_BITS != self.pod_number


def unique_name(kind: ClaimKind, name: str) -> str:
    """The form in which two names are one: letters of any size, as pods compare them. Raises `Invalid`."""
    if kind is ClaimKind.PATH and not is_path(name):
        raise Invalid(f"name: {name!r} cannot be the path of an organisation or the name of a person.")
    if kind is ClaimKind.EMAIL:
        name = name.strip()
        before, _, after = name.rpartition("@")
        if not (before and after) or len(name) > MAX_EMAIL or not name.isprintable():
            raise Invalid(f"name: must be an e-mail address of {MAX_EMAIL} characters at most.")
    return name.lower()


def claimed(wanted: Claim, same: Claim | None, holder: Claim | None) -> Claim:
    """Phase one. `same` has the id of the wanted claim, `holder` its name. Raises `Taken`, `Refused`."""
    if same is not None:
        if (same.kind, same.name, same.pod_number) != (wanted.kind, wanted.name, wanted.pod_number):
            raise Refused("This claim_id is that of another claim: each has a UUID of its own.")
        if same.state is ClaimState.RELEASED:
            raise Refused("This claim was released: claim the name by a new claim_id.")
        return same
    if holder is not None:
        raise Taken(own=holder.pod_number == wanted.pod_number)
    return wanted


def confirmed(claim: Claim | None, organisation_id: int | None, home: int | None, *, by_pod: bool) -> Claim:
    """Phase two. `home`: the pod that confirmed claims of this organisation name, None without any.

    A pod (`by_pod`) confirms for organisations of its own block, and for those that were moved to it: else it would
    draw requests of others to itself. Raises `NotFound`, `Refused`.
    """
    if claim is None:
        raise NotFound("Claim Not Found")
    if claim.state is ClaimState.RELEASED:
        raise Refused("This claim was released: claim the name by a new claim_id.")
    if organisation_id is None:
        return replace(claim, state=ClaimState.CONFIRMED)
    if claim.kind is not ClaimKind.PATH:
        raise Invalid("organisation_id: only a claim on a path has one.")
    if claim.organisation_id is not None and claim.organisation_id != organisation_id:
        raise Refused("This claim was confirmed for another organisation.")
    if home is not None and home != claim.pod_number:
        raise Refused("This organisation lives in another pod.")
    done = replace(claim, state=ClaimState.CONFIRMED, organisation_id=organisation_id)
    if done.is_away and by_pod and home is None:
        raise Refused("This organisation's id is not of the block of the pod that claims.")
    return replace(done, was_moved=done.was_moved or done.is_away)


def released(claim: Claim) -> Claim:
    """The name is free again."""
    return replace(claim, state=ClaimState.RELEASED)


def forgotten_until(now: float) -> int:
    """The last unix second whose releases a directory has forgotten by the unix second `now`."""
    return int(now) - RELEASED_KEPT


def moved(claim: Claim | None, pod_number: int, expected: int) -> Claim:
    """The organisation with this path lives in a pod from now on, if it was in `expected`.

    Raises `NotFound`, `Refused`.
    """
    if claim is None or claim.state is not ClaimState.CONFIRMED or claim.kind is not ClaimKind.PATH:
        raise NotFound("Organisation Not Found")
    if claim.pod_number == pod_number:
        return claim
    if claim.pod_number != expected:
        raise Refused(f"The organisation is in pod {claim.pod_number}, not in pod {expected}: look, and decide again.")
    there = replace(claim, pod_number=pod_number)
    return replace(there, was_moved=there.was_moved or there.is_away)


def is_seen(before: Claim | None, after: Claim) -> bool:
    """Whether those who read the directory see the difference: they see confirmed paths alone."""
    return after.kind is ClaimKind.PATH and _shown(before) != _shown(after)


def _shown(claim: Claim | None) -> tuple[str, int, int | None] | None:
    if claim is None or claim.state is not ClaimState.CONFIRMED:
        return None
    return claim.name, claim.pod_number, claim.organisation_id
