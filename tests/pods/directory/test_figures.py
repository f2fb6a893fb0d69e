"""What a directory tells Prometheus of its database, and of who waits."""

import asyncio
from functools import partial
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from metrics import names
from metrics.exposition import Exposition
from pods.directory.figures import measured
from rigs.ports import free_port
from tests.metrics.scraping import Scrape, scrape
from tests.pods.directory.process import directory_process
from tests.pods.directory.served import Served, take
from tests.waiting import HANGS, eventually

NOW = 2_000_000_000


async def told(directory: Served) -> Scrape:
    """What is told now; asked once of each directory."""
    figures = measured(directory.parts.store, directory.parts.metrics)
    return Scrape((await Exposition(directory.parts.metrics.registry, [figures.refresh]).text()).decode())


async def test_pods_and_claims_are_told_by_their_state(directory: Served) -> None:
    store = directory.parts.store
    await directory.add_pod(1, "one", state="draining")
    await directory.add_pod(2, "two")
    await directory.call("DELETE", "/v1/pods/2")
    for name in ("acme", "jo"):
        await take(directory, 7, name)
    mail = await take(directory, 0, "jo@example.org", kind="email")
    await directory.call("DELETE", f"/v1/claims/{mail}", 0)
    store._now = lambda: NOW - 40
    await take(directory, 7, "kim")
    store._now = lambda: NOW
    for second, name in ((NOW - 30, "begun"), (NOW, "begun-later")):
        store._now = partial(int, second)
        await directory.call("PUT", f"/v1/claims/{uuid4()}", 7, {"kind": "path", "name": name, "pod": 7})
    version = (await directory.all())["version"]
    found = await told(directory)
    states = {"active": 2, "draining": 1, "removed": 1}
    assert {state: found.total(names.DIRECTORY_PODS, state=state) for state in states} == states
    claims = {(labels["kind"], labels["state"]): 0.0 for labels in found.labels(names.DIRECTORY_CLAIMS)}
    for kind, state in claims:
        claims[kind, state] = found.total(names.DIRECTORY_CLAIMS, kind=kind, state=state)
    assert claims == {
        ("path", "tentative"): 2,
        ("path", "confirmed"): 3,
        ("path", "released"): 0,
        ("email", "tentative"): 0,
        ("email", "confirmed"): 0,
        ("email", "released"): 1,
    }
    assert [labels["pod"] for labels in found.labels(names.DIRECTORY_TENTATIVE_AGE)] == ["seven"]
    assert found.total(names.DIRECTORY_TENTATIVE_AGE, pod="seven") == 30
    assert found.total(names.DIRECTORY_VERSION) == version
    assert found.total(names.DIRECTORY_CHANGE_AGE) == 40, "readers see nothing of what was begun since"


async def test_readers_that_wait_are_told_until_something_changes(directory: Served) -> None:
    seen = await directory.all()
    address = f"/v1/directory?epoch={seen['epoch']}&after={seen['version']}&wait=30"
    readers = [asyncio.create_task(directory.call("GET", address, directory.read)) for _ in range(3)]

    async def are_held() -> bool:
        return directory.parts.store.waiting == len(readers)

    await eventually(are_held, "all readers are held")
    found = await told(directory)
    assert found.total(names.DIRECTORY_READERS_WAITING) == len(readers)
    readers.pop().cancel()
    await eventually(are_held, "who has gone waits no more")
    await directory.call("PUT", "/v1/pods/7", body={"weight": 9})
    await asyncio.gather(*readers)
    assert directory.parts.store.waiting == 0


async def test_without_its_database_the_directory_tells_the_rest(
    directory: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise OSError("away")

    await directory.all()
    monkeypatch.setattr(directory.parts.store._database, "run", away)
    found = await told(directory)
    assert found.labels(names.DIRECTORY_CLAIMS) == []
    assert found.total(names.DIRECTORY_REQUESTS, call="GET /v1/directory", status="200") == 1
    assert found.total(names.DIRECTORY_READERS_WAITING) == 0


async def test_the_process_tells_them_on_their_own_port_only(tmp_path: Path) -> None:
    """One start of the process."""
    async with directory_process(tmp_path) as process, httpx.AsyncClient(trust_env=False, timeout=HANGS) as http:
        process.metrics_port = free_port()
        await process.start()

        async def answers() -> Scrape | None:
            try:
                return await asyncio.to_thread(scrape, process.metrics_port)
            except httpx.HTTPError:
                return None

        found = await eventually(answers, "the metrics are told")
        assert found.total(names.DIRECTORY_REQUESTS, call="GET /-/health", status="200") >= 1
        assert found.total(names.DIRECTORY_PODS) == found.total(names.DIRECTORY_VERSION) == 0
        assert found.labels(names.DIRECTORY_CHANGE_AGE) == [], "nothing has changed yet"
        assert [labels["role"] for labels in found.labels(names.BUILD)] == ["directory"]
        assert (await http.get(f"{process.url}/metrics")).status_code == 404
