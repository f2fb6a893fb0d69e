"""The OpenAPI document of the runner protocol, and schemathesis over it: no 5xx, nothing that it does not tell of."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from api.runner.openapi import OPERATIONS, merged
from api.runner.router import routes
from auth.secret_token import digest
from models.repositories.runners import runners
from rigs.postgres import fresh_database
from settings import TimeLimits
from tests.api.v4.site import Site, open_site, serving

EXAMPLES = (8, pytest.param(60, marks=pytest.mark.slow))
"""Calls of each operation, with good and with bad input."""
SCHEMA = schemathesis.openapi.from_dict(
    merged({"openapi": "3.1.0", "info": {"title": "Runner protocol", "version": "4"}, "paths": {}})
)
TOKENS = ("good", "unknown", "", "ü")


@dataclass(frozen=True)
class Fresh:
    """Tokens of a runner and of a job that it holds."""

    runner_token: str
    job_id: int
    job_token: str


@dataclass(frozen=True)
class Tried:
    """A server in a thread of its own."""

    site: Site
    url: str
    loop: asyncio.AbstractEventLoop

    def fresh(self) -> Fresh:
        """A new runner, and a job that was just handed out to it."""
        return asyncio.run_coroutine_threadsafe(self._fresh(), self.loop).result(30)

    async def _fresh(self) -> Fresh:
        world, token = self.site.world, f"glrt-{uuid4().hex}"
        await world.pipeline("build: {script: make}\n")
        async with world.services.database.write() as connection:
            await runners.create(connection, digest(token), world.services.clock())
        while True:  # jobs of those before may still wait
            response = await world.request(token)
            if response.status_code == 201:
                return Fresh(token, response.json()["id"], response.json()["token"])


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def tried(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    """The thread has an event loop to itself: schemathesis calls in the way of blocking code."""
    folder = tmp_path_factory.mktemp("tried")
    postgres = request.getfixturevalue("postgres") if request.param == "postgresql" else ""
    ready: Future[Tried] = Future()
    done = threading.Event()

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            database = await stack.enter_async_context(fresh_database(postgres)) if postgres else ""
            site = await stack.enter_async_context(open_site(folder, database, times=TimeLimits(long_poll=0.1)))
            url = await stack.enter_async_context(serving(site))
            ready.set_result(Tried(site, url, asyncio.get_running_loop()))
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        yield ready.result(60)
    finally:
        done.set()
        thread.join()


def test_the_document_of_the_installation_has_it(tried: Tried) -> None:
    document = httpx.get(f"{tried.url}/api/v4/openapi.json", trust_env=False, timeout=60).json()
    for method, path in OPERATIONS:
        assert document["paths"][f"/api/v4{path}"][method.lower()]["tags"] == ["runner protocol"]
    assert "get" in document["paths"]["/api/v4/projects"]


def test_each_route_is_described_and_nothing_else() -> None:
    found = {(method, route.path) for route in routes() for method in (route.methods or ()) if method != "HEAD"}
    described = {(method, f"/api/v4{path}".replace("{job_id}", "{job_id:int}")) for method, path in OPERATIONS}
    assert described == found


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=lambda word: word)
def test_nothing_is_answered_but_what_the_document_says(tried: Tried, method: str, path: str, examples: int) -> None:
    operation = SCHEMA[f"/api/v4{path}"][method]
    modes = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    known: list[Fresh] = []

    @settings(
        max_examples=examples,
        database=None,
        phases=[Phase.generate],
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes)), token=st.sampled_from(TOKENS)
    )
    def call(case: Case[Any], token: str) -> None:
        fresh = known[-1] if known else tried.fresh()
        known[:] = [fresh]
        is_of_job = "job_id" in path
        secret = {"good": fresh.job_token if is_of_job else fresh.runner_token}.get(token, token)
        if is_of_job and token == "good" and case.path_parameters:
            case.path_parameters["job_id"] = fresh.job_id
        if isinstance(case.body, dict):
            case.body["token"] = secret
        name = "JOB-TOKEN" if is_of_job else "RUNNER-TOKEN"
        response = case.call(base_url=tried.url, headers={name: secret.encode()}, timeout=30)
        assert response.status_code < 500 or path.endswith("/discovery"), response.text
        case.validate_response(response, checks=[status_code_conformance, response_schema_conformance])
        if token == "good" and response.status_code in {200, 204, 403}:
            known.clear()  # the job may have ended, the runner may be gone

    call()
