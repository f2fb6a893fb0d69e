"""Pipelines of one pod trigger a project of another and fetch its artifacts: real pods, calls between them, kills."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from pods.embedded_pods import all_settings
from settings import Settings
from tests.e2e.player import Player
from tests.faults.stack import Stack, running
from tests.project import Project
from tests.waiting import HANGS, eventually

pytestmark = pytest.mark.slow

PIPELINES: Final = 3
KILLS: Final = 2
"""Of each of the two pods."""
KEPT: Final = "workflow: {auto_cancel: {on_new_commit: none}}\n"
"""All pipelines of one branch run to their end."""
TAG: Final = "played"
BUILD: Final = f'{KEPT}build: {{script: "true", tags: [{TAG}]}}\n'


@dataclass(frozen=True)
class Pod:
    """A pod as its administrator sees it through the router."""

    settings: Settings
    client: httpx.AsyncClient
    project: Project
    player: Player

    def rows(self, statement: str) -> list[Any]:
        """What its database has."""
        with closing(sqlite3.connect(self.settings.home / "perdure.db")) as database:
            return database.execute(statement).fetchall()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("pods") / "home", None, "--pods", "2") as started:
        yield started


@pytest.fixture
async def pods(stack: Stack, tmp_path: Path) -> AsyncIterator[tuple[Pod, Pod]]:
    """The near one, whose administrator is a maintainer of the far one's project."""
    found = []
    async with AsyncExitStack() as exits:
        for settings in all_settings(stack.settings):
            known = json.loads((settings.home / "credentials.json").read_text())
            headers = {"PRIVATE-TOKEN": known["token"]}
            client = await exits.enter_async_context(
                httpx.AsyncClient(base_url=settings.url, headers=headers, trust_env=False, timeout=60)
            )
            name = f"{settings.pod}-{tmp_path.name[5:15]}".replace("_", "-").lower()
            project = await Project.create(client, name, tmp_path / settings.pod, {".gitlab-ci.yml": BUILD})
            runner = await exits.enter_async_context(
                httpx.AsyncClient(base_url=settings.url, trust_env=False, timeout=60)
            )
            player = Player(runner, known["registration_token"])
            await player.register(TAG)
            found.append(Pod(settings, client, project, player))
        near, far = found
        await far.project.push()
        await _visit(far, near)
        path = await _path(far)
        config = f"{KEPT}go: {{trigger: {{project: {path}, strategy: depend}}}}\n"
        await near.project.commit({".gitlab-ci.yml": config})
        yield near, far


async def _path(pod: Pod) -> str:
    return str((await pod.client.get(f"/api/v4/projects/{pod.project.id}")).json()["path_with_namespace"])


async def _visit(far: Pod, near: Pod) -> None:
    """Whoever administers the near pod is named a member of the far one's project, as soon as their name is claimed."""
    username = (await near.client.get("/api/v4/user")).json()["username"]

    async def is_member() -> bool:
        body = {"username": username, "access_level": 40}
        response = await far.client.post(f"/api/v4/projects/{far.project.id}/members", json=body)
        assert response.status_code in {httpx.codes.CREATED, httpx.codes.CONFLICT, httpx.codes.NOT_FOUND}, response.text
        return response.status_code != httpx.codes.NOT_FOUND

    await eventually(is_member, "the directory knows the name", 60)


async def _bridge(pod: Pod, pipeline_id: int, *statuses: str) -> Any:
    """The bridge of a pipeline once it has one of these statuses; None before, also while its pod is away."""
    response = await pod.client.get(f"/api/v4/projects/{pod.project.id}/pipelines/{pipeline_id}/bridges")
    if response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
        return None
    (bridge,) = response.json()
    assert bridge["status"] not in {"failed", "canceled"}, bridge
    return bridge if bridge["status"] in statuses else None


async def test_a_status_comes_back(pods: tuple[Pod, Pod]) -> None:
    near, far = pods
    pipeline = await near.project.push()
    bridge = await eventually(partial(_bridge, near, pipeline["id"], "running"), "the bridge has its pipeline", 20)
    made = bridge["downstream_pipeline"]
    path = await _path(far)
    assert made["web_url"] == f"{far.settings.url}/{path}/-/pipelines/{made['id']}"
    assert (await far.client.get(made["web_url"])).status_code == httpx.codes.OK
    await _play(far, made["id"])
    await eventually(partial(_bridge, near, pipeline["id"], "success"), "the status is back", HANGS)
    assert (await near.project.ended(pipeline["id"]))["status"] == "success"


