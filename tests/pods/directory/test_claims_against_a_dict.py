"""Any row of calls, each of which may be cut before or after its commit and is repeated then, against a plain dict.

The calls go through the client and the doors; a reader follows by changes alone and must have the same as the dict. A
second one asks so seldom that claims were released and pruned meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from domain.errors import NotFound, PerdureError, Refused, Taken, Unavailable
from domain.pods.claims import RELEASED_KEPT, ClaimKind, ClaimState
from pods.directory.doors import create_app
from pods.directory.pruning import prune
from pods.directory.server import opened
from pods.directory_client import DirectoryClient
from rigs.postgres import fresh_database
from tests.pods.directory.databases import cut, emptied
from tests.pods.directory.known_claims import Claims, Known, Reader
from tests.pods.directory.served import directory_settings, tokens_in

PODS = (0, 1, 2)
IDS = [UUID(int=number) for number in range(1, 9)]
NAMES = ("acme", "Acme", "jo", "kim")
ORGANISATIONS = (None, 5, 2**40 + 5)
FAULTS = ("none", "none", "before", "after", "restart")

ids, names, pods = st.sampled_from(IDS), st.sampled_from(NAMES), st.sampled_from(PODS)
kinds, faults, organisations = st.sampled_from(ClaimKind), st.sampled_from(FAULTS), st.sampled_from(ORGANISATIONS)


def name_of(kind: ClaimKind, name: str) -> str:
    return f"{name}@example.org" if kind is ClaimKind.EMAIL else name


class Machine(RuleBasedStateMachine):
    """The directory and the dict."""

    database_url = ""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = TemporaryDirectory()
        self.stack = AsyncExitStack()
        self.claims = Claims()
        self.removed: set[int] = set()
        self.reader, self.late = Reader(), Reader()
        self.clock = 1_000_000_000

    @initialize()
    def begin(self) -> None:
        if self.database_url:
            self.runner.run(emptied(self.database_url))
        self.runner.run(self._open())
        for number in PODS:
            self.runner.run(self.client.put_pod(number, name=f"pod{number}", address=f"10.0.0.{number}:1"))

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()
        self.folder.cleanup()

    async def _open(self) -> None:
        home = Path(self.folder.name)
        self.parts = await self.stack.enter_async_context(opened(directory_settings(home, self.database_url)))
        self.parts.store._now = lambda: self.clock
        admin, _ = tokens_in(home)
        transport = httpx.ASGITransport(create_app(self.parts))
        client = DirectoryClient("http://directory", lambda: admin, transport)
        self.client = await self.stack.enter_async_context(client)

    def call(self, fault: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """The result or the error of a call that is cut as the fault says, and repeated then."""
        return self.runner.run(self._call(fault, make))

    async def _call(self, fault: str, make: Callable[[], Awaitable[Any]]) -> Any:
        if fault != "none":
            with cut(self.parts.store, fault), suppress(PerdureError):
                await make()
            if fault == "restart":
                await self.stack.aclose()
                await self._open()
        try:
            return await make()
        except PerdureError as error:
            return error

    @rule(claim_id=ids, kind=kinds, name=names, pod=pods, fault=faults)
    def claim(self, claim_id: UUID, kind: ClaimKind, name: str, pod: int, fault: str) -> None:
        name = name_of(kind, name)
        same, holder = self.claims.get(claim_id), self.claims.holder(kind, name)
        found = self.call(fault, lambda: self.client.claim(claim_id, kind, name, pod))
        if same is not None:
            is_same = (same.kind, same.name.lower(), same.pod) == (kind, name.lower(), pod)
            if is_same and same.state != "released":
                assert found.state == same.state
            else:
                assert type(found) is Refused
        elif holder is not None:
            assert type(found) is Taken
            assert found.own is (self.claims[holder].pod == pod)
        elif pod in self.removed:
            assert type(found) is NotFound
        else:
            assert (found.state, found.name) == ("tentative", name.lower())
            self.claims[claim_id] = Known(kind, name, pod)

    @rule(claim_id=ids, organisation=organisations, fault=faults)
    def confirm(self, claim_id: UUID, organisation: int | None, fault: str) -> None:
        known = self.claims.get(claim_id)
        found = self.call(fault, lambda: self.client.confirm(claim_id, organisation))
        if known is None:
            assert type(found) is NotFound
            return
        is_free = known.organisation in (None, organisation) and self.claims.homes(organisation) <= {known.pod}
        is_path = known.kind is ClaimKind.PATH
        if known.state == "released" or (organisation is not None and not (is_path and is_free)):
            assert isinstance(found, PerdureError)
            assert not isinstance(found, Unavailable)
            return
        assert found.state is ClaimState.CONFIRMED
        known.state = "confirmed"
        if organisation is not None:
            known.organisation = organisation
            known.lives_in(known.pod)

    @rule(claim_id=ids, fault=faults)
    def release(self, claim_id: UUID, fault: str) -> None:
        assert self.call(fault, lambda: self.client.release(claim_id)) is None
        known = self.claims.get(claim_id)
        if known is not None and known.state != "released":
            known.state, known.released_at = "released", self.clock

    @rule(name=names, pod=pods, expected=pods, fault=faults)
    def move(self, name: str, pod: int, expected: int, fault: str) -> None:
        holder = self.claims.holder(ClaimKind.PATH, name)
        known = None if holder is None else self.claims[holder]
        found = self.call(fault, lambda: self.client.move(name, pod, expected))
        if known is None or known.state != "confirmed":
            assert type(found) is NotFound
        elif known.pod != pod and known.pod != expected:
            assert type(found) is Refused
        elif known.pod != pod and pod in self.removed:
            assert type(found) is NotFound
        else:
            assert found.pod_number == pod
            for other in self.claims.values():
                is_of_it = known.organisation is not None and other.organisation == known.organisation
                if other is known or (is_of_it and other.state == "confirmed"):
                    other.lives_in(pod)

    @rule(pod=st.sampled_from((1, 2)), fault=faults)
    def remove(self, pod: int, fault: str) -> None:
        held = [known for known in self.claims.values() if known.pod == pod and known.state != "released"]
        found = self.call(fault, lambda: self.client.remove_pod(pod))
        if held:
            assert f"holds {len(held)} claims" in str(found)
        else:
            assert found is None
            self.removed.add(pod)

    @rule(pod=pods, weight=st.integers(0, 3), fault=faults)
    def weigh(self, pod: int, weight: int, fault: str) -> None:
        found = self.call(fault, lambda: self.client.put_pod(pod, weight=weight))
        assert type(found) is Refused if pod in self.removed else found.weight == weight

    @rule(days=st.sampled_from((1, 20, 31)))
    def prune(self, days: int) -> None:
        self.clock += days * 86_400
        until = self.clock - RELEASED_KEPT
        old = {key for key, known in self.claims.items() if known.is_forgotten(until)}
        assert self.runner.run(prune(self.parts.store, max_batch=2)) == len(old)
        for key in old:
            del self.claims[key]

    @rule(claim_id=ids, name=names, pod=pods)
    def forget(self, claim_id: UUID, name: str, pod: int) -> None:
        """What single steps seldom come to: the late reader has a path that was released and pruned since."""
        self.claim(claim_id=claim_id, kind=ClaimKind.PATH, name=name, pod=pod, fault="none")
        self.confirm(claim_id=claim_id, organisation=None, fault="none")
        self.read_late()
        self.release(claim_id=claim_id, fault="none")
        self.prune(days=31)

    @rule()
    def read_late(self) -> None:
        self.runner.run(self.late.read(self.client))

    @invariant()
    def the_reader_has_what_the_dict_has(self) -> None:
        if not hasattr(self, "client"):
            return
        self.runner.run(self.reader.read(self.client))
        copy = self.reader.copy
        assert copy is not None
        placed = [
            known for known in self.claims.values() if known.kind is ClaimKind.PATH and known.state == "confirmed"
        ]
        assert dict(copy.organisations) == {known.name.lower(): known.pod for known in placed}
        moved = {known.organisation for known in self.claims.values() if known.was_moved}
        assert dict(copy.moved) == {known.organisation: known.pod for known in placed if known.organisation in moved}
        assert set(copy.by_number) == set(PODS) - self.removed

    @invariant()
    def nothing_is_held_but_by_the_dict(self) -> None:
        if not hasattr(self, "client"):
            return

        async def all_claims() -> dict[str, str]:
            asked = [(pod, state) for pod in PODS for state in (None, ClaimState.RELEASED)]
            return {claim.claim_id: claim.state for one in asked async for claim in self.client.claims(*one)}

        assert self.runner.run(all_claims()) == {str(key): known.state for key, known in self.claims.items()}


@pytest.mark.parametrize(
    ("kind", "examples"),
    [
        ("sqlite", 8),
        pytest.param("sqlite", 30, marks=pytest.mark.nightly),
        pytest.param("postgresql", 30, marks=pytest.mark.nightly),
    ],
)
def test_the_directory_is_the_dict(kind: str, examples: int, request: pytest.FixtureRequest) -> None:
    # Seconds: some hundred calls, each with a commit of its own, and each state compared as a whole.
    with asyncio.Runner() as runner:
        made = fresh_database(str(request.getfixturevalue("postgres"))) if kind == "postgresql" else None
        Machine.database_url = runner.run(made.__aenter__()) if made else ""
        try:
            run_state_machine_as_test(
                Machine,
                settings=settings(
                    max_examples=examples,
                    stateful_step_count=25,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            if made:
                runner.run(made.__aexit__(None, None, None))
