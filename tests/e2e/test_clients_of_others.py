"""Clients that were written for GitLab work by changing the address: release tools, bots, a tool of settings.

At night each one runs itself, pinned, from its registry; on each push its calls are called again as they were recorded.
`PERDURE_CLIENTS` names a folder in which those that were installed stay for the next run.
The scripts of those who found something missing run, too.
"""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rigs.ports import LOCAL, free_port
from tests.activities.receiver import NETWORK
from tests.e2e.clients.every_client import CLIENTS, Client, Order
from tests.e2e.clients.packages import NPM, installed, node_is_there
from tests.e2e.clients.project import ClientProject
from tests.e2e.clients.recorded_calls import ClientCalls, play, recording, routes, write
from tests.foreign.installing import not_run
from tests.foreign.recording import recorded
from tests.program import environment
from tests.server import SHORT_TIMES, Server, running_server
from tests.temporal import temporal_server

SAMPLES = Path(__file__).parents[1] / "cases" / "samples" / "turn4"
PATIENCE = 600.0
"""Seconds for a client: some of them look at a whole project."""


@asynccontextmanager
async def serving(folder: Path, port: int = 0) -> AsyncIterator[Server]:
    """A server that says it is at this port, where something listens for it."""
    shown = {"external_url": f"http://{LOCAL}:{port}"} if port else {}
    async with (
        temporal_server(folder) as temporal,
        running_server(folder / "server", temporal, **SHORT_TIMES, **shown, outbound_networks=NETWORK) as server,
    ):
        yield server


def run(order: Order, tree: Path) -> tuple[int, str]:
    """Run a client: how it ended, and what it said."""
    home = tree.parent / "home"
    home.mkdir(exist_ok=True)
    author = {f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    variables = {"HOME": str(home), "CI": "true", "NO_PROXY": LOCAL, "no_proxy": LOCAL, "GIT_TERMINAL_PROMPT": "0"}
    done = subprocess.run(
        order.argv,
        cwd=tree,
        env=environment(**author, **variables, **order.variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.project)
async def test_a_client_does_its_work(client: Client, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Minutes: it is installed, and works as in a job."""
    if client.name in NPM and not node_is_there():
        not_run("no node")
    kept = os.environ.get("PERDURE_CLIENTS")
    there = installed(client.name, Path(kept) if kept else tmp_path_factory.getbasetemp() / "clients")
    port, calls = free_port(), ClientCalls()
    async with serving(tmp_path, port) as server, recorded(server.url, port, calls):
        project = ClientProject(
            f"http://{LOCAL}:{port}", server.credentials["token"], client.project, tmp_path / "work"
        )
        await client.prepare(project)
        calls.calls.clear()
        code, said = await asyncio.to_thread(run, client.order(project, there), project.tree)
        assert code == 0, said
        made = await calls.named(project)
        await client.check(project)
    if os.environ.get("PERDURE_RECORD"):
        write(client.project, made)
    assert routes(made) == routes(recording(client.project))


@pytest.mark.slow
async def test_what_clients_call_is_answered_as_it_was_recorded(tmp_path: Path) -> None:
    """A server and seven projects: half a minute."""
    async with serving(tmp_path) as server:
        for client in CLIENTS:
            project = ClientProject(server.url, server.credentials["token"], client.project, tmp_path / "work")
            await client.prepare(project)
            assert await play(project, recording(client.project)) == [], client.project


@pytest.mark.slow
async def test_the_scripts_of_those_who_missed_something_end_well(tmp_path: Path) -> None:
    """A server, and its webhooks: some seconds."""
    async with serving(tmp_path) as server:
        project = ClientProject(server.url, server.credentials["token"], "asked", tmp_path / "work")
        await project.make({"a.txt": "a\n"})
        sha = await project.git("rev-parse", "HEAD")
        given = {"URL": server.url, "TOKEN": project.token, "PROJECT": str(project.id), "SHA": sha}
        for script in ("semantic-release.sh", "hooks.sh"):
            order = Order(("sh", str(SAMPLES / script)), {**given, "PORT": str(free_port())})
            code, said = await asyncio.to_thread(run, order, project.tree)
            assert code == 0, f"{script}: {said}"
            assert "WRONG" not in said
