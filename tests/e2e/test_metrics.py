"""Prometheus' view of a busy installation: every name that is documented is told, and what happened is in it.

The whole embedded stack runs, for a stand-in would feed what it likes. It takes half a minute, once for all tests here.
"""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.installation.demo import Scene
from domain.pipelines.status import COMPLETE
from metrics import names
from metrics.definition import By, Definition
from tests.faults.stack import Stack, jobs_of, pipeline_of, place_of_jobs, running
from tests.metrics.promtool import promtool
from tests.metrics.scraping import Scrape, scrape
from tests.waiting import HANGS, until

pytestmark = pytest.mark.slow

CONFIG = """
stages: [build, test]
build:
  stage: build
  script: ["echo built > out.txt"]
  artifacts: {paths: [out.txt]}
flaky:
  stage: build
  retry: 1
  allow_failure: true
  script: ["exit 1"]
read: {stage: test, script: [cat out.txt]}
held:
  stage: test
  script:
    - touch "$PLACE/begun"
    - while [ ! -e "$PLACE/go" ]; do sleep 0.1; done
nobody: {stage: test, tags: [rare, quaint], script: ["true"]}
"""
ONLY_IN_TROUBLE = {
    names.INVARIANTS_BROKEN,
    names.RECONCILED,
    names.SWEPT_JOBS,
    names.SWEEPS_CUT,
    names.STORE_FAILURES,
    names.MEASURE_FAILURES,
    names.FRONT_AWAY,
    names.FRONT_HELD,
}
"""They stay at zero while all is well."""
OF_A_ROUTER = {
    names.FRONT_DIRECTORY_AWAY,
    names.FRONT_DIRECTORY_VERSION,
    names.FRONT_POD_OPEN,
    names.FRONT_POD_REFUSED,
}
"""Of a front of several pods (`tests/pods/test_router_follows.py`, `tests/pods/test_room.py`)."""
IN_PASSING = {
    names.LOGS_TO_MOVE,
    names.OBJECTS_TO_DELETE,
    names.DATABASE_WAITING,
    names.DATABASE_WAIT,
    names.LEASE_SILENCE,
}
"""Mostly zero: what they count is done at once, and a runner calls about as often as the clock ticks."""
WHILE_HELD = {
    names.POLLS_WAITING,
    names.QUEUE_JOBS,
    names.QUEUE_OLDEST,
    names.PIPELINES,
    names.JOBS,
    names.LEASES,
    names.LEASE_TICK_AGE,
    names.DATABASE_CONNECTIONS,
}
WHILE_TEMPORAL_STANDS_STILL = {
    names.OUTBOX_ROWS,
    names.OUTBOX_OLDEST,
    names.UNFOLDED,
    names.UNFOLDED_OLDEST,
}
NOW_AND_THEN = WHILE_HELD | WHILE_TEMPORAL_STANDS_STILL
OF_A_DIRECTORY = {one for one in names.ALL if one.by is By.DIRECTORY}
"""There is none with one pod: tests/e2e/test_several_pods.py has one."""
AT_THE_END = set(names.ALL) - ONLY_IN_TROUBLE - OF_A_ROUTER - OF_A_DIRECTORY - IN_PASSING - NOW_AND_THEN


class Story:
    """What was scraped while one pipeline ran."""

    def __init__(self, stack: Stack, scene: Scene, place: Path) -> None:
        self.stack, self.scene, self.place = stack, scene, place
        self.seen: set[Definition] = set()

    def scrape(self) -> Scrape:
        """API and worker, which are one process here."""
        return scrape(self.stack.settings.metrics_port)

    def look_for(self, wanted: set[Definition]) -> None:
        """Scrape until each of these was not zero; they may be so at different moments."""
        left = set(wanted)

        def fed() -> bool:
            found = self.scrape()
            left.difference_update([one for one in left if found.total(one) > 0])
            return not left

        try:
            until(fed, 60)
        except AssertionError as error:
            raise AssertionError(f"never fed: {sorted(one.name for one in left)}") from error
        self.seen |= wanted

    def jobs(self, pipeline_id: int) -> dict[str, str]:
        return {job["name"]: job["status"] for job in jobs_of(self.scene, pipeline_id)}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("metrics") / "home") as started:
        yield started


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with place_of_jobs() as folder:
        yield folder


