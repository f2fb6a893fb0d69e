"""A copy of the directory that follows it: what it does with each way in which the directory can answer."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from aiohttp import web

from domain.errors import Invalid, NotFound, PerdureError, Refused, Taken, Unauthenticated, Unavailable
from domain.pods.claims import ClaimKind
from domain.pods.directory import Directory, Pod, PodState
from pods.directory.doors import create_app
from pods.directory_client import DirectoryClient
from pods.directory_file import read_directory
from pods.directory_follower import CACHE, DirectoryFollower
from rigs.ports import LOCAL, free_port
from tests.certificates import self_signed
from tests.pods.directory.served import Served, served
from tests.waiting import eventually


@pytest.fixture
def directory_url() -> str:
    """One kind of database: what a reader does does not depend on it."""
    return ""


class Line(httpx.AsyncBaseTransport):
    """A line to the directory that may be cut."""

    def __init__(self, directory: Served) -> None:
        self.app = httpx.ASGITransport(create_app(directory.parts))
        self.is_cut = False
        self.calls = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.calls += 1
        if self.is_cut:
            raise httpx.ConnectError("cut")
        return await self.app.handle_async_request(request)


@asynccontextmanager
async def follower_on(directory: Served, line: Line, token: str = "") -> AsyncIterator[DirectoryFollower]:
    client = DirectoryClient("http://directory", lambda: token or directory.read, line)
    async with client, DirectoryFollower(client, directory.home / CACHE) as follower:
        yield follower


async def organise(directory: Served, path: str, pod: int) -> None:
    claim = f"/v1/claims/{uuid4()}"
    await directory.call("PUT", claim, body={"kind": "path", "name": path, "pod": pod})
    await directory.call("POST", f"{claim}/confirm", body={})


async def test_it_hears_of_each_change_and_keeps_it(directory: Served) -> None:
    heard: list[Directory] = []

    async def listen(found: Directory) -> None:
        heard.append(found)

    line = Line(directory)
    async with follower_on(directory, line) as follower:
        with pytest.raises(Unavailable):
            follower.current()
        await follower.first(5)
        await follower.tell(listen)
        assert [pod.number for pod in heard[0].pods] == [0, 7]
        await organise(directory, "acme", 7)
        await eventually(lambda: _async(heard[-1].organisations == {"acme": 7}), "it heard of the organisation")
        await directory.call("PUT", "/v1/pods/7", body={"weight": 0, "state": "draining"})
        await eventually(lambda: _async(heard[-1].by_number[7].state is PodState.DRAINING), "it heard of the pod")
        assert (heard[-1].by_number[7].weight, len(heard[-1].by_number[7].public_keys)) == (0, 1)
        assert [found.version for found in heard] == sorted({found.version for found in heard})
        await eventually(lambda: _async(_kept(directory.home) == heard[-1]), "the copy is kept")
        calls = line.calls
        await asyncio.sleep(0.2)  # for what must not come there is nothing to await
        assert line.calls <= calls + 1, "it waits while there is nothing"


async def _async(value: bool) -> bool:
    return value


def _kept(home: Path) -> Directory | None:
    return read_directory(home / CACHE) if (home / CACHE).exists() else None


async def test_it_goes_on_with_its_copy_while_the_directory_is_away(directory: Served) -> None:
    line = Line(directory)
    async with follower_on(directory, line) as follower:
        before = await follower.first(5)
        await eventually(lambda: _async(_kept(directory.home) == before), "the copy is kept")
    line.is_cut = True
    async with follower_on(directory, line) as follower:
        assert follower.current() == before
        await eventually(lambda: _async(follower.is_away), "it has seen that the directory is away")
        calls = line.calls
        await organise(directory, "acme", 7)
        line.is_cut = False
        await eventually(lambda: _async(dict(follower.current().organisations) == {"acme": 7}), "it came back")
        assert line.calls - calls < 20, "it asked seldom meanwhile"
        await eventually(lambda: _async(not follower.is_away), "it knows that the directory is back")


async def test_a_copy_that_cannot_be_read_is_passed_over(directory: Served) -> None:
    (directory.home / CACHE).write_text("{")
    async with follower_on(directory, Line(directory)) as follower:
        assert len((await follower.first(5)).pods) == 2


async def test_a_copy_that_cannot_be_kept_is_followed_all_the_same(
    directory: Served, caplog: pytest.LogCaptureFixture
) -> None:
    client = DirectoryClient("http://directory", lambda: directory.read, Line(directory))
    async with client, DirectoryFollower(client, directory.home / "nowhere" / CACHE) as follower:
        await follower.first(5)
        await organise(directory, "acme", 7)
        await eventually(lambda: _async(dict(follower.current().organisations) == {"acme": 7}), "it heard")
        await eventually(lambda: _async("cannot be kept" in caplog.text), "it says that the copy is not kept")


async def test_a_directory_without_pods_is_waited_for(tmp_path: Path) -> None:
    async with served(tmp_path) as empty:
        line = Line(empty)
        async with follower_on(empty, line) as follower:
            with pytest.raises(Unavailable, match="not been heard of yet"):
                await follower.first(0.2)
            assert line.calls <= 3, "it is held, and does not ask again and again"
            await empty.add_pod(3, "three")
            assert [pod.number for pod in (await follower.first(5)).pods] == [3]


async def test_a_wrong_token_leaves_the_copy(directory: Served, caplog: pytest.LogCaptureFixture) -> None:
    async with follower_on(directory, Line(directory)) as follower:
        before = await follower.first(5)
        await eventually(lambda: _async(_kept(directory.home) == before), "the copy is kept")
    async with follower_on(directory, Line(directory), "wrong") as follower:
        await eventually(lambda: _async(follower.is_away), "it has been refused")
        assert follower.current() == before
    assert "401 Unauthorized" in caplog.text


async def test_changes_that_do_not_fit_are_asked_for_anew(directory: Served) -> None:
    asked: list[str] = []
    whole = {"epoch": "e", "version": 1, "complete": True, "pods": [{"number": 0, "name": "x"}]}
    answers = [
        {**whole, "organisations": {}, "moved": {}},
        {**whole, "version": 2, "complete": False, "organisations": {"acme": 9}, "moved": {}},
        {**whole, "version": 3, "organisations": {"acme": 0}, "moved": {}},
    ]

    async def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params["after"])
        if not answers:
            await asyncio.Event().wait()
        return httpx.Response(200, json=answers.pop(0))

    client = DirectoryClient("http://directory", lambda: "x", httpx.MockTransport(answer))
    async with client, DirectoryFollower(client, directory.home / CACHE) as follower:
        await eventually(lambda: _async(len(asked) == 4), "it asked for all")
        assert asked == ["0", "1", "0", "3"]
        assert follower.current() == Directory(3, (Pod(0, "x"),), {"acme": 0})


@pytest.mark.parametrize(
    ("response", "error", "text"),
    [
        (httpx.Response(409, json={"message": "taken", "own": True}), Taken, "taken"),
        (httpx.Response(409, json={"message": "no"}), Refused, "no"),
        (httpx.Response(400, json={"message": "wrong"}), Invalid, "wrong"),
        (httpx.Response(401, json={"message": "who"}), Unauthenticated, "who"),
        (httpx.Response(404, json={"message": "where"}), NotFound, "where"),
        (httpx.Response(404, text="<html>"), Unavailable, "404 without JSON"),
        (httpx.Response(500, json=[]), Unavailable, "500"),
        (httpx.Response(503, json={"message": "away"}), Unavailable, "away"),
        (httpx.Response(302, json={}), Unavailable, "302"),
        (httpx.Response(200, json={}), Invalid, "no claim"),
        (httpx.ConnectError("x"), Unavailable, "is away"),
        (httpx.ReadTimeout("x"), Unavailable, "is away"),
    ],
)
async def test_each_failure_of_a_claim_has_its_error(response: Any, error: type[PerdureError], text: str) -> None:
    async with DirectoryClient("http://directory", lambda: "x", httpx.MockTransport(answering(response))) as client:
        with pytest.raises(PerdureError, match=text) as raised:
            await client.claim(uuid4(), ClaimKind.PATH, "acme", 7)
    assert type(raised.value) is error


def answering(response: Any) -> Callable[[httpx.Request], httpx.Response]:
    def answer(request: httpx.Request) -> httpx.Response:
        if isinstance(response, Exception):
            raise response
        return response  # type: ignore[no-any-return]

    return answer


async def test_a_kept_connection_that_has_ended_costs_nothing() -> None:
    seen: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        if len(seen) == 1:
            raise httpx.RemoteProtocolError("ended")
        document = {"claim_id": "x", "kind": "path", "name": "acme", "pod": 7, "state": "tentative"}
        return httpx.Response(200, json={**document, "organisation_id": None})

    async with DirectoryClient("http://directory", lambda: "x", httpx.MockTransport(answer)) as client:
        assert (await client.claim(uuid4(), ClaimKind.PATH, "acme", 7)).name == "acme"
    assert seen[0] == seen[1]


async def test_a_certificate_is_checked_by_the_authorities_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, other = self_signed(tmp_path, "directory"), self_signed(tmp_path, "other")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.certificate, files.key)

    async def answer(_: web.BaseRequest) -> web.Response:
        return web.json_response({"message": "by TLS"}, status=404)

    runner, port = web.ServerRunner(web.Server(answer)), free_port()
    await runner.setup()
    await web.TCPSite(runner, LOCAL, port, ssl_context=context).start()
    try:
        for trusted, error, text in ((files, NotFound, "by TLS"), (other, Unavailable, "is away")):
            monkeypatch.setenv("SSL_CERT_FILE", str(trusted.certificate))
            async with DirectoryClient(f"https://{LOCAL}:{port}", lambda: "x") as client:
                with pytest.raises(error, match=text):
                    await client.remove_pod(7)
    finally:
        await runner.cleanup()


class Newer(Line):
    """A directory of a later version: it says more, and in `state` what this version does not know."""

    state = ""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        document = json.loads(await (await super().handle_async_request(request)).aread())
        pods = [{**pod, "region": "north", **({"state": self.state} if self.state else {})} for pod in document["pods"]]
        return httpx.Response(200, json={**document, "pods": pods, "regions": ["north"]})


async def test_a_newer_directory_is_followed_and_its_new_states_are_not(directory: Served) -> None:
    """The copy goes on (docs/pods.md, "Versions"), here and after a restart."""
    await directory.add_pod(1, "one")
    line = Newer(directory)
    async with follower_on(directory, line) as follower:
        assert (await follower.first(10)).by_number[1].name == "one"
        assert not follower.is_away
        before = follower.current()
        line.state = "frozen"
        await directory.add_pod(2, "two")

        async def is_away() -> bool:
            return follower.is_away

        await eventually(is_away, "it is told what it cannot read")
        assert follower.current() == before
        line.state = ""

        async def has_two() -> bool:
            return 2 in follower.current().by_number

        await eventually(has_two, "it goes on as soon as it can")

        async def keeps_two() -> bool:
            return 2 in read_directory(directory.home / CACHE).by_number

        await eventually(keeps_two, "the copy for the next start is behind what is known")