async def _play(far: Pod, pipeline_id: int) -> None:
    """Play jobs until those of this pipeline have ended."""

    async def step() -> bool:
        job = await far.player.ask()
        if job is not None:
            assert await far.player.finish(job) == httpx.codes.OK
        return {item["status"] for item in (await far.project.jobs(pipeline_id)).values()} == {"success"}

    await eventually(step, "the far pipeline has ended", 60)


async def test_a_job_fetches_the_artifacts_of_another_pods_project(pods: tuple[Pod, Pod]) -> None:
    """The built-in runner runs both jobs; it knows one address, and the token leads it to the pod of the archive."""
    near, far = pods
    made = "made: {script: echo it came far > made, tags: [shell], artifacts: {paths: [made]}}\n"
    await far.project.commit({".gitlab-ci.yml": made})
    assert (await far.project.ended((await far.project.push())["id"]))["status"] == "success"
    need = f"{{project: {await _path(far)}, ref: main, job: made, artifacts: true}}"
    use = f"use: {{script: cat made, tags: [shell], needs: [{need}]}}\n"
    await near.project.commit({".gitlab-ci.yml": use})
    pipeline = await near.project.push()
    assert (await near.project.ended(pipeline["id"]))["status"] == "success"
    assert "it came far" in await near.project.log((await near.project.jobs(pipeline["id"]))["use"]["id"])


CALLS: Final = """
use:
  tags: [shell]
  script: |
    git clone -q "http://gitlab-ci-token:$CI_JOB_TOKEN@$CI_SERVER_HOST:$CI_SERVER_PORT/{path}.git" there
    cat there/greeting
    curl -sSf -H "JOB-TOKEN: $CI_JOB_TOKEN" "$CI_API_V4_URL/projects/{key}/repository/files/greeting/raw?ref=main"
    curl -sSf -F "token=$CI_JOB_TOKEN" -F ref=main "$CI_API_V4_URL/projects/{key}/trigger/pipeline" -o made
"""


async def test_a_job_clones_reads_and_triggers_a_project_of_another_pod(pods: tuple[Pod, Pod]) -> None:
    """With the tools that jobs use, and the token that they have."""
    near, far = pods
    await far.project.commit({"greeting": "it came far\n", ".gitlab-ci.yml": BUILD})
    await far.project.push()
    scope = f"/api/v4/projects/{far.project.id}/job_token_scope"
    assert (await far.client.patch(scope, json={"enabled": False})).status_code == httpx.codes.NO_CONTENT
    config = CALLS.format(path=await _path(far), key=far.project.id)
    await near.project.commit({".gitlab-ci.yml": config})
    pipeline = await near.project.push()
    ended = await near.project.ended(pipeline["id"])
    log = await near.project.log((await near.project.jobs(pipeline["id"]))["use"]["id"])
    assert ended["status"] == "success", log
    assert log.splitlines().count("it came far") == 2
    listed = await far.client.get(f"/api/v4/projects/{far.project.id}/pipelines?source=pipeline")
    assert len(listed.json()) == 1


async def test_a_release_there_makes_a_pipeline_here(pods: tuple[Pod, Pod]) -> None:
    near, far = pods
    await near.project.commit({".gitlab-ci.yml": BUILD})
    base = f"/api/v4/projects/{near.project.id}"
    body = {"upstream_project": await _path(far)}

    async def follows() -> bool:
        made = await near.client.post(f"{base}/subscriptions", json=body)
        assert made.status_code in {httpx.codes.CREATED, httpx.codes.SERVICE_UNAVAILABLE}, made.text
        return made.status_code == httpx.codes.CREATED

    await eventually(follows, "the far pod has heard whose name it is", 60)
    for pod in pods:
        await pod.project.push()
    tag = {"tag_name": "v1", "ref": "main"}
    tagged = await far.client.post(f"/api/v4/projects/{far.project.id}/repository/tags", json=tag)
    assert tagged.status_code == httpx.codes.CREATED, tagged.text

    async def pipelines_of(pod: Pod, query: str) -> Any:
        return (await pod.client.get(f"/api/v4/projects/{pod.project.id}/pipelines?{query}")).json()

    (upstream,) = await eventually(partial(pipelines_of, far, "ref=v1"), "the tag has a pipeline")
    await _play(far, upstream["id"])
    (downstream,) = await eventually(partial(pipelines_of, near, "source=pipeline"), "the release was told")
    row = (await near.client.get(f"{base}/pipelines/{downstream['id']}")).json()
    assert (row["ref"], row["user"]["username"]) == ("main", (await near.client.get("/api/v4/user")).json()["username"])