@pytest.fixture(scope="module")
def story(stack: Stack, place: Path, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Jobs run, fail, are retried and wait; an artifact is read; then Temporal stands still while a job ends."""
    folder = tmp_path_factory.mktemp("project")
    (folder / ".gitlab-ci.yml").write_text(CONFIG)
    told = Story(stack, stack.scene(), place)
    pipeline: dict[str, Any] = pipeline_of(told.scene, stack.push(told.scene, folder, PLACE=str(place)))
    until(lambda: (place / "begun").exists() and told.jobs(pipeline["id"])["read"] == "success", 60)
    told.look_for(WHILE_HELD)
    temporal = stack.pid("temporal")
    os.kill(temporal, signal.SIGSTOP)
    try:
        (place / "go").touch()
        told.look_for(WHILE_TEMPORAL_STANDS_STILL)
    finally:
        os.kill(temporal, signal.SIGCONT)
    route = f"/projects/{told.scene.project_id}"
    until(lambda: told.jobs(pipeline["id"])["held"] == "success", 60)
    told.scene.api.post(f"{route}/pipelines/{pipeline['id']}/cancel")
    until(lambda: told.scene.api.get(f"{route}/pipelines/{pipeline['id']}")["status"] in COMPLETE, 60)
    return told


def test_the_table_of_this_test_holds_every_name() -> None:
    assert AT_THE_END, "everything would be excused"
    assert set(names.ALL) >= (ONLY_IN_TROUBLE | IN_PASSING | NOW_AND_THEN)


def test_every_name_is_told_by_the_process_that_the_documentation_names(story: Story) -> None:
    server, front = story.scrape(), scrape(story.stack.settings.front_metrics_port)
    places: dict[By, tuple[Scrape, ...]] = {By.FRONT: (front,), By.EVERY: (server, front), By.DIRECTORY: ()}
    missing = [(one.name, one.by) for one in names.ALL for told in places.get(one.by, (server,)) if not told.has(one)]
    assert missing == []


def test_what_happened_is_in_the_figures(story: Story) -> None:
    front = scrape(story.stack.settings.front_metrics_port)
    of_front = {one for one in AT_THE_END if one.by is By.FRONT}
    story.look_for(AT_THE_END - of_front)
    assert [one.name for one in of_front if front.total(one) == 0] == []


def test_figures_are_those_of_the_story(story: Story) -> None:
    """`build`, `flaky` twice, `read` and `held` were given out and ended; `nobody` waited for a runner in vain."""
    found = story.scrape()
    assert found.total(names.HAND_OUTS, tags="untagged") == 5
    assert found.total(names.QUEUE_DURATION) == 5
    assert found.total(names.VERDICTS, status="success") == 3
    assert found.total(names.VERDICTS, status="failed") == 2
    assert found.total(names.FOLDED_VERDICTS, status="failed") == 2
    assert found.total(names.JOB_FAILURES, reason="script_failure") == 2
    assert found.total(names.PIPELINES_CREATED, source="push") == 1
    assert found.total(names.PIPELINES_ENDED, status="canceled") == 1
    assert found.total(names.OFFERED_JOBS) == 6
    assert found.total(names.COMPILE_DURATION, result="ok") == 1
    assert found.total(names.GIT_REQUESTS, service="git-receive-pack", result="ok") == 1
    assert found.total(names.GIT_REQUESTS, service="git-upload-pack", result="ok") >= 5
    assert found.total(names.HTTP_REQUESTS, kind="artifacts", status="201") == 1
    assert found.total(names.TEMPORAL_CONNECTED) == 1


def test_the_latency_of_temporal_s_tasks_is_told(story: Story) -> None:
    """By the SDK, with what the process tells itself."""
    families = story.scrape().families
    for name in ("workflow_task_schedule_to_start_latency", "activity_schedule_to_start_latency"):
        family = families[f"temporal_{name}_seconds"]
        assert sum(one.value for one in family.samples if one.name.endswith("_count")) > 0, name


def test_temporal_s_server_tells_its_own(story: Story) -> None:
    found = scrape_text(story.stack.settings.temporal_metrics_port)
    assert "service_requests" in found


def scrape_text(port: int) -> str:
    return httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=HANGS, trust_env=False).text


@pytest.mark.parametrize("of", [lambda s: s.metrics_port, lambda s: s.front_metrics_port], ids=["server", "front"])
def test_prometheus_own_tool_finds_no_fault(story: Story, of: Callable[[Any], int]) -> None:
    """Names, units, types and texts by the conventions of Prometheus; those of the SDK are not ours to choose."""
    text = scrape_text(of(story.stack.settings))
    ours = "".join(line for line in text.splitlines(keepends=True) if "temporal_" not in line or "perdure_" in line)
    promtool("check", "metrics", stdin=ours.encode())


@pytest.mark.parametrize("path", ["/metrics", "/-/metrics", "//metrics", "/metrics/", "/%6Detrics", "/api/v4/metrics"])
def test_nothing_of_it_is_told_through_the_front(story: Story, path: str) -> None:
    settings = story.stack.settings
    for headers in ({}, {"PRIVATE-TOKEN": story.scene.token}):
        response = httpx.get(f"{settings.url}{path}", headers=headers, timeout=HANGS, trust_env=False)
        assert response.status_code in {401, 403, 404}, (path, response.status_code)
        assert "perdure_" not in response.text
    behind = httpx.get(f"http://127.0.0.1:{settings.api_port}/metrics", trust_env=False, timeout=HANGS)
    assert behind.status_code == 401, "a name that somebody might have, which strangers are not told"
    assert "perdure_" not in behind.text


def test_a_front_whose_api_died_counts_that(story: Story) -> None:
    """This comes last: an API that was killed begins to count anew."""
    front_port = story.stack.settings.front_metrics_port
    story.stack.kill("api")

    def away() -> bool:
        httpx.get(f"{story.stack.settings.url}/", timeout=HANGS, trust_env=False)
        return scrape(front_port).total(names.FRONT_AWAY) > 0

    until(away, 30)
