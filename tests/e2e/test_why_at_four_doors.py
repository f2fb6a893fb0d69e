"""Why jobs wait or failed, at the four doors where people ask: the same words, on a whole stack.

One pipeline is in all of these situations at once: some of its jobs ended, the others wait for different things.
"""

import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from cli.client import Api
from pods.stack import temporal_command
from tests.faults.stack import PATIENT, Stack, running
from tests.waiting import until

pytestmark = pytest.mark.slow  # a whole stack, and jobs that run

CONFIG = """
stages: [build, test, deploy]
no such tag: {stage: build, script: x, tags: [nowhere]}
slip of the pen: {stage: build, script: x, tags: [parkd]}
paused and silent: {stage: build, script: x, tags: [parked]}
silent runner: {stage: build, script: x, tags: [away]}
unprotected ref: {stage: build, script: x, tags: [guarded]}
two runners: {stage: build, script: x, tags: [away, parked]}
holds: {stage: build, script: sleep 3000, resource_group: live}
behind it: {stage: build, script: x, needs: [fine], resource_group: live}
fine: {stage: build, script: "true"}
fails: {stage: build, script: exit 3}
allowed: {stage: build, script: exit 4, allow_failure: true}
twice: {stage: build, script: exit 5, retry: 1}
of another kind: {stage: build, script: exit 6, retry: {max: 2, when: runner_system_failure}}
too slow: {stage: build, script: sleep 3000, timeout: 5 seconds}
canceled: {stage: build, script: x, tags: [nowhere]}
ruled out: {stage: test, script: x, needs: [fails]}
gate: {stage: build, script: x, when: manual, allow_failure: false}
optional: {stage: build, script: x, when: manual}
later: {stage: build, script: x, when: delayed, start_in: 1 day}
needs the gate: {stage: test, script: x, needs: [gate]}
last: {stage: deploy, script: x, when: manual}
downstream: {stage: build, trigger: nobody/nothing}
"""
LOG = "Read the end of its log, mend what failed and push, or retry the job."
IN_VAIN = " It fails when no runner could take it for 60 min."
REGISTER = "Register a runner that has them, `perdure runner create --tag "
SAYS: Mapping[str, tuple[str, str]] = {
    "no such tag": (
        "No runner of this project has the tag nowhere. Nearest is {built-in}: it lacks nowhere.",
        f"{REGISTER}nowhere`, or change the job's `tags`.{IN_VAIN}",
    ),
    "slip of the pen": (
        (
            "No runner of this project has the tag parkd. Nearest is {parked}: it lacks parkd (it has parked) and is "
            "paused and is offline."
        ),
        (
            "Write parked in the job's `tags` if that is what is meant, or register one: "
            f"`perdure runner create --tag parkd`.{IN_VAIN}"
        ),
    ),
    "paused and silent": (
        "The only runner that fits is paused. Nearest is {parked}: it is paused and is offline.",
        f"Resume it: `perdure runner resume {{parked id}}`; then start it again on its machine.{IN_VAIN}",
    ),
    "silent runner": (
        "The only runner that fits is offline: no call came for too long. Nearest is {away}: it is offline.",
        f"Start it again on its machine; `perdure runner show {{away id}}` tells when it last called.{IN_VAIN}",
    ),
    "unprotected ref": (
        (
            "The runners that fit take only jobs of protected refs, and this ref is not protected. Nearest is "
            "{guarded}: it takes only jobs of protected refs and is offline."
        ),
        f"Protect the ref, or register a runner for all refs: `perdure runner create --tag guarded`.{IN_VAIN}",
    ),
    "two runners": (
        (
            "No runner of this project has all of the tags away, parked. Nearest is {away}: it lacks parked and is "
            "offline."
        ),
        f"{REGISTER}away --tag parked`, or change the job's `tags`.{IN_VAIN}",
    ),
    "behind it": (
        (
            "It waits for resource group live, which holds (job {holds} of pipeline {pipeline}, running) holds. "
            "It is next."
        ),
        "It goes on by itself when that job has ended; cancel that one if it shall not go on.",
    ),
    "fails": ("Its script failed with exit code 3.", LOG),
    "allowed": ("Its script failed with exit code 4. It is allowed to fail, so the pipeline goes on.", LOG),
    "twice": ("Its script failed with exit code 5; it was attempt 2, the last that its `retry` allows.", LOG),
    "of another kind": ("Its script failed with exit code 6; its `retry` is for other failures.", LOG),
    "too slow": (
        "It ran longer than its timeout of 5 s.",
        "Make it faster or split it, or raise its `timeout`; a runner's own limit may be lower.",
    ),
    "canceled": ("It was canceled before a runner took it.", "Retry it to run it again."),
    "ruled out": ("It was skipped because fails failed.", "Retry fails; if that succeeds, it gets another chance."),
    "gate": ("It waits for a person; so does all that comes after it.", "Play it."),
    "optional": ("It waits for a person; the pipeline does not wait for it.", "Play it."),
    "later": ("It is due at {due}.", "It starts by itself then; play it to start it now."),
    "needs the gate": ("It waits for jobs that it needs: gate (manual).", "Play gate."),
    "downstream": (
        "The downstream project does not exist, or whoever runs this job may not see it.",
        "Correct `trigger`, or let in whoever runs it; then retry.",
    ),
}
"""By job, written by hand: what is said, and what to do. Between braces stand names of runners and numbers."""
ENDED = ("fails", "allowed", "twice", "of another kind", "too slow", "downstream", "fine")
RUNNERS: Mapping[str, Mapping[str, object]] = {
    "parked": {"paused": True},
    "away": {},
    "guarded": {"access_level": "ref_protected"},
}
_TEXT = re.compile(r"<span data-text>(.*?)</span>(?: <span[^>]*data-next-step>(.*?)</span>)?", re.DOTALL)


