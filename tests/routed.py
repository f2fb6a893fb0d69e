"""A server that is one of two pods behind a router: whoever talks to it knows the router alone."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from domain.pods.directory import Directory, Pod, placed
from domain.pods.directory_document import document_of
from rigs.ports import LOCAL, free_port
from tests.program import Program, environment, running
from tests.server import Server, running_server
from tests.waiting import HANGS, eventually

NUMBER: Final = 7
NAME: Final = "seven"
ADMINISTRATOR: Final = f"root-{NAME}"
"""How its first person is called."""


@asynccontextmanager
async def server_behind_router(
    folder: Path, temporal: str, *, organisations: tuple[str, ...] = (), external_url: str = "", **options: Any
) -> AsyncIterator[Server]:
    """The second pod, whose `url` is the router's; the first pod, which is where all else goes, runs beside it.

    `organisations` live in the second one. `external_url` is the router's own unless something stands before it.
    """
    port = free_port()
    router = f"http://{LOCAL}:{port}"
    shown = {"external_url": external_url or router}
    async with (
        running_server(folder / "first", temporal, **options, **shown) as first,
        running_server(folder / NAME, temporal, pod=NAME, pod_number=NUMBER, **options, **shown) as second,
    ):
        pods = Pod(0, "default", f"{LOCAL}:{first.port}"), Pod(NUMBER, NAME, f"{LOCAL}:{second.port}")
        directory = Directory(1, pods, placed((path, NUMBER) for path in organisations))
        file = folder / "pods.json"
        file.write_text(json.dumps(document_of(directory)))
        known = {"PERDURE_HOME": folder, "PERDURE_FRONT_PORT": port, "PERDURE_FRONT_DIRECTORY": file}
        env = environment(**{name: str(value) for name, value in known.items()}, PERDURE_FRONT_METRICS_PORT="0")
        program = Program([sys.executable, "-m", "pods.front"], folder / "router.log", env=env)
        async with running(program):
            await eventually(lambda: _answers(program, router), "the router answers")
            second.url = router
            yield second


async def _answers(program: Program, url: str) -> bool:
    if not program.running:
        raise RuntimeError(f"The router ended at its start:\n{program.output()}")
    async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:
        try:
            return (await client.get(f"{url}/-/front/api?pod={NUMBER}")).is_success
        except httpx.TransportError:
            return False
