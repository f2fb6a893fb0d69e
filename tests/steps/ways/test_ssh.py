"""Over a real sshd of this machine: a run is followed whatever is cut, and what is wrong is told in ssh's words."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from domain.steps.places import Ssh
from steps.ways.ssh import by_ssh, command
from tests.steps.service.serving import ROOT, Served
from tests.steps.ways.cutting import cut_at, relayed
from tests.steps.ways.following import MEBIBYTE, echo, exchanged, follow, proxy_to
from tests.steps.ways.ssh_server import SshServer, ssh_server


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[SshServer]:
    folder = tmp_path / "ssh"
    folder.mkdir()
    async with ssh_server(folder) as found:
        yield found


MORE = pytest.param(12, marks=pytest.mark.slow)  # each connection takes half a second


@pytest.mark.parametrize("cuts", [3, MORE])
async def test_a_run_is_followed_over_connections_that_are_cut(server: SshServer, service: Served, cuts: int) -> None:
    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", server.port)

    async with relayed(connect, cut_at(18, cuts)) as relay:
        await follow(by_ssh(server.place(relay.port, proxy_to(service))), service)
        assert relay.done == cuts


async def test_the_installed_command_joins_them(server: SshServer, service: Served) -> None:
    perdure = str(Path(sys.executable).parent / "perdure")
    words = ("env", f"PYTHONPATH={ROOT}", f"PERDURE_STEP_RUNNER_SOCKET={service.path}", perdure)
    await follow(by_ssh(server.place(proxy=(*words, "step-runner", "proxy"))), service, 1000)


async def test_all_bytes_come_back_after_the_input_was_closed(server: SshServer, tmp_path: Path) -> None:
    data = os.urandom(MEBIBYTE)
    stream = await by_ssh(server.place(proxy=echo(tmp_path)))()
    assert await exchanged(stream, data) == data + b"end"


async def test_the_other_shell_takes_no_word_apart(server: SshServer, tmp_path: Path) -> None:
    strange = ("$(touch made)", "; touch made", "a  b", "'", '"', "*", "-x", "`id`", "\\", "~", "new\nline", "é")
    code = "import sys; sys.stdout.write('|'.join(sys.argv[1:]))"
    stream = await by_ssh(server.place(proxy=(sys.executable, "-c", code, *strange)))()
    assert (await exchanged(stream, b"")).decode() == "|".join(strange)


WRONG = {
    "host key": "Host key verification failed",
    "user key": "Permission denied (publickey)",
    "command": "there has ended with exit code 127: .*no-such-command.*not found.*name its path by `proxy`",
    "proxy": "exit code 1.*no step runner listens at",
    "port": "exit code 255: .*Connection refused",
    "identity": "exit code 255: .*no-such-key",
}


@pytest.mark.parametrize("what", WRONG)
async def test_what_is_wrong_is_told(server: SshServer, what: str, tmp_path: Path) -> None:
    place = server.place(proxy=("cat",))
    places = {
        "host key": place,
        "user key": server.place(identity="strange_key"),
        "command": replace(place, proxy=("no-such-command",)),
        "proxy": replace(place, proxy=("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "steps.proxy", "/none")),
        "port": server.place(port=1),
        "identity": server.place(identity="no-such-key"),
    }
    if what == "host key":
        known = (server.folder / "strange_key.pub").read_text()
        assert place.known_hosts_file is not None
        place.known_hosts_file.write_text(f"[127.0.0.1]:{server.port} {known}")
    stream = await by_ssh(places[what])()
    with pytest.raises(ConnectionError, match=rf"(?s)127\.0\.0\.1 port \d+ by SSH: .*{_escaped(what)}"):
        await exchanged(stream, b"")


def _escaped(what: str) -> str:
    return WRONG[what].replace("(", r"\(").replace(")", r"\)")


async def test_a_host_that_is_not_known_is_not_trusted(server: SshServer) -> None:
    place = server.place(proxy=("cat",))
    assert place.known_hosts_file is not None
    place.known_hosts_file.write_text("")
    with pytest.raises(ConnectionError, match="Host key verification failed"):
        await exchanged(await by_ssh(place)(), b"")
    assert place.known_hosts_file.read_text() == "", "and nothing was learned"


async def test_a_client_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConnectionError, match="a by SSH: ssh cannot be run here: No such file or directory"):
        await by_ssh(Ssh("a"))()


def test_nothing_of_a_place_is_an_option() -> None:
    words = command(Ssh("host", "me", 22, Path("/a %h/b"), None, ("perdure", "step-runner", "proxy")))
    assert words[-3:] == ("--", "host", "perdure step-runner proxy")
    assert 'IdentityFile="/a %%h/b"' in words
    assert "StrictHostKeyChecking=yes" in words
