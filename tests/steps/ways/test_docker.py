"""Into a container of an Engine that is written by its reference: bytes, cuts, the end of a process, and refusals."""

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domain.steps.places import Docker, TlsFiles
from steps.dialing import ByteStream
from steps.ways import docker
from steps.ways.docker import by_docker
from tests.certificates import self_signed
from tests.steps.service.serving import ROOT, Served
from tests.steps.ways.cutting import cut_at, relayed
from tests.steps.ways.docker_engine import Engine, docker_engine, upgraded
from tests.steps.ways.following import MEBIBYTE, echo, exchanged, follow, proxy_to
from tests.waiting import eventually


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with docker_engine(tmp_path / "d.sock") as found:
        yield found


def at(folder: Path, *proxy: str, container: str = "job", user: str = "") -> Docker:
    return Docker(container, f"unix://{folder}/d.sock", user, proxy=proxy or ("cat",))


async def test_a_run_is_followed_over_connections_that_are_cut(engine: Engine, service: Served, tmp_path: Path) -> None:
    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(tmp_path / "d.sock")

    async with relayed(connect, cut_at(7, 8)) as relay:
        await follow(by_docker(Docker("job", f"tcp://127.0.0.1:{relay.port}", proxy=proxy_to(service))), service)
        assert relay.done == 8


async def test_all_bytes_come_back_after_the_input_was_closed(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = os.urandom(MEBIBYTE)
    stream = await by_docker(at(tmp_path, *echo(tmp_path), user="1000:1000"))()
    assert await exchanged(stream, data) == data + b"end"
    (only,) = engine.execs.values()
    assert only.config == {
        "AttachStdin": True, "AttachStdout": True, "AttachStderr": True, "Tty": False,
        "Cmd": list(echo(tmp_path)), "User": "1000:1000",
    }  # fmt: skip
    assert "says  line='line 0' place='container job of the Docker Engine" in capsys.readouterr().out.replace(
        "  ", "  "
    )


@pytest.mark.parametrize(("theirs", "asked"), [("1.41", "/v1.41/"), ("1.50", "/v1.50/"), ("1.99", "/v1.51/")])
async def test_both_speak_the_older_version_of_theirs(engine: Engine, tmp_path: Path, theirs: str, asked: str) -> None:
    engine.api_version = theirs
    assert await exchanged(await by_docker(at(tmp_path))(), b"a") == b"a"
    assert engine.requests[0] == "GET /_ping"
    assert all(asked in request for request in engine.requests[1:])


WRONG = {
    "container": (Docker("none"), "an exec is answered with status 404: No such container: none"),
    "asleep": (Docker("asleep"), "an exec is answered with status 409: container asleep is not running"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_a_container_that_takes_no_exec_is_told(engine: Engine, tmp_path: Path, what: str) -> None:
    place, message = WRONG[what]
    with pytest.raises(ConnectionError) as error:
        await by_docker(at(tmp_path, container=place.container))()
    assert str(error.value) == (
        f"container {place.container} of the Docker Engine at unix://{tmp_path}/d.sock: {message}"
    )


async def test_an_engine_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match=r"Engine at unix://.*/d.sock: No such file or directory"):
        await by_docker(at(tmp_path))()


async def test_a_command_that_cannot_start_is_told_in_the_words_of_the_engine(engine: Engine, tmp_path: Path) -> None:
    stream = await by_docker(at(tmp_path, "no-such-command"))()
    with pytest.raises(
        ConnectionError, match=r"exit code 126: OCI runtime exec failed: .*\"no-such-command\": .* not found"
    ):
        await exchanged(stream, b"")


async def test_a_proxy_that_reaches_nobody_says_so(engine: Engine, tmp_path: Path) -> None:
    words = ("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "steps.proxy", "/none")
    with pytest.raises(ConnectionError, match=r"^container job .*exit code 1: .*no step runner listens at /none"):
        await exchanged(await by_docker(at(tmp_path, *words))(), b"")


async def over(engine: Engine) -> bool:
    return all(one.exit_code is not None for one in engine.execs.values())


CUT = {8 + 4: "while the proxy there goes on", 8 + 3: "in the middle of a frame"}


@pytest.mark.parametrize("taken", CUT)
async def test_a_cut_is_no_good_end(
    engine: Engine, tmp_path: Path, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker, "_LOOKS", (0.0, 0.05))
    stubborn = ("sh", "-c", f"cat; while [ ! -e {tmp_path}/stop ]; do sleep 0.05; done")

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(tmp_path / "d.sock")

    async with relayed(connect) as relay:
        stream = await by_docker(Docker("job", f"tcp://127.0.0.1:{relay.port}", proxy=stubborn))()
        relay.cuts = [len(upgraded("multiplexed")) + taken]
        await stream.write(b"four")
        try:
            with pytest.raises(ConnectionError, match=f"the connection was cut {CUT[taken]}"):
                await _read_all(stream)
        finally:
            await stream.close()
            (tmp_path / "stop").touch()
        await eventually(lambda: over(engine), "the process has ended")


async def _read_all(stream: ByteStream) -> None:
    while await stream.read():
        pass


async def test_what_speaks_no_http_is_told(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SSH-2.0-OpenSSH\r\n")
        writer.close()

    async with await asyncio.start_unix_server(serve, tmp_path / "d.sock"):
        with pytest.raises(ConnectionError, match="what answers speaks no HTTP"):
            await by_docker(at(tmp_path))()


async def test_tls_knows_both_sides(tmp_path: Path) -> None:
    ours, theirs = self_signed(tmp_path, "ours"), self_signed(tmp_path, "theirs")
    secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=ours.certificate)
    secure.load_cert_chain(theirs.certificate, theirs.key)
    secure.verify_mode = ssl.CERT_REQUIRED
    async with docker_engine(secure=secure) as engine:
        host = f"tcp://127.0.0.1:{engine.port}"
        right = TlsFiles(theirs.certificate, ours.certificate, ours.key)
        stream = await by_docker(Docker("job", host, tls=right, proxy=("head", "-c", "5")))()
        await stream.write(b"12345")
        assert await stream.read() == b"12345"
        assert await stream.read() == b""
        await stream.close()
        with pytest.raises(ConnectionError, match=r"certificate is not accepted: .*; name its authority by `ca_file`"):
            await by_docker(Docker("job", host, tls=TlsFiles(ours.certificate)))()
        with pytest.raises(ConnectionError, match="absent cannot be read as PEM files"):
            await by_docker(Docker("job", host, tls=TlsFiles(tmp_path / "absent")))()


async def test_a_process_ends_its_input_with_its_connection(engine: Engine, tmp_path: Path) -> None:
    stream = await by_docker(at(tmp_path, "sh", "-c", f"cat; touch {tmp_path}/over"))()
    await stream.close()
    await eventually(lambda: over(engine), "the process has ended")
    assert (tmp_path / "over").exists()
