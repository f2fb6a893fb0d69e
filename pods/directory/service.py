"""What a directory does: each method is one transaction, and the same call again changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection

from domain.errors import NotFound, Refused
from domain.pods import claims as decisions
from domain.pods.claims import Claim, ClaimKind, ClaimState, is_seen, unique_name
from domain.pods.directory import IdKind, Pod, PodState
from domain.pods.directory_access import Action, Caller, Role, require
from domain.pods.directory_changes import Changes
from domain.pods.directory_document import document_of_pod
from pods.directory import claim_rows, owner_rows, pod_rows, tables
from pods.directory.claim_rows import KeptClaim
from pods.directory.store import Store

MAX_WAIT: Final = 30.0
"""Seconds for which a reader's request is held at most."""
_ABSENT: Final = "Pod Not Found"


@dataclass(frozen=True, slots=True)
class PodFields:
    """What a call says of a pod; None leaves it as it is."""

    name: str | None = None
    address: str | None = None
    weight: int | None = None
    state: PodState | None = None
    public_keys: tuple[Mapping[str, Any], ...] | None = None

    @property
    def action(self) -> Action:
        """What it takes to say so: names, weights and states are the administrator's."""
        is_own = self.name is None and self.weight is None and self.state is None
        return Action.CHANGE_POD if is_own else Action.MAKE_POD

    def given(self) -> dict[str, Any]:
        """The fields that were said."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in found.items() if value is not None}


class DirectoryService:
    """The directory, whoever asks; every method raises `Forbidden`, `Unavailable` and what is said of it."""

    def __init__(self, store: Store) -> None:
        """Use an open store."""
        self._store = store

    async def changes(self, caller: Caller, epoch: str, after: int, wait: float) -> Changes:
        """What has changed since `after`, as soon as there is something; all of it to who comes from another epoch."""
        require(caller, Action.READ)
        await self._store.look_for(after)
        if epoch == self._store.epoch and after <= self._store.version:
            await self._store.later_than(after, min(wait, MAX_WAIT))
        if epoch != self._store.epoch or after > self._store.version:
            after = 0
        return await self._store.read(lambda connection: _changes(connection, self._store.epoch, after))

    async def put_pod(self, caller: Caller, number: int, fields: PodFields) -> Pod:
        """Make a pod, or change it. Raises `NotFound`, `Refused`."""
        require(caller, fields.action, number)

        def work(connection: Connection, version: int) -> tuple[Pod, bool]:
            before = pod_rows.find_pod(connection, number)
            after = _changed_pod(connection, number, before, fields)
            if after == before:
                return after, False
            pod_rows.write_pod(connection, after, version)
            return after, True

        return await self._store.write(work)

    async def remove_pod(self, caller: Caller, number: int) -> None:
        """Take a pod out, for ever. Raises `NotFound`, and `Refused` while it has claims."""
        require(caller, Action.REMOVE_POD, number)

        def work(connection: Connection, version: int) -> tuple[None, bool]:
            pod = pod_rows.find_pod(connection, number)
            if pod is None:
                raise NotFound(_ABSENT)
            if pod.state is PodState.REMOVED:
                return None, False
            if held := claim_rows.count_held(connection, number):
                raise Refused(f"Pod {number} holds {held} claims: move its organisations and people, then remove it.")
            pod_rows.write_pod(connection, replace(pod, state=PodState.REMOVED), version)
            return None, True

        await self._store.write(work)

    async def claim(self, caller: Caller, claim_id: str, kind: ClaimKind, name: str, pod_number: int) -> Claim:
        """Phase one. Raises `Taken`, `Refused`, `Invalid`, `NotFound` for a pod that there is not."""
        require(caller, Action.CLAIM, pod_number)
        wanted = Claim(claim_id, kind, unique_name(kind, name), pod_number)

        def work(connection: Connection, _: int) -> tuple[Claim, bool]:
            same = claim_rows.find_claim(connection, claim_id)
            claim = decisions.claimed(wanted, same, claim_rows.find_holder(connection, kind, wanted.name))
            if same is None:
                _present(connection, pod_number)
                claim_rows.insert_claim(connection, claim, self._store.unix_time())
            return claim, False

        return await self._store.write(work)

    async def confirm(self, caller: Caller, claim_id: str, organisation_id: int | None) -> Claim:
        """Phase two. Raises `NotFound`, also of a claim that is another pod's, `Refused` and `Invalid`."""
        require(caller, Action.CLAIM, caller.pod_number)

        def work(connection: Connection, version: int) -> tuple[Claim, bool]:
            before = _own(caller, claim_rows.find_claim(connection, claim_id))
            home = None if organisation_id is None else claim_rows.find_home(connection, organisation_id)
            after = decisions.confirmed(before, organisation_id, home, by_pod=caller.role is Role.POD)
            return after, self._keep(connection, before, after, version)

        return await self._store.write(work)

    async def release(self, caller: Caller, claim_id: str) -> None:
        """Give a name back. Nothing happens for a claim that there is not, or that is another pod's."""
        require(caller, Action.CLAIM, caller.pod_number)

        def work(connection: Connection, version: int) -> tuple[None, bool]:
            before = _own(caller, claim_rows.find_claim(connection, claim_id))
            return None, before is not None and self._keep(connection, before, decisions.released(before), version)

        await self._store.write(work)

    async def claims(
        self, caller: Caller, pod_number: int, state: ClaimState | None, after: str, limit: int
    ) -> list[KeptClaim]:
        """Claims of a pod in the order of their ids, `limit` of those behind `after`; without `state` not released."""
        require(caller, Action.LIST_CLAIMS, pod_number)
        return await self._store.read(
            lambda connection: claim_rows.list_claims(connection, pod_number, state, after, limit)
        )

    async def placed(self, caller: Caller, path: str) -> Claim:
        """The confirmed claim on a path: of an organisation if it has an `organisation_id`, else of a person.

        Raises `NotFound`, `Invalid`.
        """
        require(caller, Action.READ)
        name = unique_name(ClaimKind.PATH, path)
        claim = await self._store.read(lambda connection: claim_rows.find_holder(connection, ClaimKind.PATH, name))
        if claim is None or claim.state is not ClaimState.CONFIRMED:
            raise NotFound("Name Not Found")
        return claim

    async def move(self, caller: Caller, path: str, pod_number: int, expected: int) -> Claim:
        """The organisation lives elsewhere, with all its paths. Raises `NotFound`, `Refused`, `Invalid`."""
        require(caller, Action.MOVE)
        name = unique_name(ClaimKind.PATH, path)

        def work(connection: Connection, version: int) -> tuple[Claim, bool]:
            before = claim_rows.find_holder(connection, ClaimKind.PATH, name)
            after = decisions.moved(before, pod_number, expected)
            if after == before:
                return after, False
            _present(connection, pod_number)
            organisation_id = after.organisation_id
            others = [] if organisation_id is None else claim_rows.claims_of_organisation(connection, organisation_id)
            for claim in {each.claim_id: each for each in (*others, before) if each is not None}.values():
                self._keep(connection, claim, decisions.moved(claim, pod_number, expected), version)
            return after, True

        return await self._store.write(work)

    async def own(self, caller: Caller, path: str, kind: IdKind, ids: Sequence[int]) -> None:
        """These ids are of what belongs to the organisation, wherever it lives. Raises `NotFound`."""
        require(caller, Action.MOVE)
        name = unique_name(ClaimKind.PATH, path)

        def work(connection: Connection, version: int) -> tuple[None, bool]:
            found = claim_rows.find_holder(connection, ClaimKind.PATH, name)
            if found is None or found.state is not ClaimState.CONFIRMED or found.organisation_id is None:
                raise NotFound("Organisation Not Found")
            return None, owner_rows.keep_owners(connection, found.organisation_id, kind, ids, version)

        await self._store.write(work)

    def _keep(self, connection: Connection, before: Claim | None, after: Claim, version: int) -> bool:
        """Keep what has changed; whether readers see it."""
        if after == before:
            return False
        seen = is_seen(before, after)
        claim_rows.update_claim(connection, after, version if seen else None, self._store.unix_time())
        return seen


