"""The listening socket outlives the front: whoever connects while the front is dead waits for the next one."""

import asyncio
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from pods.process import is_alive
from rigs.ports import LOCAL, free_port
from tests.pods.supervised_front import SupervisedFront, calling, supervised_front
from tests.pods.upstreams import http_upstream
from tests.program import Program, environment, running
from tests.waiting import eventually

pytestmark = pytest.mark.slow
"""Processes of its own for each test; a second and more of each."""

SHA = "1" * 40
WITHIN = 20.0
KILLS = 4
FETCHERS = 2
ACTIVATED = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()));"
    " os.execv(sys.executable, [sys.executable, '-m', *sys.argv[2:]])"
)
"""What systemd does with a service that has a socket unit."""


def refs() -> bytes:
    """What `git ls-remote` asks for: one branch."""
    lines = [f"{SHA} HEAD\0symref=HEAD:refs/heads/main agent=git/2\n", f"{SHA} refs/heads/main\n"]
    packet = "".join(f"{len(line) + 4:04x}{line}" for line in lines)
    return f"001e# service=git-upload-pack\n0000{packet}0000".encode()


async def api(request: web.BaseRequest) -> web.StreamResponse:
    if request.path.endswith("/info/refs"):
        return web.Response(body=refs(), content_type="application/x-git-upload-pack-advertisement")
    return web.Response(text="ok")


@pytest.fixture
async def front(tmp_path: Path) -> AsyncIterator[SupervisedFront]:
    async with supervised_front(tmp_path, probe_every=0.05) as made:
        yield made


async def test_a_killed_front_refuses_nobody(front: SupervisedFront) -> None:
    """It costs the start of a process (two seconds): a front that binds by itself is away for as long as that."""
    async with http_upstream(front.api_port, api), calling(front.port) as callers:
        await eventually(lambda: _true(callers.answered > 50), "the callers are served")
        before = await front.kill()
        await front.serving(but=before)
        enough = callers.answered + 50
        await eventually(lambda: _true(callers.answered > enough), "the callers are served again")
    assert callers.refused == 0


async def test_kill_after_kill_refuses_nobody_and_no_git(front: SupervisedFront) -> None:
    """Pauses between the starts grow (0, 1, 2, 4 s), and callers wait in the socket for as long."""
    said: Counter[str] = Counter()

    async def fetch() -> None:
        while True:
            url = f"{front.url}/group/project.git"
            pipe = asyncio.subprocess.PIPE
            git = await asyncio.create_subprocess_exec("git", "ls-remote", url, stdout=pipe, stderr=pipe)
            out, err = await git.communicate()
            said["answered" if out.startswith(SHA.encode()) else err.decode().strip().splitlines()[-1]] += 1

    async with http_upstream(front.api_port, api), calling(front.port) as callers:
        fetching = [asyncio.create_task(fetch()) for _ in range(FETCHERS)]
        before = 0
        for _ in range(KILLS):
            await front.serving(but=before)
            enough, fetched = callers.answered + 50, said["answered"] + 2

            async def served(enough: int = enough, fetched: int = fetched) -> bool:
                return callers.answered > enough and said["answered"] >= fetched

            await eventually(served, "callers and git are served")
            before = await front.kill()
        await front.serving(but=before)
        for task in fetching:
            task.cancel()
        await asyncio.gather(*fetching, return_exceptions=True)
    print(f"{KILLS} kills: {callers}, git: {dict(said)}")
    assert callers.refused == 0
    assert [words for words in said if "refused" in words.lower() or "failed to connect" in words.lower()] == []
    assert said["answered"] >= 2 * KILLS


async def _true(condition: bool) -> bool:
    return condition


async def test_a_new_supervisor_gets_the_socket_of_a_living_front(front: SupervisedFront) -> None:
    """It costs two starts: first the supervisor dies, then the front, and still nobody is refused."""
    adopted = await front.serving()
    await front.supervisor.kill()
    async with http_upstream(front.api_port, api), calling(front.port) as callers:
        await front.supervisor.start()
        await eventually(lambda: _true("adopted" in front.supervisor.output()), "the front is adopted")
        assert (await front.serving()).pid == adopted.pid
        before = await front.kill()
        await front.serving(but=before)
    assert callers.refused == 0


async def test_a_front_that_was_left_holds_until_the_next_one_takes_over(front: SupervisedFront) -> None:
    """As `perdure down`, an upgrade and `perdure up` do; it costs two starts."""
    async with aiohttp.ClientSession() as client, calling(front.port) as callers:
        held = asyncio.create_task(client.put(f"{front.url}/api/v4/jobs/7", json={"state": "success"}))
        left = await front.serving()
        front.signal_supervisor(signal.SIGQUIT)
        assert await front.supervisor.wait() == 0
        assert is_alive(left.identity)
        record = front.folder.read("front")
        assert record is not None
        assert record.is_left
        await front.supervisor.start()
        await front.serving(but=left.pid)
        assert not held.done()
        async with http_upstream(front.api_port, api), asyncio.timeout(WITHIN):
            async with await held as response:
                assert response.status == 200, "the one that was left has answered what it held"
            await client.close()
            await eventually(lambda: _true(not is_alive(left.identity)), "it ends when its last caller has gone")
    assert callers.refused == 0

    async def forgotten() -> bool:
        return [record.name for record in front.folder.all()] == ["front", "supervisor"]

    await eventually(forgotten, "the supervisor has seen that it has ended")


async def test_every_front_ends_with_the_supervisor_when_all_shall_end(front: SupervisedFront) -> None:
    first = await front.serving()
    async with aiohttp.ClientSession() as client:
        held = asyncio.create_task(client.put(f"{front.url}/api/v4/jobs/7", json={}))
        front.signal_supervisor(signal.SIGQUIT)
        await front.supervisor.wait()
        await front.supervisor.start()
        second = await front.serving(but=first.pid)
        front.signal_supervisor(signal.SIGTERM)
        assert await front.supervisor.wait() == 0
        assert not is_alive(first.identity)
        assert not is_alive(second.identity)
        async with await held as response:
            assert response.status == 503
    assert front.folder.all() == []


async def test_a_front_takes_the_socket_that_systemd_has_opened(tmp_path: Path) -> None:
    """Who connects before the service is started, or while it is dead, waits."""
    with socket.create_server((LOCAL, free_port())) as listener:
        port = listener.getsockname()[1]
        api_port = free_port()
        variables = environment(PERDURE_HOME=str(tmp_path), PERDURE_API_PORT=str(api_port))
        # The port of the settings is another one: what systemd says goes first.
        variables |= {"PERDURE_FRONT_PORT": str(free_port())}
        os.set_inheritable(listener.fileno(), True)
        argv = [sys.executable, "-c", ACTIVATED, str(listener.fileno()), "pods.front"]
        program = _Inheriting(argv, tmp_path / "front.log", env=variables)
        async with http_upstream(api_port, api), aiohttp.ClientSession(f"http://{LOCAL}:{port}") as client:
            for _ in range(2):
                waiting = asyncio.create_task(client.get("/x"))
                async with running(program), asyncio.timeout(WITHIN), await waiting as response:
                    assert (response.status, await response.text()) == (200, "ok")
                    await program.kill()


class _Inheriting(Program):
    """A program that gets the files which are marked as inheritable."""

    async def start(self) -> None:
        with self.log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv, cwd=self._cwd, env=self._env, stdout=output, stderr=output, close_fds=False
            )
