"""Requests of a directory, counted by what was called and how it ended."""

from uuid import uuid4

import pytest
from prometheus_client import generate_latest

from metrics import names
from pods.directory.body_limit import MAX_BODY
from pods.directory.counting import OTHER
from tests.metrics.scraping import Scrape
from tests.pods.directory.served import Served

CLAIM = "PUT /v1/claims/{claim_id}"


@pytest.fixture
def directory_url() -> str:
    """One kind of database: what is counted does not depend on it."""
    return ""


def told(directory: Served) -> Scrape:
    return Scrape(generate_latest(directory.parts.metrics.registry).decode())


async def test_requests_are_counted_by_route_and_status(directory: Served) -> None:
    body = {"kind": "path", "name": "acme", "pod": 7}
    for _ in range(2):
        await directory.call("PUT", f"/v1/claims/{uuid4()}", 7, body)
    await directory.call("PUT", f"/v1/claims/{uuid4()}", directory.read, body)
    await directory.call("PUT", f"/v1/claims/{uuid4()}", "nonsense", body)
    await directory.call("PUT", "/v1/claims/no-uuid", 7, body)
    found = told(directory)
    statuses = {"200": 1, "409": 1, "403": 1, "401": 1, "400": 1}
    assert {each: found.total(names.DIRECTORY_REQUESTS, call=CLAIM, status=each) for each in statuses} == statuses
    assert found.total(names.DIRECTORY_REQUESTS, call=CLAIM) == found.total(names.DIRECTORY_DURATION, call=CLAIM) == 5


async def test_what_is_no_call_is_counted_without_its_path(directory: Served) -> None:
    for number in range(3):
        await directory.call("GET", f"/v1/secrets/{number}")
    await directory.call("PUT", "/v1/pods/3", body={"name": "x" * MAX_BODY})
    found = told(directory)
    assert found.total(names.DIRECTORY_REQUESTS, call=OTHER, status="404") == 3
    assert found.total(names.DIRECTORY_REQUESTS, call=OTHER, status="413") == 1
    assert {labels["call"] for labels in found.labels(names.DIRECTORY_REQUESTS)} == {OTHER, "PUT /v1/pods/{number}"}


async def test_a_request_that_fails_is_counted_as_such(directory: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(directory.parts.store, "read", broken)
    with pytest.raises(RuntimeError):
        await directory.http.get("/-/health")
    assert told(directory).total(names.DIRECTORY_REQUESTS, call="GET /-/health", status="500") == 1
