"""A restore drill beside a live server, and the same installation at another port and another address.

Whole stacks run, two of them side by side: what is shown is that the one calls nothing of the other. It takes minutes.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from cli.client import Api
from cli.installation.demo import Scene
from domain.pipelines.status import COMPLETE
from fleet.config import load_config
from metrics import names
from rigs.ports import LOCAL
from tests.faults.stack import Stack, jobs_of, pipeline_of, running
from tests.metrics.scraping import scrape
from tests.waiting import HANGS, until

pytestmark = pytest.mark.slow

SAY: Final = "say: {script: ['echo a job of $CI_SERVER_URL']}\n"
DEPLOY: Final = "deploy: {script: [echo deployed]}\n"
ENDS: Final = 120.0
OF_ITSELF: Final = {"poll", "health"}
"""Kinds of calls that a server gets from its own runner, and from its own front."""


@contextmanager
def receiver() -> Iterator[tuple[str, list[str]]]:
    """A receiver of webhooks: its address, and of which instance each call came."""
    came: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            came.append(self.headers["X-Gitlab-Instance"])
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer((LOCAL, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{LOCAL}:{server.server_address[1]}/", came
        finally:
            server.shutdown()
            thread.join()


def calls_of(stack: Stack) -> Mapping[tuple[str, ...], float]:
    """How many calls of each method, kind and status the API has answered, without those of its runner and front."""
    told = scrape(stack.settings.metrics_port)
    found = {(one["method"], one["kind"], one["status"]): one for one in told.labels(names.HTTP_REQUESTS)}
    return {key: told.total(names.HTTP_REQUESTS, **labels) for key, labels in found.items() if key[1] not in OF_ITSELF}


def pushed(stack: Stack, scene: Scene, folder: Path, config: str) -> dict[str, Any]:
    """The pipeline of a push of this configuration."""
    folder.mkdir()
    (folder / ".gitlab-ci.yml").write_text(config)
    return pipeline_of(scene, stack.push(scene, folder))


def ended(api: Api, project_id: int, pipeline_id: int) -> str:
    """The status of a pipeline once it has ended."""
    route = f"/projects/{project_id}/pipelines/{pipeline_id}"
    until(lambda: api.get(route)["status"] in COMPLETE, ENDS)
    return str(api.get(route)["status"])


def run(stack: Stack, scene: Scene) -> str:
    """Log in as the first administrator of this machine and run a pipeline to its good end: its address."""
    stack.command("login", "--local", "--no-git", "--no-input")
    assert json.loads(stack.command("whoami", "--json"))["server"] == stack.settings.url
    made = json.loads(stack.command("pipeline", "run", "--project", scene.path, "--ref", "main", "--json"))
    assert ended(stack.root(), scene.project_id, made["id"]) == "success"
    return str(made["web_url"])


def test_a_copy_that_is_restored_beside_a_live_server_calls_nothing_and_runs_only_what_it_is_asked_to(
    tmp_path: Path,
) -> None:
    outside = {"PERDURE_OUTBOUND_NETWORKS": "127.0.0.0/8", "PERDURE_CONFIG": str(tmp_path / "logins.toml")}
    file = str(tmp_path / "kept.tar.zst")
    copy = Stack(tmp_path / "copy", outside)
    with receiver() as (hook, came):
        with running(tmp_path / "original", outside) as original:
            scene, root = original.scene(), original.root()
            root.post(f"/projects/{scene.project_id}/hooks", url=hook, pipeline_events=True)
            first = pushed(original, scene, tmp_path / "say", SAY)
            assert ended(root, scene.project_id, first["id"]) == "success"
            (runner,) = root.get("/runners/all")
            root.put(f"/runners/{runner['id']}", paused=True)
            waiting = pushed(original, scene, tmp_path / "deploy", DEPLOY)
            until(lambda: jobs_of(scene, waiting["id"])[0]["status"] == "pending", HANGS)
            each_minute = {"description": "often", "ref": "main", "cron": "* * * * *", "active": True}
            root.post(f"/projects/{scene.project_id}/pipeline_schedules", **each_minute)
            until(lambda: len(came) >= 4, HANGS)
            original.command("backup", "--output", file)

            before = calls_of(original)
            copy.command("restore", file)
            with pytest.raises(AssertionError, match="leads to another installation"):
                Stack(tmp_path / "copy", {**outside, "PERDURE_EXTERNAL_URL": original.settings.url}).up()
            try:
                copy.up()
                assert run(copy, scene).startswith(f"{copy.settings.url}/{scene.path}/")
                ours = load_config(copy.home / "runner" / "config.toml").runners
                theirs = load_config(original.home / "runner" / "config.toml").runners
                assert calls_of(original) == before
                assert len(root.get("/runners/all")) == 1
                assert [entry.url for entry in ours] == [copy.settings.url]
                assert {entry.token for entry in ours}.isdisjoint(entry.token for entry in theirs)

                mine = copy.root()
                newer = mine.get(f"/projects/{scene.project_id}/pipelines", per_page=100)
                assert [(one["source"], one["status"]) for one in newer if one["id"] > 1_000_000] == [
                    ("api", "success")
                ]
                assert mine.get(f"/projects/{scene.project_id}/pipelines/{waiting['id']}")["status"] == "pending"
                assert {one for one in came if one != original.settings.url} == set()
                assert "This is a copy of installation" in copy.command("status")
                assert "This is a copy of installation" in copy.command("doctor", "--local")
            finally:
                copy.down()

        # The original is gone: what stood still goes on, and what waited to be told is told.
        assert "Promoted" in copy.command("promote")
        try:
            copy.up()
            assert ended(copy.root(), scene.project_id, waiting["id"]) == "success"
            until(lambda: copy.settings.url in came, HANGS)
            assert "copy" not in copy.command("status")
        finally:
            copy.down()


def test_an_installation_goes_on_at_another_port_and_at_another_address(tmp_path: Path) -> None:
    login = {"PERDURE_CONFIG": str(tmp_path / "logins.toml")}
    home = tmp_path / "home"
    with running(home, login) as stack:
        scene = stack.scene()
        first = pushed(stack, scene, tmp_path / "say", SAY)
        assert ended(stack.root(), scene.project_id, first["id"]) == "success"
    (before,) = load_config(home / "runner" / "config.toml").runners
    moved = Stack(home, login)
    for extra in ({}, {"PERDURE_EXTERNAL_URL": f"http://localhost:{moved.settings.front_port}"}):
        moved = Stack(home, {**moved.environment, **extra})
        moved.up()
        try:
            address = run(moved, scene)
        finally:
            moved.down()
        assert address.startswith(f"{moved.settings.url}/{scene.path}/")
        (entry,) = load_config(home / "runner" / "config.toml").runners
        assert (entry.token, entry.url) == (before.token, f"http://{LOCAL}:{moved.settings.front_port}")