async def test_no_client_comes_to_the_doors_between_pods(pods: tuple[Pod, Pod]) -> None:
    for pod in pods:
        response = await pod.client.get("/-/pods/bridges/1/pipeline")
        assert response.status_code == httpx.codes.NOT_FOUND
        async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:
            url = f"http://127.0.0.1:{pod.settings.api_port}/-/pods/bridges/1/pipeline"
            direct = await client.get(url, headers=pod.client.headers)
        assert (direct.status_code, direct.json()) == (httpx.codes.UNAUTHORIZED, {"message": "401 Unauthorized"})


@pytest.mark.nightly  # a push has a death at each single step (tests/application/bridges)
async def test_either_pod_is_killed_again_and_again_and_each_bridge_has_one_pipeline(
    pods: tuple[Pod, Pod], stack: Stack
) -> None:
    """The kills fall where they fall; a death at each single step is tested elsewhere."""
    near, far = pods
    before = far.rows(f"SELECT count(*) FROM pipeline WHERE project_id = {far.project.id}")[0][0]
    pipelines = []
    for number in range(PIPELINES):
        await eventually(partial(_serves, near), "the near pod is back", 60)
        await near.project.commit({"number": str(number)})
        pipelines.append(await near.project.push())
        stack.kill("api")
    await _kill_again_and_again(stack, "api")
    bridges = [
        await eventually(partial(_bridge, near, pipeline["id"], "running"), "the bridge has its pipeline", 90)
        for pipeline in pipelines
    ]
    ids = [bridge["downstream_pipeline"]["id"] for bridge in bridges]
    assert len(set(ids)) == PIPELINES
    for pipeline_id in ids:
        stack.kill("api-pod-1", "api")
        await eventually(partial(_serves, far), "the far pod is back", 60)
        await _play(far, pipeline_id)
    await _kill_again_and_again(stack, "api-pod-1", "api")
    for pipeline in pipelines:
        await eventually(partial(_bridge, near, pipeline["id"], "success"), "the status is back", 90)
    found = far.rows(f"SELECT id, bridge_id FROM pipeline WHERE id IN ({', '.join(map(str, ids))}) ORDER BY id")
    assert found == sorted(zip(ids, (bridge["id"] for bridge in bridges), strict=True))
    after = far.rows(f"SELECT count(*) FROM pipeline WHERE project_id = {far.project.id}")[0][0]
    assert after - before == PIPELINES
    for pipeline, bridge in zip(pipelines, bridges, strict=True):
        rows = near.rows(f"SELECT id, status FROM job WHERE pipeline_id = {pipeline['id']}")
        assert rows == [(bridge["id"], "success")]
    await eventually(partial(_nothing_is_owed, near, far), "nothing is left to be told", 60)


async def _kill_again_and_again(stack: Stack, *names: str) -> None:
    for _ in range(KILLS):
        for name in names:
            await eventually(partial(_runs, stack, name), f"{name} is back", 30)
            stack.kill(name)


async def _runs(stack: Stack, name: str) -> bool:
    await asyncio.sleep(0.1)  # not a wait: it lets the process begin to work before it dies
    return stack.runs(name)


async def _serves(pod: Pod) -> bool:
    return (await pod.client.get("/api/v4/user")).status_code == httpx.codes.OK


async def _nothing_is_owed(near: Pod, far: Pod) -> bool:
    kinds = "('bridge_elsewhere', 'tell_upstream')"
    return not any(pod.rows(f"SELECT id FROM outbox WHERE kind IN {kinds}") for pod in (near, far))
