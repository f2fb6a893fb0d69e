"""`perdure up --pods 3`: one address, and nothing of one pod is in another."""

import asyncio
import json
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from temporalio.client import Client

from domain.errors import PerdureError
from domain.pods.claims import ClaimKind, ClaimState
from domain.pods.directory import BLOCK_BITS
from metrics import names
from models.schema import METADATA
from pods.directory_client import DirectoryClient
from pods.directory_tokens import tokens_in
from pods.embedded_pods import all_settings
from settings import Settings
from tests.amounts import amount
from tests.e2e.player import Player
from tests.faults.stack import PATIENT, Stack, running
from tests.forms import visit_first
from tests.metrics.scraping import scrape
from tests.project import Project
from tests.waiting import HANGS, eventually

pytestmark = pytest.mark.slow

PODS: Final = ("default", "pod-1", "pod-2")
PLAYED, BUILT_IN = amount((72, 4), (188, 12))
"""Jobs of each pod: of HTTP runners, of the one that `perdure up` brings. The latter starts a shell for each."""
PLAYERS: Final = 10
"""HTTP runners of each pod."""
CONFIG: Final = f"""
played: {{script: "true", parallel: {PLAYED}}}
built in: {{script: echo it > made, parallel: {BUILT_IN}, tags: [shell], artifacts: {{paths: [made]}}}}
"""


@dataclass(frozen=True)
class Pod:
    """One of the pods of the stack, seen as its administrator through the router."""

    settings: Settings
    client: httpx.AsyncClient
    project: Project
    players: Sequence[Player]
    statuses: Counter[int]
    """Of responses to its runners."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    # As long as it is for users: a job that a busy machine brings late to its runner is not to be handed out again.
    windows = {**PATIENT, "PERDURE_HAND_OUT_WINDOW": "60"}
    with running(tmp_path_factory.mktemp("pods") / "home", windows, "--pods", "3") as started:
        yield started


@pytest.fixture
async def pods(stack: Stack, tmp_path: Path) -> AsyncIterator[list[Pod]]:
    """Each with a project, and runners that nobody has told of any other pod."""
    found = []
    async with AsyncExitStack() as exits:
        for settings in all_settings(stack.settings):
            known = json.loads((settings.home / "credentials.json").read_text())
            headers = {"PRIVATE-TOKEN": known["token"]}
            limits = httpx.Limits(max_connections=40)
            client = httpx.AsyncClient(
                base_url=settings.url, headers=headers, trust_env=False, timeout=60, limits=limits
            )
            await exits.enter_async_context(client)
            files = {".gitlab-ci.yml": CONFIG}
            project = await Project.create(client, tmp_path.name[5:20], tmp_path / settings.pod, files)
            statuses: Counter[int] = Counter()
            runner = httpx.AsyncClient(
                base_url=settings.url,
                trust_env=False,
                timeout=60,
                limits=limits,
                event_hooks={"response": [partial(_count, statuses)]},
            )
            await exits.enter_async_context(runner)
            players = [Player(runner, known["registration_token"]) for _ in range(PLAYERS)]
            for player in players:
                await player.register()
            found.append(Pod(settings, client, project, players, statuses))
        yield found


async def _count(statuses: Counter[int], response: httpx.Response) -> None:
    statuses[response.status_code] += 1


async def test_every_row_object_and_history_is_in_its_own_pod(pods: list[Pod], stack: Stack) -> None:
    """600 jobs (a push: 228) by 30 HTTP runners and the built-in one, all through the router: a third in each pod."""
    assert [pod.settings.pod for pod in pods] == list(PODS)
    pipelines = await asyncio.gather(*(pod.project.push() for pod in pods))
    async with _played(pods, _play) as handed_out:
        for pod, pipeline in zip(pods, pipelines, strict=True):
            await eventually(partial(_ended, pod, pipeline), f"{pod.settings.pod} is done", 480)

    for pod, pipeline in zip(pods, pipelines, strict=True):
        jobs = handed_out[pod.settings.pod]
        assert len(jobs) == len(set(jobs)), "no job is handed out twice"
        assert 0 < len(jobs) <= PLAYED, "the rest was taken by the built-in one, which takes what has no tags, too"
        _check_rows(pod)
        _check_objects(pod)
        await _check_histories(pod, pipeline["id"])
    assert json.loads(stack.command("status", "--json"))["running"]


@asynccontextmanager
async def _played(
    pods: Sequence[Pod], play: Callable[[Player, list[int], asyncio.Event], Coroutine[Any, Any, None]]
) -> AsyncIterator[dict[str, list[int]]]:
    """Runners play while the block runs, and end what they have then; the jobs that those of each pod were given."""
    handed_out: dict[str, list[int]] = {pod.settings.pod: [] for pod in pods}
    done = asyncio.Event()
    playing = [
        asyncio.create_task(play(player, handed_out[pod.settings.pod], done)) for pod in pods for player in pod.players
    ]
    try:
        yield handed_out
        done.set()
        await asyncio.gather(*playing)
    finally:
        for task in playing:
            task.cancel()
        await asyncio.wait(playing)


async def _play(player: Player, taken: list[int], done: asyncio.Event) -> None:
    while not done.is_set():
        job = await player.ask()
        if job is not None:
            taken.append(job["id"])
            assert await player.finish(job) == httpx.codes.OK


async def _ended(pod: Pod, pipeline: dict[str, Any]) -> bool:
    status = (await pod.project.get(f"pipelines/{pipeline['id']}"))["status"]
    assert status not in {"failed", "canceled"}
    return bool(status == "success")


def _check_rows(pod: Pod) -> None:
    """Every id and every reference to one is of the pod's block."""
    database = sqlite3.connect(pod.settings.home / "perdure.db")
    own, count = pod.settings.pod_number, 0
    for table in METADATA.sorted_tables:
        if not table.kwargs.get("sqlite_autoincrement"):
            continue
        columns = ["id", *(key.parent.name for key in table.foreign_keys if key.column.name == "id")]
        for column in columns:
            found = database.execute(f'SELECT DISTINCT "{column}" >> {BLOCK_BITS} FROM "{table.name}"').fetchall()
            assert {number for (number,) in found} <= {own, None}, (table.name, column)
            count += len(found)
    jobs = "SELECT count(*) FROM job WHERE status = 'success' AND project_id = ?"
    (succeeded,) = database.execute(jobs, (pod.project.id,)).fetchone()
    assert succeeded == PLAYED + BUILT_IN
    (name,) = database.execute("SELECT temporal_namespace FROM installation").fetchone()
    assert name == pod.settings.pod
    database.close()
    assert count > 20, "tables were looked at"