@dataclass(frozen=True)
class Scene:
    """A pipeline in all situations. `names` are what stands between braces."""

    stack: Stack
    api: Api
    path: str
    pipeline: int
    jobs: Mapping[str, int]
    names: Mapping[str, object]

    @property
    def home(self) -> str:
        """The project's route."""
        return f"/projects/{self.path.replace('/', '%2F')}"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with running(tmp_path_factory.mktemp("why") / "home", PATIENT) as stack:
        yield brought_about(stack)


def brought_about(stack: Stack) -> Scene:
    api = stack.root()
    home = f"/projects/{api.post('/projects', name='Why')['id']}"
    path = api.get(home)["path_with_namespace"]
    (runner,) = api.get("/runners/all")
    names: dict[str, object] = {"built-in": f"runner #{runner['id']} ({runner['description']})"}
    for name, wish in RUNNERS.items():
        made = api.post("/user/runners", runner_type="instance_type", description=name, tag_list=[name], **wish)
        names |= {name: f"runner #{made['id']} ({name})", f"{name} id": made["id"]}
    api.post(
        f"{home}/repository/commits",
        branch="main",
        commit_message="Begin [ci skip]",
        actions=[{"action": "create", "file_path": "README", "content": "x"}],
    )
    api.post(
        f"{home}/repository/commits",
        branch="topic",
        start_branch="main",
        commit_message="Wait for much",
        actions=[{"action": "create", "file_path": ".gitlab-ci.yml", "content": CONFIG}],
    )
    pipeline = until(lambda: api.get(f"{home}/pipelines", ref="topic"), 60)[0]["id"]

    def latest() -> dict[str, dict[str, Any]]:
        of_pipeline = f"{home}/pipelines/{pipeline}"
        found = [*api.get(f"{of_pipeline}/jobs", per_page=100), *api.get(f"{of_pipeline}/bridges")]
        return {job["name"]: job for job in found}

    def settled() -> dict[str, dict[str, Any]] | None:
        jobs = latest()
        open_jobs = [name for name in ENDED if jobs[name]["status"] not in {"failed", "success"}]
        again = jobs["twice"]["attempt"] == 2
        held = jobs["behind it"]["status"] == "waiting_for_resource" and jobs["holds"]["status"] == "running"
        return jobs if again and held and not open_jobs else None

    api.post(f"{home}/jobs/{until(latest, 60)['canceled']['id']}/cancel")
    jobs = until(settled, 240)
    names |= {"pipeline": pipeline, "holds": jobs["holds"]["id"], "due": due_of(api, home, jobs["later"]["id"])}
    return Scene(stack, api, path, pipeline, {name: job["id"] for name, job in jobs.items()}, names)


def due_of(api: Api, home: str, job_id: int) -> str:
    return str(api.get(f"{home}/jobs/{job_id}/why")["explanation"]["facts"]["due_at"])


def by_rest(scene: Scene, name: str) -> tuple[str, str]:
    found = scene.api.get(f"{scene.home}/jobs/{scene.jobs[name]}/why")["explanation"]
    return found["text"], found["next_step"] or ""


def on_page(scene: Scene, name: str) -> tuple[str, str]:
    token = scene.stack.credentials()["token"]
    address = f"{scene.stack.settings.url}/{scene.path}/-/jobs/{scene.jobs[name]}"
    with httpx.Client(headers={"PRIVATE-TOKEN": token, "accept": "text/html"}, trust_env=False, timeout=60) as client:
        response = client.get(address)
    found = _TEXT.search(response.text)
    assert found is not None, response.text
    return html.unescape(found[1]), html.unescape(found[2] or "")


def on_command_line(scene: Scene, name: str) -> tuple[str, str]:
    argv = [sys.executable, "-m", "cli.main", "job", "why", str(scene.jobs[name]), "--project", scene.path]
    server = {"PERDURE_SERVER": scene.stack.settings.url, "PERDURE_TOKEN": scene.stack.credentials()["token"]}
    done = subprocess.run(argv, env=os.environ | server, capture_output=True, text=True, check=True, timeout=120)
    lines = done.stdout.splitlines()
    is_next = len(lines) > 2 and lines[2].startswith("    Next: ")
    return lines[1].removeprefix("    "), lines[2].removeprefix("    Next: ") if is_next else ""


def in_temporal(scene: Scene, name: str) -> tuple[str, str]:
    address = f"127.0.0.1:{scene.stack.settings.temporal_port}"
    argv = [temporal_command(), "workflow", "query", "--workflow-id", f"pipeline-{scene.pipeline}", "--type", "why"]
    argv += ["--input", json.dumps(name), "--address", address, "--output", "json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120)
    (answer,) = json.loads(done.stdout)["queryResult"]
    (one,) = answer["jobs"]
    return one["why"], one["next_step"]


DOORS = (by_rest, on_page, on_command_line, in_temporal)


@pytest.mark.parametrize("name", SAYS)
def test_every_door_says_the_same(name: str, scene: Scene) -> None:
    assert len(SAYS) >= 15
    said = {door.__name__: door(scene, name) for door in DOORS}
    words = tuple(template.format_map(scene.names) for template in SAYS[name])
    assert said == dict.fromkeys(said, words)
