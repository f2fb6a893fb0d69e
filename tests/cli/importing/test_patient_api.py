"""Calls that wait for a server."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from cli.importing import patient_api
from cli.importing.patient_api import GaveUp, PatientApi
from domain.errors import Unavailable
from rigs.ports import LOCAL, free_port
from tests.cli.importing.gitlab import serving_application


class Server:
    """Answers with these statuses in turn, the last one for ever."""

    def __init__(self) -> None:
        self.statuses = [200]
        self.after = "0"
        self.keys: list[str | None] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        """The next one."""
        self.keys.append(request.headers.get("Idempotency-Key"))
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if not status:
            assert request.transport is not None
            request.transport.abort()
        return web.json_response({"id": 1}, status=status or 200, headers={"Retry-After": self.after})


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """Such a server."""
    made = Server()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", made.answer)
    async with serving_application(application) as made.url:
        yield made


async def called(url: str, what: Callable[[PatientApi], Any], patience: float = 5, **more: Any) -> Any:
    """Call in a thread, as the command does."""
    api = PatientApi(url, "glpat-x", advice={}, patience=patience, **more)
    try:
        return await asyncio.to_thread(what, api)
    finally:
        api.close()


@pytest.mark.parametrize("later", [429, 502, 503, 504])
async def test_a_server_that_wants_us_later_is_called_again(server: Server, later: int) -> None:
    server.statuses = [later, later, 200]
    assert await called(server.url, lambda api: api.get("/x")) == {"id": 1}
    assert server.keys == [None, None, None]


async def test_what_is_made_is_made_under_one_key(server: Server) -> None:
    server.statuses = [503, 200]
    await called(server.url, lambda api: (api.post("/x"), api.post("/x")))
    first, again, second = server.keys
    assert first is not None
    assert first == again != second


async def test_patience_ends(server: Server) -> None:
    server.statuses, server.after = [429], "60"
    with pytest.raises(GaveUp, match="429"):
        await called(server.url, lambda api: api.get("/x"))
    assert len(server.keys) == 1


async def test_one_that_breaks_off_is_called_again_if_it_ever_answered(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patient_api, "_PAUSE", 0.01)
    server.statuses = [200, 0, 0, 200]
    assert await called(server.url, lambda api: (api.get("/x"), api.get("/x"))[1]) == {"id": 1}
    with pytest.raises(Unavailable) as raised:
        await called(f"http://{LOCAL}:{free_port()}", lambda api: api.get("/x"))
    assert not isinstance(raised.value, GaveUp)


async def test_what_is_an_answer_is_no_reason_to_wait(server: Server) -> None:
    server.statuses = [500]
    with pytest.raises(Unavailable) as raised:
        await called(server.url, lambda api: api.get("/x"))
    assert (isinstance(raised.value, GaveUp), len(server.keys)) == (False, 1)


async def test_a_long_wait_is_told(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    told: list[str] = []
    server.statuses, server.after = [429, 200], "30"
    await called(server.url, lambda api: api.get("/x"), patience=60, told=told.append)
    assert (slept, told) == ([30.0], [f"{server.url} wants us to wait 30 s."])
