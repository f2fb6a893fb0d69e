"""`perdure pod status --all`: every pod is asked at once, and what does not answer holds nobody up."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from cli.pods.cluster import Answer, Door, Failure, ask_all
from cli.pods.documents import POD_ANSWER
from cli.remote.documents import schema
from cli.user_file import Login, changing
from domain.pods.directory import Directory, Pod, PodState
from domain.pods.directory_document import document_of
from domain.pods.routable_token import Route, spelled
from domain.pods.token_prefixes import PERSONAL
from pods.embedded_pods import add_pods, begin_directory
from rigs.ports import LOCAL, free_port
from settings import Settings
from tests.api.v4.pods.test_pod import add_runner
from tests.api.v4.site import Site, open_site, serving
from tests.cli.remote.matching import matches_list
from tests.cli.remote.shell import Shell

LIMIT = 1.0
SLACK = 20.0
"""Seconds that a command may take beside waiting, on a busy machine; a call itself would wait for 30."""


@contextmanager
def silent() -> Iterator[str]:
    """A socket that listens, and never says a word to those who connect."""
    with socket.create_server((LOCAL, 0)) as one:
        yield f"{LOCAL}:{one.getsockname()[1]}"


@pytest.fixture
async def seven(tmp_path: Path) -> AsyncIterator[Site]:
    """A second pod, behind HTTP."""
    folder = tmp_path / "seven"
    folder.mkdir()
    more: dict[str, Any] = {"pod": "seven", "pod_number": 7}
    async with open_site(folder, f"sqlite:///{folder / 'seven.db'}", **more) as opened, serving(opened):
        yield opened


def address(site: Site) -> str:
    return f"{LOCAL}:{site.services.settings.api_port}"


def directory(folder: Path, *pods: Pod) -> str:
    file = folder / "directory.json"
    file.write_text(json.dumps(document_of(Directory(1, pods))))
    return str(file)


async def log_in(shell: Shell, place: str, token: str) -> None:
    done = await shell("login", f"http://{place}", "--stdin", "--keep-default", stdin=token)
    assert done.code == 0, done.err


def believe(shell: Shell, *places: str) -> None:
    """Be logged in at places where nobody can check a token."""
    with changing(Path(shell.environment["PERDURE_CONFIG"])) as held:
        for place in places:
            held[0] = held[0].with_login(f"http://{place}", Login("glpat-x"), make_default=False)


async def test_those_that_answer_are_shown_and_those_that_do_not_are_named(
    site: Site, seven: Site, shell: Shell, tmp_path: Path
) -> None:
    """Two pods serve, one refuses connections, one never answers, of one we have no token, of one no right.

    It waits twice for the one that never answers, a second each time.
    """
    await add_runner(seven, "gpu", version="18")
    await seven.world.pipeline("one: {script: x}\n")
    somebody = await seven.person("ada", 50)
    dead = f"{LOCAL}:{free_port()}"
    with silent() as hung:
        pods = (
            Pod(0, "default", address(site)),
            Pod(3, "dead", dead, state=PodState.DRAINING),
            Pod(4, "hung", hung),
            Pod(5, "unknown", "10.255.0.5:1"),
            Pod(7, "seven", address(seven)),
        )
        await log_in(shell, address(seven), seven.root.token)
        believe(shell, dead, hung)
        words = ("pod", "status", "--all", "--directory", directory(tmp_path, *pods), "--timeout", f"{LIMIT}s")
        begin = time.monotonic()
        done = await shell(*words, "--json")
        took = time.monotonic() - begin
        plain = await shell(*words)
    assert done.out, done.err
    found = {one["name"]: one for one in json.loads(done.out)}
    assert matches_list(list(found.values()), schema(POD_ANSWER))
    assert {name: one["failure"] for name, one in found.items()} == {
        "default": None,
        "dead": "refused",
        "hung": "timed out",
        "unknown": "no token",
        "seven": None,
    }
    assert (found["seven"]["pending"], found["seven"]["running"], found["seven"]["runners_online"]) == (1, 0, 1)
    assert (found["default"]["pending"], found["hung"]["pending"]) == (0, None)
    assert (done.code, plain.code) == (5, 5)
    assert LIMIT <= took < LIMIT + SLACK
    rows = [line.split("\t") for line in plain.out.splitlines()]
    assert [row[:4] for row in rows] == [
        ["default", "0", "active", "ok"],
        ["dead", "3", "draining", "refused"],
        ["hung", "4", "active", "timed out"],
        ["unknown", "5", "active", "no token"],
        ["seven", "7", "active", "ok"],
    ]
    assert "Next: `perdure login --keep-default http://10.255.0.5:1`" in plain.err
    assert "2 of 5 pods answered." in plain.err

    await log_in(shell, address(seven), somebody.token)
    both = directory(tmp_path, pods[0], pods[4])
    done = await shell("pod", "status", "--all", "--directory", both)
    assert (done.code, "no right" in done.out, "only an administrator" in done.err) == (4, True, True)
    done = await shell("pod", "status", "--all", "--directory", directory(tmp_path, pods[0]))
    assert (done.code, done.err) == (0, "")


async def test_a_pod_is_asked_at_the_server_whose_token_names_it(site: Site, nobody: Shell, tmp_path: Path) -> None:
    """As with a router: the address of the pod is another one, and nobody is logged in there. It need only read."""
    async with site.client(site.root) as client:
        new = {"name": "t", "scopes": ["read_api"]}
        token = (await client.post("/api/v4/user/personal_access_tokens", json=new)).json()["token"]
    await log_in(nobody, address(site), token)
    pods = (Pod(0, "default", "10.255.0.1:1"), Pod(7, "seven", "10.255.0.7:1"))
    done = await nobody("pod", "status", "--all", "--directory", directory(tmp_path, *pods), "--json")
    assert done.out, done.err
    found = {one["name"]: one["failure"] for one in json.loads(done.out)}
    assert (done.code, found) == (4, {"default": None, "seven": "no token"})


async def test_no_token_is_sent_to_a_server_that_it_was_not_given_for(
    site: Site, nobody: Shell, tmp_path: Path
) -> None:
    """The directory says that pod 0 is at another address: whoever listens there hears of nothing."""
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1000))
        writer.close()

    token = spelled(PERSONAL, Route(0, user_id=1), b"0123456789abcdef")
    await log_in(nobody, address(site), site.root.token)
    async with await asyncio.start_server(listen, LOCAL, 0) as server:
        place = f"{LOCAL}:{server.sockets[0].getsockname()[1]}"
        file = directory(tmp_path, Pod(0, "default", place))
        done = await nobody("pod", "status", "--all", "--directory", file, PERDURE_TOKEN=token)
    assert (done.code, heard) == (4, [])


async def test_who_is_no_pod_of_that_name_is_not_taken_for_it(site: Site, shell: Shell, tmp_path: Path) -> None:
    file = directory(tmp_path, Pod(7, "seven", address(site)))
    done = await shell("pod", "status", "--all", "--directory", file)
    assert (done.code, "is pod default with the number 0" in done.err) == (5, True)


async def test_without_a_directory_the_pods_of_this_home_are_asked(site: Site, nobody: Shell, tmp_path: Path) -> None:
    home = Settings(home=tmp_path / "home", api_port=site.services.settings.api_port)
    add_pods(home, 2)
    begin_directory(home)
    await log_in(nobody, address(site), site.root.token)
    done = await nobody(
        "pod", "status", "--all", "--json", PERDURE_HOME=str(home.home), PERDURE_API_PORT=str(home.api_port)
    )
    found = [(one["name"], one["failure"]) for one in json.loads(done.out)]
    assert (done.code, found) == (4, [("default", None), ("pod-1", "no token")])


async def test_where_there_is_no_directory_it_is_asked_for(shell: Shell, tmp_path: Path) -> None:
    done = await shell("pod", "status", "--all", PERDURE_HOME=str(tmp_path / "home"))
    assert (done.code, "Which pods?" in done.err) == (2, True)
    done = await shell("pod", "status", "--directory", str(tmp_path / "x"))
    assert (done.code, "add `--all`" in done.err) == (2, True)
    done = await shell("pod", "status", "--all", "--directory", directory(tmp_path, Pod(0, "default")))
    assert (done.code, "names no address of pod default" in done.err) == (2, True)


async def test_one_that_says_a_little_now_and_then_holds_nobody_up() -> None:
    """Each byte comes well within the time limit of a read, and there is no last one.

    A second goes by until it is enough.
    """

    enough = asyncio.Event()

    async def trickle(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        while not enough.is_set():
            writer.write(b" ")
            with suppress(TimeoutError):
                await asyncio.wait_for(enough.wait(), LIMIT / 10)  # the pause is what the test is about
        writer.close()

    async with await asyncio.start_server(trickle, LOCAL, 0) as server:
        url = f"http://{LOCAL}:{server.sockets[0].getsockname()[1]}"
        begin = time.monotonic()
        (answer,) = await asyncio.to_thread(ask_all, [(Pod(0, "slow"), [Door(url, "x")])], LIMIT)
        took = time.monotonic() - begin
        enough.set()
    assert answer == Answer(Pod(0, "slow"), failure=Failure.TIMED_OUT, why=f"It did not answer within {LIMIT:g} s.")
    assert LIMIT <= took < LIMIT + SLACK


async def test_of_several_addresses_of_a_pod_one_that_answers_is_enough(
    site: Site, shell: Shell, tmp_path: Path
) -> None:
    dead = f"{LOCAL}:{free_port()}"
    with silent() as hung:
        believe(shell, dead, hung)
        places = f"{dead},{hung},{address(site)}"
        file = directory(tmp_path, Pod(0, "default", places))
        begin = time.monotonic()
        done = await shell("pod", "status", "--all", "--directory", file, "--timeout", "20s")
    assert (done.code, done.out.startswith("default\t0\tactive\tok\t")) == (0, True)
    assert time.monotonic() - begin < 20
