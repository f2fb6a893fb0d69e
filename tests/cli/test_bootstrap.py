"""Registration of the built-in runner."""

import asyncio
import json
import tomllib
from pathlib import Path

import pytest
from aiohttp import web

from cli.bootstrap import ensure_runner
from domain.errors import Forbidden, Invalid, NotFound, PerdureError, Unauthenticated, Unavailable
from settings import Settings
from tests.pods.upstreams import free_port, http_upstream


def home_with_credentials(folder: Path, port: int) -> Settings:
    """A home as the API leaves it after its first start."""
    credentials = {"url": f"http://127.0.0.1:{port}/", "username": "root", "token": "glpat-1"}
    (folder / "credentials.json").write_text(json.dumps(credentials))
    return Settings(home=folder)


async def test_runner_is_registered_once_by_two_at_the_same_time(tmp_path):
    seen: list[tuple[str, str, dict[str, object]]] = []

    async def api(request: web.BaseRequest) -> web.StreamResponse:
        seen.append((f"{request.method} {request.path}", request.headers["PRIVATE-TOKEN"], await request.json()))
        return web.json_response({"id": 7, "token": "glrt-1", "token_expires_at": None}, status=201)

    port = free_port()
    settings = home_with_credentials(tmp_path, port)
    async with http_upstream(port, api):
        await asyncio.gather(*(asyncio.to_thread(ensure_runner, settings) for _ in range(2)))
    body = {"runner_type": "instance_type", "description": "built-in", "run_untagged": True, "tag_list": "shell"}
    assert seen == [("POST /api/v4/user/runners", "glpat-1", body)]
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


@pytest.mark.parametrize(
    ("status", "error"), [(401, Unauthenticated), (403, Forbidden), (503, Unavailable), (201, Invalid)]
)
async def test_refusal_is_told_and_nothing_is_written(tmp_path, status, error: type[PerdureError]):
    async def api(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"message": "no"}, status=status)

    port = free_port()
    settings = home_with_credentials(tmp_path, port)
    async with http_upstream(port, api):
        with pytest.raises(error, match="/api/v4/user/runners"):
            await asyncio.to_thread(ensure_runner, settings)
    assert not (tmp_path / "runner" / "config.toml").exists()


def test_missing_credentials_say_what_to_do(tmp_path):
    with pytest.raises(NotFound, match="perdure runner register"):
        ensure_runner(Settings(home=tmp_path))


def test_broken_credentials_are_named(tmp_path):
    (tmp_path / "credentials.json").write_text("{}")
    with pytest.raises(Invalid, match=r"credentials\.json"):
        ensure_runner(Settings(home=tmp_path))


def test_unreachable_server_is_named(tmp_path):
    with pytest.raises(Unavailable, match="cannot be reached"):
        ensure_runner(home_with_credentials(tmp_path, free_port()))
