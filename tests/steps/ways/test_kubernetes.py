"""Into a container of a pod, by an API server that is written by Kubernetes' own: bytes, cuts, ends and refusals."""

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from domain.errors import Invalid
from domain.steps.places import Kubernetes, TlsFiles
from steps.dialing import Open
from steps.ways import kubernetes
from steps.ways.kubernetes import by_kubernetes
from tests.certificates import self_signed
from tests.steps.service.serving import ROOT, Served
from tests.steps.ways.api_server import ApiServer, api_server
from tests.steps.ways.cutting import cut_at, relayed
from tests.steps.ways.following import MEBIBYTE, echo, exchanged, follow, proxy_to
from tests.waiting import HANGS, eventually


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    files = self_signed(tmp_path, "kubernetes")
    secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    secure.load_cert_chain(files.certificate, files.key)
    (tmp_path / "token").write_text("right\n")
    async with api_server(secure) as found:
        yield found


class Way:
    """To that server, whose folder it knows."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    def __call__(self, *proxy: str, **other: Any) -> Open:
        host = f"https://127.0.0.1:{self.port}"
        given: dict[str, Any] = {"pod": "job", "container": "build", "namespace": "ci", "host": host} | other
        tls = TlsFiles(self.folder / "kubernetes.crt")
        place: dict[str, Any] = {"token_file": self.folder / "token", "tls": tls, "proxy": proxy or ("cat",)} | given
        return by_kubernetes(Kubernetes(**place))


@pytest.fixture
def way(tmp_path: Path, server: ApiServer) -> Way:
    return Way(tmp_path, server.port)


BOTH = pytest.mark.parametrize("newest", ["v5.channel.k8s.io", "v4.channel.k8s.io"])


def has_only(server: ApiServer, newest: str) -> None:
    server.protocols = server.protocols[server.protocols.index(newest) :]


@BOTH
async def test_a_run_is_followed_over_connections_that_are_cut(
    server: ApiServer, service: Served, tmp_path: Path, newest: str
) -> None:
    has_only(server, newest)

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", server.port)

    async with relayed(connect, cut_at(11, 8)) as relay:
        await follow(Way(tmp_path, relay.port)(*proxy_to(service)), service)
        assert relay.done == 8


async def test_all_bytes_come_back_after_the_input_was_closed(
    way: Way, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = os.urandom(MEBIBYTE)
    assert await exchanged(await way(*echo(tmp_path))(), data) == data + b"end"
    assert "line 0" in capsys.readouterr().out


async def test_in_the_older_protocol_the_connection_ends_with_the_input(
    server: ApiServer, way: Way, tmp_path: Path
) -> None:
    has_only(server, "v4.channel.k8s.io")
    data = os.urandom(MEBIBYTE)
    stream = await way("sh", "-c", f"cat; touch {tmp_path}/over")()
    sending = asyncio.create_task(stream.write(data))
    got = b""
    while len(got) < len(data):
        got += await stream.read()
    await sending
    await stream.end()
    assert (got == data, await stream.read()) == (True, b"")
    await stream.close()

    async def is_over() -> bool:
        return (tmp_path / "over").exists()

    await eventually(is_over, "the process has ended")


async def test_words_of_a_command_come_as_they_are(server: ApiServer, way: Way) -> None:
    strange = ("a b", "c&command=d", "+", "%2B", "#", "é", "'", "/", "?")
    code = "import sys; sys.stdout.write('|'.join(sys.argv[1:]))"
    stream = await way(sys.executable, "-c", code, *strange)()
    assert (await exchanged(stream, b"")).decode() == "|".join(strange)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "pod": ({"pod": "none"}, 'status 404: pods "none" not found'),
    "container": ({"container": "none"}, "status 400: container none is not valid for pod job"),
    "namespace": ({"namespace": ""}, 'status 404: pods "job" not found'),
    "token": ({"token_file": None}, "status 401: Unauthorized"),
    "authority": ({"tls": TlsFiles()}, "certificate is not accepted: .*; name its authority by `ca_file`"),
    "port": ({"host": "https://127.0.0.1:1"}, "Cannot connect to host 127.0.0.1:1"),
    "token file": ({"token_file": Path("/none")}, "the token in /none cannot be read"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_what_is_refused_is_told(way: Way, what: str) -> None:
    given, message = WRONG[what]
    with pytest.raises(ConnectionError, match=f"^container .* of pod .* of Kubernetes at .*{message}"):
        await way(**given)()


async def test_a_server_without_these_protocols_is_told(server: ApiServer, way: Way) -> None:
    server.protocols = ("channel.k8s.io",)
    with pytest.raises(ConnectionError, match="status 403: unable to negotiate protocol"):
        await way()()


@BOTH
async def test_a_command_that_cannot_start_is_told(server: ApiServer, way: Way, newest: str) -> None:
    has_only(server, newest)
    stream = await way("no-such-command")()
    with pytest.raises(ConnectionError, match=r"has ended: Internal error .* no-such-command: No such file"):
        await stream.read()
    await stream.close()


async def test_a_proxy_that_reaches_nobody_says_so(way: Way) -> None:
    words = ("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "steps.proxy", "/none")
    with pytest.raises(
        ConnectionError, match=r"^container build of pod ci/job .*exit code 1: .*no step runner listens"
    ):
        await exchanged(await way(*words)(), b"")


async def test_a_token_is_read_anew(server: ApiServer, way: Way, tmp_path: Path) -> None:
    opening = way()
    await (await opening()).close()
    server.tokens = {"newer"}
    with pytest.raises(ConnectionError, match="status 401: Unauthorized"):
        await opening()
    (tmp_path / "token").write_text("newer")
    await (await opening()).close()


async def test_a_token_that_was_replaced_while_it_was_used_is_used_again(
    server: ApiServer, way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file changes between our look at it and the server's."""
    server.tokens = {"newer"}
    fail = server._fail

    def replaced(code: int, message: str) -> Any:
        (tmp_path / "token").write_text("newer")
        return fail(code, message)

    monkeypatch.setattr(server, "_fail", replaced)
    await (await way()()).close()
    assert len(server.asked) == 2


async def test_a_peer_that_is_silent_is_noticed(server: ApiServer, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "_HEARTBEAT", 0.2)
    server.hears_pings = False
    stream = await way()()
    async with asyncio.timeout(HANGS):
        with pytest.raises(ConnectionError, match=r"the connection was cut"):
            await stream.read()
    await stream.close()


async def test_in_a_pod_all_is_there(server: ApiServer, tmp_path: Path) -> None:
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text("right")
    (account / "namespace").write_text("ci")
    (account / "ca.crt").write_bytes((tmp_path / "kubernetes.crt").read_bytes())
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(server.port)}
    stream = await by_kubernetes(Kubernetes("job", "helper", proxy=("cat",)), environ, account)()
    assert await exchanged(stream, b"hello") == b"hello"
    with pytest.raises(Invalid, match="KUBERNETES_SERVICE_HOST is not set"):
        by_kubernetes(Kubernetes("job"), {}, account)
