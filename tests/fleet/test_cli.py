"""`perdure runner`: what it prints, what it writes, how it exits."""

import asyncio
import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli import runner
from fleet.config import load_config
from tests.fleet.server import ProtocolServer


async def perdure_runner(*arguments: str) -> Result:
    """The command in a thread of its own, so that the server of the test can answer it."""
    return await asyncio.to_thread(CliRunner().invoke, runner.app, list(arguments))


async def test_register(server: ProtocolServer, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    result = await perdure_runner(
        "register", "--url", server.url, "--token", "glrt-good", "--name", "mine", "--config", str(config)
    )
    assert (result.exit_code, json.loads(result.stdout)) == (0, 7)
    assert f"perdure runner run --config {config}" in result.stderr
    (entry,) = load_config(config).runners
    assert (entry.name, entry.url, entry.token, entry.id) == ("mine", server.url, "glrt-good", 7)


async def test_register_with_a_wrong_token(server: ProtocolServer, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    result = await perdure_runner("register", "--url", server.url, "--token", "wrong", "--config", str(config))
    assert result.exit_code == 4
    assert "refuses the runner token" in result.stderr
    assert not config.exists()


async def test_register_with_nobody_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "VERIFY_FOR", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    result = await perdure_runner("register", "--url", url, "--token", "x", "--config", str(tmp_path / "c.toml"))
    assert result.exit_code == 5
    assert "could not be reached" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["register", "--url", "ftp://h", "--token", "x"],
        ["register", "--url", "http://h", "--token", "x", "--executor", "docker"],
        ["register"],
        ["run", "--wrong"],
    ],
)
async def test_usage_errors(arguments: list[str]) -> None:
    assert (await perdure_runner(*arguments)).exit_code == 2


async def test_run_without_a_configuration(tmp_path: Path) -> None:
    result = await perdure_runner("run", "--config", str(tmp_path / "config.toml"))
    assert result.exit_code == 3
    assert "perdure runner register" in result.stderr
