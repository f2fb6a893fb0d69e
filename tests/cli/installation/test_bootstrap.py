"""Registration of the built-in runner."""

import asyncio
import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cli.installation.bootstrap import Found, ensure_runner, last_found
from domain.errors import Forbidden, Invalid, NotFound, PerdureError, Unauthenticated, Unavailable
from domain.pods.routable_token import Route, read_route, spelled
from domain.pods.token_prefixes import RUNNER
from fleet.config import load_config
from pods.embedded_pods import add_pods, retire
from rigs.ports import free_port
from settings import Settings
from tests.pods.upstreams import http_upstream


def home_with_credentials(folder: Path, port: int) -> Settings:
    """A home as the API leaves it after its first start."""
    credentials = {"url": "http://where.the.original.is.example", "username": "root", "token": "glpat-1"}
    (folder / "credentials.json").write_text(json.dumps(credentials))
    return Settings(home=folder, front_port=port, external_url="https://ci.example.org", jobs_as="server")


async def test_runner_is_registered_once_by_two_at_the_same_time(tmp_path: Path) -> None:
    seen: list[tuple[str, str, dict[str, object]]] = []

    async def api(request: web.BaseRequest) -> web.StreamResponse:
        body = json.loads(await request.text() or "{}")
        seen.append((f"{request.method} {request.path}", request.headers["PRIVATE-TOKEN"], body))
        if request.method == "GET":
            return web.json_response({"id": 7, "as_server": True})
        return web.json_response({"id": 7, "token": "glrt-1", "token_expires_at": None}, status=201)

    port = free_port()
    settings = home_with_credentials(tmp_path, port)
    async with http_upstream(port, api):
        both = (asyncio.to_thread(ensure_runner, settings) for _ in range(2))
        assert await asyncio.gather(*both) == ["", ""]
    body = {"runner_type": "instance_type", "description": "built-in", "run_untagged": True, "tag_list": "shell"}
    asked: tuple[str, str, dict[str, object]] = ("GET /api/v4/runners/7", "glpat-1", {})
    assert seen == [("POST /api/v4/user/runners", "glpat-1", {**body, "as_server": True}), asked]
    path = tmp_path / "runner" / "config.toml"
    assert path.stat().st_mode & 0o777 == 0o600
    assert tomllib.loads(path.read_text()) == {
        "concurrent": 4,
        "check_interval": 1,
        "runners": [
            {
                "name": "built-in",
                "url": f"http://127.0.0.1:{port}",
                "id": 7,
                "token": "glrt-1",
                "executor": "shell",
                "builds_dir": str(tmp_path / "runner" / "builds"),
            }
        ],
    }


async def test_the_runner_asks_no_pod_any_more_that_was_removed(tmp_path: Path) -> None:
    tokens = iter(spelled(RUNNER, Route(number, 1), bytes(16)) for number in range(3))

    async def api(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            return web.json_response({"id": 7, "as_server": True})
        return web.json_response({"id": 7, "token": next(tokens)}, status=201)

    port = free_port()
    settings = home_with_credentials(tmp_path, port)
    for pod in add_pods(settings, 3):
        shutil.copy(tmp_path / "credentials.json", tmp_path / "pods" / pod.name)
    path = tmp_path / "runner" / "config.toml"
    async with http_upstream(port, api):
        assert await asyncio.to_thread(ensure_runner, settings) == ""
        everywhere = [read_route(entry.token) for entry in load_config(path).runners]
        retire(settings, "pod-1")
        assert await asyncio.to_thread(ensure_runner, settings) == ""
    left = [read_route(entry.token) for entry in load_config(path).runners]
    assert [route and route.pod_number for route in everywhere] == [0, 1, 2]
    assert [route and route.pod_number for route in left] == [0, 2]


@pytest.mark.parametrize(
    ("status", "error"), [(401, Unauthenticated), (403, Forbidden), (503, Unavailable), (201, Invalid)]
)
async def test_refusal_is_told_and_nothing_is_written(tmp_path: Path, status: int, error: type[PerdureError]) -> None:
    async def api(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"message": "no"}, status=status)

    port = free_port()
    settings = home_with_credentials(tmp_path, port)
    async with http_upstream(port, api):
        with pytest.raises(error, match="/api/v4/user/runners"):
            await asyncio.to_thread(ensure_runner, settings)
    assert not (tmp_path / "runner" / "config.toml").exists()