def _changes(connection: Connection, epoch: str, after: int) -> Changes:
    if after < tables.read_pruned_version(connection):
        after = 0  # a release since then may be one that was pruned
    pods = [document_of_pod(pod) for pod in pod_rows.pods_since(connection, after) if after or _is_there(pod)]
    organisations, moved = claim_rows.organisations_since(connection, after), claim_rows.moved_since(connection, after)
    if not after:
        organisations, moved = _left(organisations), _left(moved)
    owners = owner_rows.owners_since(connection, after)
    return Changes(epoch, tables.read_version(connection), not after, tuple(pods), organisations, moved, owners)


def _left(entries: dict[str, int | None]) -> dict[str, int | None]:
    return {key: number for key, number in entries.items() if number is not None}


def _is_there(pod: Pod | None) -> bool:
    return pod is not None and pod.state is not PodState.REMOVED


def _present(connection: Connection, number: int) -> None:
    if not _is_there(pod_rows.find_pod(connection, number)):
        raise NotFound(_ABSENT)


def _changed_pod(connection: Connection, number: int, before: Pod | None, fields: PodFields) -> Pod:
    if before is not None and before.state is PodState.REMOVED:
        raise Refused(f"Pod {number} was removed: its number and its name are never given again.")
    if before is None:
        if fields.name is None:
            raise NotFound(_ABSENT)
        namesake = pod_rows.find_pod_by_name(connection, fields.name)
        if namesake is not None:
            raise Refused(f"The name {fields.name} is that of pod {namesake.number}, and is never given again.")
        return Pod(number, **fields.given())
    if fields.name not in (None, before.name):
        raise Refused(f"Pod {number} is called {before.name}, which stands in all that it has signed: it stays so.")
    return replace(before, **fields.given())


def _own(caller: Caller, claim: Claim | None) -> Claim | None:
    """The claim, if the caller may know of it."""
    if claim is None or caller.role is Role.ADMIN or claim.pod_number == caller.pod_number:
        return claim
    return None
