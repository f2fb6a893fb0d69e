"""`perdure runner`: what it prints, what it writes, how it exits."""

import asyncio
import json
import socket
import ssl
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.installation import runner
from fleet.config import load_config
from tests.certificates import Files, self_signed
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


async def over_tls(files: Files) -> ProtocolServer:
    """A server with this certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.certificate, files.key)
    server = ProtocolServer(tls=context)
    await server.start()
    return server


async def test_a_certificate_of_an_unknown_authority_is_told_and_taken_once_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "VERIFY_FOR", 0.2)
    files, config = self_signed(tmp_path, "ours"), tmp_path / "config.toml"
    server = await over_tls(files)
    try:
        words = ("register", "--url", server.url, "--token", "glrt-good", "--config", str(config))
        refused = await perdure_runner(*words)
        assert refused.exit_code == 5
        assert f"the certificate of 127.0.0.1:{server.port} is not accepted: self-signed certificate" in refused.stderr
        assert "by --tls-ca-file of `perdure runner register` or `tls-ca-file` in config.toml" in refused.stderr
        assert "ClientConnectorCertificateError" not in refused.stderr
        broken = await perdure_runner(*words, "--tls-ca-file", str(files.key))
        assert (broken.exit_code, "cannot be read as certificates (PEM)" in broken.stderr) == (2, True)
        taken = await perdure_runner(*words, "--tls-ca-file", str(files.certificate))
        assert taken.exit_code == 0, taken.stderr
    finally:
        await server.stop()
    (entry,) = load_config(config).runners
    assert entry.tls_ca_file == files.certificate.resolve()


async def test_a_certificate_for_another_address_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "VERIFY_FOR", 0.2)
    files = self_signed(tmp_path, "ours")
    server = await over_tls(files)
    try:
        url = server.url.replace("127.0.0.1", "localhost")
        words = ("register", "--url", url, "--token", "x", "--tls-ca-file", str(files.certificate))
        refused = await perdure_runner(*words, "--config", str(tmp_path / "config.toml"))
    finally:
        await server.stop()
    assert (refused.exit_code, "Hostname mismatch" in refused.stderr) == (5, True), refused.stderr
    assert "check the URL, or have the certificate of the server replaced" in refused.stderr


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
