"""Three pods of one home behind its router, as `perdure up --pods 3` starts them, but with nobody who starts them anew.

So what is killed stays away for as long as it shall, and nothing else is busy with bringing it back.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from bench import whole_way
from bench.gen_ci_yaml import trivial
from bench.servers import Servers, started
from bench.whole_way import Target
from cli.installation.cluster import register_pods
from pods.child import Child
from pods.embedded_pods import add_pods, all_settings, begin_directory
from pods.stack import stack
from rigs.ports import LOCAL, free_ports
from settings import DirectorySettings, Settings

PODS: Final = 3
LOST: Final = "pod-1"
"""The pod that dies, and the directory with it."""
_DYING: Final = ("directory", f"api-{LOST}")
_PORTS: Final = (
    "front",
    "front_metrics",
    "api",
    "metrics",
    "temporal",
    "temporal_ui",
    "temporal_http",
    "temporal_metrics",
    "temporal_client_metrics",
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """What runs: the port of the router, and of each pod by its name the administrator's token and a project."""

    port: int
    tokens: Mapping[str, str]
    targets: Mapping[str, Target]
    dying: "Dying"


class Dying:
    """The processes that die, each a child of ours."""

    def __init__(self, children: tuple[Child, ...], home: Path) -> None:
        """Nothing runs yet."""
        self._children, self._home = children, home
        self._processes: Mapping[str, psutil.Process] = {}
        self._running = AsyncExitStack()

    async def start(self) -> None:
        """Start them, and wait until each is ready."""
        self._processes = await self._running.enter_async_context(started(self._children, self._home))

    async def kill(self) -> None:
        """`kill -9`, all of them."""
        for process in self._processes.values():
            process.kill()
        await self.stop()

    async def stop(self) -> None:
        """Nothing of them runs afterwards."""
        await self._running.aclose()


@asynccontextmanager
async def cluster(jobs: int, runners: int) -> AsyncIterator[Cluster]:
    """Three pods, ready, each with a project whose pipelines have so many jobs, and runners; stopped at the end."""
    async with AsyncExitStack() as opened:
        settings = _settings(Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="perdure-outage-"))))
        add_pods(settings, PODS)
        begin_directory(settings)
        children = {child.name: child for child in stack(settings) if child.name != "runner"}
        dying = Dying(tuple(children.pop(name) for name in _DYING), settings.home)
        opened.push_async_callback(dying.stop)
        # The front and Temporal come first, as in `perdure up`; the rest finds them.
        processes = await opened.enter_async_context(started(tuple(children.values()), settings.home))
        await dying.start()
        await asyncio.to_thread(register_pods, settings)
        tokens, targets = {}, {}
        for pod in all_settings(settings):
            token = str(json.loads((pod.home / "credentials.json").read_text())["token"])
            servers = Servers(settings, token, processes)
            tokens[pod.pod] = token
            targets[pod.pod] = await whole_way.set_up(servers, trivial(jobs), runners)
        yield Cluster(settings.front_port, tokens, targets, dying)


def _settings(home: Path) -> Settings:
    directory, *ports = free_ports(1 + len(_PORTS))
    named = dict(zip(_PORTS, ports, strict=True))
    return Settings(
        home=home,
        host=LOCAL,
        external_url=f"http://{LOCAL}:{named['front']}",
        temporal_address="",
        database_url="",
        object_store="",
        log_level="WARNING",
        directory=DirectorySettings(port=directory),
        **{f"{name}_port": number for name, number in named.items()},  # type: ignore[arg-type]
    )