def _check_objects(pod: Pod) -> None:
    """The archives of the pod's own jobs, and nobody else's."""
    database = sqlite3.connect(pod.settings.home / "perdure.db")
    known = {key for (key,) in database.execute("SELECT object_key FROM artifact WHERE object_key <> ''")}
    database.close()
    root = pod.settings.home / "objects"
    there = {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}
    assert len(known) >= BUILT_IN
    assert known <= there
    assert all(int(part) >> BLOCK_BITS == pod.settings.pod_number for key in there for part in _ids(key))
    repositories = {int(path.stem) for path in (pod.settings.home / "repositories").glob("*.git")}
    assert pod.project.id in repositories
    assert {project_id >> BLOCK_BITS for project_id in repositories} == {pod.settings.pod_number}


def _ids(key: str) -> list[str]:
    return [part for part in key.split("/") if part.isdecimal()]


async def _check_histories(pod: Pod, pipeline_id: int) -> None:
    client = await Client.connect(pod.settings.temporal, namespace=pod.settings.pod)
    ids = {int(found.id.removeprefix("pipeline-")) async for found in client.list_workflows('WorkflowType="Pipeline"')}
    assert pipeline_id in ids
    assert {found >> BLOCK_BITS for found in ids} == {pod.settings.pod_number}


async def test_the_web_ui_of_temporal_lists_the_namespaces(stack: Stack) -> None:
    """By the address that its page of namespaces reads."""
    page = f"http://127.0.0.1:{stack.settings.temporal_ui_port}/api/v1/namespaces"
    async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:
        response = await client.get(page, params={"pageSize": 100})
    found = {told["namespaceInfo"]["name"] for told in response.json()["namespaces"]}
    assert found - {"temporal-system"} == set(PODS)


@pytest.mark.parametrize("name", [PODS[1], *(pytest.param(PODS[n], marks=pytest.mark.nightly) for n in (0, 2))])
def test_the_demo_succeeds_in_each_pod(name: str, stack: Stack) -> None:
    """While all of them run; it leaves them running, since it has not started them."""
    document = json.loads(stack.command("--pod", name, "demo", "--exit", "--json"))
    assert (document["status"], document["pipeline"] >> BLOCK_BITS) == ("success", PODS.index(name))
    assert json.loads(stack.command("status", "--json"))["running"]


async def test_a_person_signs_in_at_their_own_pod_by_the_one_address(pods: list[Pod]) -> None:
    for pod in pods:
        known = json.loads((pod.settings.home / "credentials.json").read_text())
        form = {"username": known["username"], "password": known["password"]}
        origin = {"Origin": pod.settings.url}
        async with httpx.AsyncClient(
            base_url=pod.settings.url, headers=origin, trust_env=False, timeout=HANGS
        ) as browser:
            await visit_first(browser)
            response = await browser.post("/users/sign_in", data=form)
            assert response.status_code == httpx.codes.SEE_OTHER, response.text
            assert (await browser.get("/api/v4/user")).json()["username"] == known["username"]
            path = (await browser.get(f"/api/v4/projects/{pod.project.id}")).json()["path_with_namespace"]
            page = await browser.get(f"/{path}")
            assert page.status_code == httpx.codes.OK
            refused = await browser.post("/users/sign_in", data={**form, "password": "wrong"})
            assert refused.status_code == httpx.codes.UNAUTHORIZED


