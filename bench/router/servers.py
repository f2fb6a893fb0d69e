"""Three pods behind both routers: a real one, one that answers as fast as anything can, and one for large bodies.

The real pod is the API process with SQLite and Temporal; the fast one is nginx with a constant. The routers are the
embedded one, a process of its own, and nginx before it, as `deploy/nginx/render.py` writes it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from bench.servers import Servers, cpu_seconds, running, started
from domain.pods.directory import Directory, Pod
from domain.pods.directory_document import document_of
from domain.pods.routable_token import Route, spelled
from domain.pods.token_prefixes import PERSONAL
from pods.child import Child, Ready
from pods.environment import child_environment
from pods.stack import PYTHON
from rigs.ports import LOCAL, free_ports
from settings import FrontLimits, RateLimits

FAST, BULK = 1, 2
"""Numbers of pods; the real one is 0."""
_NAMES: Final = ("default", "fast", "bulk")
_BETWEEN: Final[Mapping[str, tuple[str, ...]]] = {
    "direct": (),
    "embedded": ("embedded",),
    "nginx": ("nginx", "embedded"),  # who decides
    "cached": ("cached", "embedded"),
}
_RENDER: Final = Path(__file__).parents[2] / "deploy" / "nginx" / "render.py"
_FAST: Final = """worker_processes 1; daemon off; pid fast.pid; error_log fast.log;
events {{ worker_connections 4096; }}
http {{ access_log off; keepalive_requests 10000000;
server {{ listen {local}:{port}; default_type application/json; location / {{ return 200 '{{"id": 1}}'; }} }} }}
"""


@dataclass(frozen=True, slots=True)
class Site:
    """What runs. `ports` has those of `embedded`, `nginx` and `cached` (nginx that keeps answers for a while)."""

    ports: Mapping[str, int]
    direct: Mapping[int, int]
    tokens: Mapping[int, str]
    processes: Mapping[str, psutil.Process]

    def port(self, way: str, pod: int) -> int:
        """Where a pod is asked that way."""
        return self.direct[pod] if way == "direct" else self.ports[way]

    def cpu(self, way: str, pod: int) -> tuple[float, float]:
        """Seconds of processor time that all between a caller and a pod have used, and the pod."""
        between = sum(cpu_seconds(self.processes[name]) for name in _BETWEEN[way])
        return between, cpu_seconds(self.processes[_NAMES[pod]])

    def memory(self, way: str) -> float:
        """MiB that a router has now, its children included."""
        process = self.processes[way]
        return sum(each.memory_info().rss for each in (process, *process.children(recursive=True))) / 1024**2


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    """All of it, ready; stopped at the end."""
    async with AsyncExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="perdure-router-")))
        os.chmod(folder, 0o711)  # noqa: PTH101  # nginx's worker is somebody else where root starts it
        real = await opened.enter_async_context(running(front=False, rates=RateLimits(api_calls=0)))
        ports = free_ports(6)
        direct = {0: real.settings.api_port, FAST: ports[0], BULK: ports[1]}
        pods = tuple(
            Pod(number, name, f"{LOCAL}:{direct[number]}") for number, name in enumerate(("default", "fast", "bulk"))
        )
        (folder / "pods.json").write_text(json.dumps(document_of(Directory(1, pods))))
        by = dict(zip(("embedded", "decisions", "nginx", "cached"), ports[2:], strict=True))
        children = [_fast(folder, ports[0]), _bulk(ports[1]), _router(real, folder, by)]
        children += [_nginx(folder, name, by) for name in ("nginx", "cached")]
        processes = await opened.enter_async_context(started(children, folder))
        tokens = {0: real.token, **{number: spelled(PERSONAL, Route(number), bytes(16)) for number in (FAST, BULK)}}
        yield Site(by, direct, tokens, {**processes, "default": real.processes["api"]})


def _router(real: Servers, folder: Path, ports: Mapping[str, int]) -> Child:
    limits = FrontLimits(directory=folder / "pods.json", decisions_port=ports["decisions"], behind=LOCAL)
    changed = {"front_port": ports["embedded"], "front_metrics_port": 0, "front": limits, "home": folder}
    settings = real.settings.model_copy(update=changed)
    ready = Ready(LOCAL, ports["embedded"], "/-/front/health")
    return Child("embedded", (*PYTHON, "pods.front"), child_environment(settings, secrets=False), ready)


def _bulk(port: int) -> Child:
    return Child("bulk", (sys.executable, "-m", "bench.router.bulk", str(port)), _here(), Ready(LOCAL, port))


def _fast(folder: Path, port: int) -> Child:
    (folder / "fast.conf").write_text(_FAST.format(local=LOCAL, port=port))
    return Child("fast", (_binary(), "-p", str(folder), "-c", str(folder / "fast.conf")), {}, Ready(LOCAL, port))


def _nginx(folder: Path, name: str, ports: Mapping[str, int]) -> Child:
    where = {"--listen": ports[name], "--router": ports["embedded"], "--decisions": ports["decisions"]}
    arguments = [word for option, port in where.items() for word in (option, f"{LOCAL}:{port}")]
    arguments += ["--cache", str(folder / "decisions")] if name == "cached" else []
    command = [sys.executable, str(_RENDER), "--directory", str(folder / "pods.json"), *arguments, str(folder / name)]
    subprocess.run(command, check=True)
    (folder / name).chmod(0o711)
    configuration = ("-e", str(folder / name / "error.log"), "-c", str(folder / name / "nginx.conf"))
    argv = (_binary(), *configuration, "-g", "daemon off;")
    return Child(name, argv, {}, Ready(LOCAL, ports[name], "/-/front"))


def _here() -> dict[str, str]:
    return {"PYTHONPATH": str(_RENDER.parents[2])}


def _binary() -> str:
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        raise RuntimeError("The router is measured against nginx, and there is none on this machine.")
    return found