async def test_the_runner_goes_to_the_front_of_its_own_home_wherever_it_was_before(tmp_path: Path) -> None:
    """The file may come from before a port changed, or name the address that people use; others in it are not ours."""
    server = KnownRunner(tmp_path)
    before = server.config.read_text()
    assert await server.up("server") == ""
    own = f"http://127.0.0.1:{server.settings.front_port}"
    assert server.config.read_text() == before.replace("http://where.the.original.is.example", own)
    assert [entry.url for entry in load_config(server.config).runners] == [own, "http://elsewhere.example"]


def test_missing_credentials_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="perdure runner register"):
        ensure_runner(Settings(home=tmp_path, jobs_as="server"))


def test_broken_credentials_are_named(tmp_path: Path) -> None:
    (tmp_path / "credentials.json").write_text("{}")
    with pytest.raises(Invalid, match=r"credentials\.json"):
        ensure_runner(Settings(home=tmp_path, jobs_as="server"))


def test_unreachable_server_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be reached"):
        ensure_runner(home_with_credentials(tmp_path, free_port()))


class KnownRunner:
    """A server that knows the runner of a home of before; what it was told."""

    def __init__(self, folder: Path, **shown: object) -> None:
        self.settings = home_with_credentials(folder, free_port())
        self.shown = {"id": 7, **shown}
        self.told: list[object] = []
        self.status = 200
        self.config = folder / "runner" / "config.toml"
        self.config.parent.mkdir()
        url = "http://where.the.original.is.example"
        self.config.write_text(
            f'[[runners]]\nname = "built-in"\nurl = "{url}"\nid = 7\ntoken = "glrt-1"\nexecutor = "shell"\n'
            '[[runners]]\nname = "other"\nurl = "http://elsewhere.example"\ntoken = "glrt-2"\nexecutor = "shell"\n'
        )

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """A call."""
        assert request.path == "/api/v4/runners/7"
        if request.method == "PUT" and self.status == 200:
            wish = await request.json()
            self.told.append(wish)
            self.shown |= wish
        return web.json_response(self.shown if self.status == 200 else {"message": "no"}, status=self.status)

    async def up(self, jobs_as: str) -> str:
        """What `perdure up` warns of."""
        async with http_upstream(self.settings.front_port, self.answer):
            return await asyncio.to_thread(ensure_runner, self.settings.model_copy(update={"jobs_as": jobs_as}))


@pytest.mark.parametrize("shown", [{}, {"as_server": False}])
async def test_a_server_that_does_not_know_of_whose_user_jobs_are_is_told_once(
    tmp_path: Path, shown: dict[str, Any]
) -> None:
    """One that was upgraded knows nothing of it, one that was put back from a backup something else."""
    server = KnownRunner(tmp_path, **shown)
    assert [await server.up("server") for _ in range(2)] == ["", ""]
    assert server.told == [{"as_server": True}]
    assert await server.up("namespaces") == ""
    assert server.told == [{"as_server": True}, {"as_server": False}]
    assert last_found(server.settings) == Found("namespaces", warning="")


@pytest.mark.parametrize(
    ("status", "says"), [(404, "is not there"), (401, "revoked"), (403, "administrator"), (500, "500")]
)
async def test_a_server_that_cannot_be_told_is_warned_of(tmp_path: Path, status: int, says: str) -> None:
    server = KnownRunner(tmp_path)
    server.status = status
    await server.up("server")
    before = server.config.read_text()
    warning = await server.up("server")
    assert all(words in warning for words in (says, "run as the server's user", "run `perdure up` again"))
    assert "\n" not in warning
    assert (server.config.read_text(), last_found(server.settings)) == (before, None)
    assert "runs no jobs" in warning
    assert "cannot read what the server keeps" in (warning := await server.up("namespaces"))
    assert last_found(server.settings) == Found("namespaces", warning)


async def test_a_server_that_is_away_and_credentials_that_are_gone_are_warned_of(tmp_path: Path) -> None:
    server = KnownRunner(tmp_path)
    assert "cannot be reached" in ensure_runner(server.settings)
    (tmp_path / "credentials.json").unlink()
    assert "credentials.json is missing" in ensure_runner(server.settings)