OUTAGE: Final = 8.0
"""Seconds for which the processes of a pod are killed whenever they are there."""
NAMES: Final = 20


@pytest.mark.nightly  # a push has deaths of the directory (tests/pods) and of a server (tests/faults)
async def test_a_pod_that_dies_is_missed_by_nobody_else_and_the_directory_by_nobody(
    pods: list[Pod], stack: Stack
) -> None:
    """Under load: other pods' runners see no error, its own see 503 at most, and no job is handed out twice.

    The directory dies meanwhile, also between the steps of claims: who claims is told, and nothing stays taken.
    """
    lost, *others = pods[1], pods[0], pods[2]
    pipelines = await asyncio.gather(*(pod.project.push() for pod in pods))
    async with _played(pods, _play_on) as handed_out, asyncio.TaskGroup() as group:
        claiming = group.create_task(_claim_names(others[0]))
        deadline = time.monotonic() + OUTAGE
        while time.monotonic() < deadline:
            stack.kill("api-pod-1", "directory")
            await asyncio.sleep(0.2)  # not a wait: it is how often they die
        await eventually(partial(_serves, lost), "the pod is back", HANGS)
        seen = len(handed_out[lost.settings.pod])
        await eventually(partial(_more, handed_out[lost.settings.pod], seen), "a job is taken", HANGS)
        for pod, pipeline in zip(pods, pipelines, strict=True):
            await eventually(partial(_ended, pod, pipeline), f"{pod.settings.pod} is done", 480)
    for pod in pods:
        jobs = handed_out[pod.settings.pod]
        assert len(jobs) == len(set(jobs)), "no job is handed out twice"
        bad = {status for status in pod.statuses if status >= 400}
        assert bad <= ({503} if pod is lost else set()), (pod.settings.pod, pod.statuses)
    assert pods[1].statuses[503], "it was away"
    await eventually(
        partial(_settled, pods, stack, claiming.result()), "the directory has what the pods have, and no more", 60
    )


async def _play_on(player: Player, taken: list[int], done: asyncio.Event) -> None:
    """As a runner does that is told to come back later."""
    while not done.is_set():
        job = await player.ask()
        if job is not None:
            taken.append(job["id"])
            while await player.finish(job) == httpx.codes.SERVICE_UNAVAILABLE:
                await asyncio.sleep(0.2)


async def _serves(pod: Pod) -> bool:
    return (await pod.client.get("/api/v4/user")).status_code == httpx.codes.OK


async def _more(taken: list[int], than: int) -> bool:
    return len(taken) > than


async def _claim_names(pod: Pod) -> set[str]:
    """Make groups one after another, as far as that is possible; the paths of those that were made."""
    made = set()
    for number in range(NAMES):
        path = f"made-{pod.settings.pod}-{number}"
        response = await pod.client.post("/api/v4/groups", json={"name": path, "path": path})
        if response.is_success:
            made.add(path)
        else:
            assert response.status_code == httpx.codes.SERVICE_UNAVAILABLE, response.text
            assert "directory" in response.json()["message"]
    return made


async def _settled(pods: list[Pod], stack: Stack, made: set[str]) -> bool:
    """Whether the directory's claims are those of what the pods' databases have, all of them confirmed."""
    tokens = tokens_in(stack.settings.home)
    async with DirectoryClient(stack.settings.directory_url, lambda: tokens.admin) as client:
        try:
            known = {
                (claim.kind, claim.name, claim.state)
                for pod in pods
                async for claim in client.claims(pod.settings.pod_number)
                if claim.state is not ClaimState.RELEASED
            }
        except PerdureError:
            return False
    have: set[tuple[ClaimKind, str, ClaimState]] = set()
    for pod in pods:
        database = sqlite3.connect(pod.settings.home / "perdure.db")
        groups = "SELECT lower(full_path) FROM namespace WHERE parent_id IS NULL"
        people = "SELECT lower(username) FROM account WHERE NOT bot"
        emails = "SELECT lower(email) FROM account WHERE NOT bot"
        for kind, statement in ((ClaimKind.PATH, groups), (ClaimKind.PATH, people), (ClaimKind.EMAIL, emails)):
            have |= {(kind, name, ClaimState.CONFIRMED) for (name,) in database.execute(statement)}
        database.close()
    assert made <= {name for _, name, _ in have}
    return known == have


async def test_the_directory_tells_its_pods_and_that_each_of_them_and_the_router_follow(stack: Stack) -> None:
    port = stack.settings.directory.metrics_port

    async def are_followers_there() -> bool:
        told = await asyncio.to_thread(scrape, port)
        return told.total(names.DIRECTORY_READERS_WAITING) == len(PODS) + 1

    await eventually(are_followers_there, "every pod and the router wait for changes")
    assert scrape(port).total(names.DIRECTORY_PODS, state="active") == len(PODS)
