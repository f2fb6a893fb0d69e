"""Transactions of the directory whose caller goes away, or whose success is never heard of."""

import asyncio
import signal
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest

from domain.errors import Taken, Unavailable
from domain.pods.claims import ClaimKind
from domain.pods.directory_access import Caller, Role
from pods.directory.server import opened
from pods.directory.service import DirectoryService, PodFields
from rigs.postgres import DRIVER
from tests.pods.directory.process import directory_process
from tests.pods.directory.served import Served, directory_settings
from tests.waiting import HANGS, eventually

ADMIN = Caller(Role.ADMIN)


async def test_a_change_whose_caller_goes_away_is_made_and_told(
    directory: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, store = directory.parts.service, directory.parts.store
    seen = await directory.all()
    real, is_there, may_go_on = store._database.run, asyncio.Event(), asyncio.Event()

    async def slow(work: Any, *, writes: bool) -> Any:
        if writes:
            is_there.set()
            await may_go_on.wait()
        return await real(work, writes=writes)

    reader = asyncio.create_task(service.changes(ADMIN, seen["epoch"], seen["version"], 30))
    monkeypatch.setattr(store._database, "run", slow)
    change = asyncio.create_task(service.put_pod(ADMIN, 7, PodFields(weight=9)))
    await is_there.wait()
    change.cancel()
    with pytest.raises(asyncio.CancelledError):
        await change
    assert not reader.done()
    may_go_on.set()
    changes = await asyncio.wait_for(reader, HANGS)
    assert [pod["weight"] for pod in changes.pods] == [9]


async def test_a_commit_that_was_never_heard_of_is_learned_from_who_has_seen_it(
    directory: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, store = directory.parts.service, directory.parts.store
    real = store._database.run

    async def cut(work: Any, *, writes: bool) -> Any:
        await real(work, writes=writes)
        raise OSError("cut after the commit")

    with monkeypatch.context() as fault:
        fault.setattr(store._database, "run", cut)
        with pytest.raises(Unavailable):
            await service.put_pod(ADMIN, 7, PodFields(weight=9))
    seen = await directory.all()
    assert [pod.get("weight") for pod in seen["pods"]] == [None, 9]
    changes = await service.changes(ADMIN, seen["epoch"], seen["version"], 0)
    assert (changes.is_complete, changes.pods) == (False, ())


async def test_a_database_that_went_back_begins_another_life(
    directory: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = await directory.all()
    directory.parts.store.version += 5  # as if the database had been restored under the running service
    assert (await directory.call("PUT", "/v1/pods/7", body={"weight": 9}))[0] == 200
    changes = await directory.parts.service.changes(ADMIN, seen["epoch"], seen["version"] + 5, 0)
    assert changes.is_complete
    assert changes.epoch != seen["epoch"]


async def test_who_is_held_has_a_response_when_the_service_is_told_to_end(tmp_path: Path) -> None:
    """One start of the process."""
    async with directory_process(tmp_path) as process, httpx.AsyncClient(trust_env=False, timeout=HANGS) as http:
        await process.start()
        headers = {"Authorization": f"Bearer {process.read}"}
        seen = (await http.get(f"{process.url}/v1/directory", headers=headers)).json()
        query = {"epoch": seen["epoch"], "after": seen["version"], "wait": 30}
        held = asyncio.create_task(http.get(f"{process.url}/v1/directory", headers=headers, params=query))
        await asyncio.sleep(0.2)  # nothing tells that the request has come
        assert not held.done()
        async with asyncio.timeout(HANGS):  # it has five seconds to end what runs, and cuts what does not
            status = await process.kill(signal.SIGTERM)
            response = await held
        assert (response.status_code, response.json()["version"]) == (200, seen["version"])
        assert status in (0, -signal.SIGTERM)


async def test_a_database_that_is_away_is_told_as_such(directory: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    store = directory.parts.store
    real = store._database.run
    is_away = True

    async def away(work: Any, *, writes: bool) -> Any:
        if is_away:
            raise ConnectionRefusedError("no server")
        return await real(work, writes=writes)

    monkeypatch.setattr(store._database, "run", away)
    health = await directory.http.get("/-/health")
    assert (health.status_code, health.headers["Retry-After"]) == (503, "5")
    assert (await directory.call("PUT", "/v1/pods/7", body={"weight": 9}))[0] == 503
    is_away = False

    async def is_back() -> bool:
        return (await directory.http.get("/-/health")).status_code == 200

    await eventually(is_back, "it is back")


async def test_two_processes_on_one_database_give_no_name_twice(
    directory: Served, directory_url: str, tmp_path: Path
) -> None:
    async with opened(directory_settings(tmp_path, directory_url)) as other:
        services = (directory.parts.service, other.service)

        async def claim(service: DirectoryService, name: str, number: int) -> bool:
            claim_id = str(uuid4())
            try:
                await service.claim(ADMIN, claim_id, ClaimKind.PATH, name, number)
                await service.confirm(ADMIN, claim_id, None)
            except Taken:
                return False
            return True

        names = [f"n{place}" for place in range(20)]
        race = [
            claim(service, name, number) for name in names for number, service in zip((0, 7), services, strict=True)
        ]
        won = await asyncio.gather(*race)
        assert sum(won) == len(names)
        versions = (await directory.all())["version"]
        assert versions == 2 + len(names), "each change has a version of its own"


async def test_connections_that_the_server_ended_cost_a_call_at_most(directory: Served, directory_url: str) -> None:
    if not directory_url:
        pytest.skip("a file has no server")
    await directory.all()
    connection = await asyncpg.connect(directory_url.replace(DRIVER, "postgresql://"))
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    await connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
    await connection.close()
    statuses = [(await directory.call("PUT", "/v1/pods/7", body={"weight": 9}))[0] for _ in range(2)]
    assert statuses in ([200, 200], [503, 200])
