"""The embedded stack of one test: its own home and ports, real commands, real kills."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil

from cli.client import Api
from cli.installation.demo import Scene, push, set_up
from cli.installation.ports import FIELDS, embedded
from rigs.ports import free_ports
from settings import Settings
from tests.waiting import until

SHORT: Final = {
    "PERDURE_LEASE_TICK": "0.5",
    "PERDURE_HAND_OUT_WINDOW": "6",
    "PERDURE_RUNNER_UNRESPONSIVE": "5",
    "PERDURE_RUNNER_LOST": "10",
    "PERDURE_OUTAGE_BONUS_MIN": "2",
    "PERDURE_OUTAGE_BONUS_MAX": "10",
    "PERDURE_RECONCILE_EVERY": "3",
    "PERDURE_OUTBOX_NOT_FOUND": "3",
    "PERDURE_TRACE_INTERVAL": "1",
    "PERDURE_FRONT_RETRY_POLL": "1",
    "PERDURE_FRONT_RETRY_PUT": "1",
    "PERDURE_FRONT_RETRY_UPLOAD": "1",
}
"""The time limits of the product, shortened: a test waits for each of them."""

PATIENT: Final = {"PERDURE_RUNNER_UNRESPONSIVE": "90", "PERDURE_RUNNER_LOST": "180"}
"""As long as for users: a busy machine answers some calls of a job after more than ten seconds."""

SERVERS: Final = ("supervisor", "front", "temporal", "api")


class Stack:
    """Perdure in a folder of its own."""

    def __init__(self, home: Path, extra: Mapping[str, str] | None = None) -> None:
        """Choose free ports; nothing is started yet."""
        # Those above them are what up to two further pods take.
        ports = dict(zip(FIELDS, free_ports(3 * len(FIELDS)), strict=False))
        chosen = {f"PERDURE_{field.upper()}": str(port) for field, port in ports.items()}
        self.environment = {**SHORT, **chosen, "PERDURE_HOME": str(home), **(extra or {})}
        self.home = home
        self._clients: list[Api] = []

    @property
    def settings(self) -> Settings:
        """The settings that every process of this stack has."""
        with _environment(self.environment):
            return embedded(Settings())

    def up(self, *options: str) -> None:
        """`perdure up`."""
        self._run("up", *options, check=True)

    def down(self) -> None:
        """`perdure down --all`."""
        for client in self._clients:
            client.close()
        self._run("down", "--all", check=False)

    def _run(self, *words: str, check: bool) -> str:
        argv = [sys.executable, "-m", "cli.main", *words]
        environment = {**os.environ, **self.environment}
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=120)
        if check and done.returncode:
            printed = f"{done.stdout}\n{done.stderr}"
            raise AssertionError(f"perdure {words[0]} ended with {done.returncode}:\n{printed}\n{self.logs()}")
        return done.stdout

    def command(self, *words: str) -> str:
        """What another command prints, which has to succeed."""
        return self._run(*words, check=True)

    def logs(self) -> str:
        """The end of every log, for a failing test."""
        return "\n".join(f"== {path.name}\n{path.read_text()[-2000:]}" for path in (self.home / "logs").glob("*.log"))

    def pid(self, name: str) -> int:
        """The process of a child."""
        return int(json.loads((self.home / "run" / f"{name}.json").read_text())["pid"])

    def kill(self, *names: str) -> None:
        """`kill -9`."""
        for name in names:
            try:
                os.kill(self.pid(name), signal.SIGKILL)
            except (ProcessLookupError, FileNotFoundError):
                continue

    def runs(self, name: str) -> bool:
        """Whether a child lives."""
        try:
            return psutil.Process(self.pid(name)).status() != psutil.STATUS_ZOMBIE
        except (psutil.Error, FileNotFoundError):
            return False

    def scene(self) -> Scene:
        """User and project of the demo."""
        scene = set_up(self.settings)
        self._clients.append(scene.api)
        return scene

    def push(self, scene: Scene, folder: Path, **variables: str) -> str:
        """Push a folder with pipeline variables; give back the commit."""
        return push(self.settings, scene, folder, [f"ci.variable={key}={value}" for key, value in variables.items()])

    def credentials(self) -> dict[str, str]:
        """What the first start wrote of the administrator."""
        found: dict[str, str] = json.loads((self.home / "credentials.json").read_text())
        return found

    def root(self) -> Api:
        """The API as the administrator."""
        api = Api(self.settings.url, self.credentials()["token"])
        self._clients.append(api)
        return api


@contextmanager
def running(home: Path, extra: Mapping[str, str] | None = None, *options: str) -> Iterator[Stack]:
    """A stack that is up, by `perdure up` with these options, and down at the end."""
    stack = Stack(home, extra)
    stack.up(*options)
    try:
        yield stack
    finally:
        stack.down()


@contextmanager
def place_of_jobs() -> Iterator[Path]:
    """A folder in which jobs can write, whoever they run as: pytest's own are closed to all but the tests' user."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        place = Path(folder)
        place.chmod(0o777)
        yield place


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def pipeline_of(scene: Scene, sha: str) -> dict[str, Any]:
    """The pipeline of a commit, once it exists."""
    found = until(lambda: scene.api.get(f"/projects/{scene.project_id}/pipelines", sha=sha), 30)
    pipeline: dict[str, Any] = found[0]
    return pipeline


def jobs_of(scene: Scene, pipeline_id: int) -> list[dict[str, Any]]:
    """Every attempt of every job of a pipeline, in the order of their ids."""
    route = f"/projects/{scene.project_id}/pipelines/{pipeline_id}/jobs"
    jobs: list[dict[str, Any]] = scene.api.get(route, include_retried=True, per_page=100)
    return sorted(jobs, key=lambda job: job["id"])
