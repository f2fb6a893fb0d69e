"""Every state has an explanation, whatever is known; what is not known is not made up."""

import json

import pytest

from domain.config.plan import When
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.status import COMPLETE, Status
from domain.pipelines.stuck import Lack, Stuck
from domain.runners.places import Place
from domain.runners.waits import Waits
from domain.why.explain import explained
from domain.why.explanation import Reason, about, exactly
from domain.why.in_graph import MAX_OTHERS, Graph
from domain.why.known import HeldBy, OtherJob, RunnerWait, SlotWait
from tests.domain.why.known_jobs import NOW, known
from tests.growth import assert_linear


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("bridge", [False, True])
def test_every_state_is_explained_by_itself_and_as_part_of_its_pipeline(status: Status, bridge: bool) -> None:
    graph = Pipeline(3, ("build",), (Job(7, "one", 0, status, bridge=bridge),))
    for one in (known(status, bridge=bridge), known(status, bridge=bridge, in_graph=Graph(graph, NOW).look(7))):
        found = explained(one)
        assert found.text[0].isupper()
        assert found.text.endswith(".")
        assert found.text.count(". ") <= 1, "one or two sentences"
        assert json.loads(json.dumps(found.facts)) == found.facts


@pytest.mark.parametrize("status", Status)
def test_who_may_not_run_a_job_is_told_so_as_long_as_it_can_be_run(status: Status) -> None:
    found = explained(known(status, refused="environment live is protected."))
    says = "You may not run this job: environment live is protected."
    assert (found.next_step == says) == (status not in COMPLETE)


def test_an_earlier_attempt_says_that_there_is_a_later_one() -> None:
    found = explained(known(Status.FAILED, retried=True, failure_reason="script_failure"))
    assert (found.text, found.next_step) == ("Its script failed.", "A later attempt has taken its place.")


def test_a_job_in_the_queue_tells_its_place_and_what_it_may_expect() -> None:
    wait = RunnerWait(5.0, able=3, busy=2, place=Place(4, 1_200), expected=Waits(40, 13.0, 250.0), tags=("gpu",))
    found = explained(known(Status.PENDING, runner=wait))
    assert found.reason is Reason.RUNNER
    assert found.text == (
        "3 runners fit and are there, 2 of them busy; it is number 4 of 1,200 in the queue. Of 40 such jobs of the "
        "last hour that had waited this long, half began within 20 s more, 19 of 20 within 5 min."
    )
    assert found.facts == {
        "tags": ["gpu"],
        "runners": {"able": 3, "busy": 2},
        "position": 4,
        "queued_jobs": 1_200,
        "estimate": {"p50": 13.0, "p95": 250.0, "jobs": 40},
    }


def test_without_a_history_nothing_is_promised() -> None:
    found = explained(known(Status.PENDING, runner=RunnerWait(5.0, able=1, busy=1)))
    assert "cannot be told" in found.text
    assert (found.facts["estimate"], found.facts["position"]) == (None, None)


@pytest.mark.parametrize("lack", Lack)
def test_whatever_is_lacking_there_is_a_next_step(lack: Lack) -> None:
    wait = RunnerWait(5.0, Stuck(lack, "Nobody takes it."), tags=("a b", "$(x)"), project_path="acme/tool")
    found = explained(known(Status.PENDING, runner=wait))
    assert found.text == "Nobody takes it."
    step, _, limit = found.next_step.rpartition(" It fails when")
    assert step
    assert limit == " no runner could take it for 60 min."
    assert "--tag $(x)" not in step, "tags are quoted for a shell"


def test_a_group_that_nobody_holds_may_be_kept_for_another_job() -> None:
    kept = OtherJob(5, "deploy", Status.CREATED, 2)
    found = explained(known(Status.WAITING_FOR_RESOURCE, slot=SlotWait("live", "oldest_first", None, kept, 1, 1)))
    assert found.text == (
        "It waits for resource group live, which nobody holds: by its mode, oldest_first, it is kept for deploy "
        "(job 5 of pipeline 2, created). 1 job is before it."
    )
    assert found.facts["kept_for"] == {
        "id": 5,
        "name": "deploy",
        "status": "created",
        "pipeline_id": 2,
        "allow_failure": False,
    }


def test_a_runner_that_is_silent_is_told_of() -> None:
    found = explained(known(Status.RUNNING, held_by=HeldBy("runner #3 (mini)", silent=True)))
    assert (found.reason, found.text) == (
        Reason.SILENT,
        "Runner #3 (mini) has been silent for more than 90 s.",
    )
    assert explained(known(Status.RUNNING, held_by=HeldBy("runner #3"))).text == "Runner #3 runs it."


def test_a_canceled_job_says_why_if_that_is_noted() -> None:
    found = explained(known(Status.CANCELED, pipeline_reason="The branch is gone.", has_run=True))
    assert found.text == "It was canceled before it ended. The branch is gone."


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "10 s"),
        (10, "10 s"),
        (11, "20 s"),
        (110, "110 s"),
        (111, "2 min"),
        (180, "3 min"),
        (3600, "60 min"),
        (5400, "2 h"),
        (86400, "24 h"),
    ],
)
def test_spans_are_rounded_up(seconds: float, words: str) -> None:
    assert about(seconds) == words


def test_a_job_that_is_due_says_when() -> None:
    graph = Pipeline(3, ("build",), (Job(7, "one", 0, Status.SCHEDULED, due_at=NOW.replace(hour=13)),))
    found = explained(known(Status.SCHEDULED, in_graph=Graph(graph, NOW).look(7)))
    assert found.text == "It is due at 2026-01-01T13:00:00+00:00."
    assert found.facts["due_at"] == "2026-01-01T13:00:00+00:00"


def two_stages(number: int) -> Pipeline:
    """As many jobs run as wait for all of them."""
    running = [Job(key, f"a{key}", 0, Status.RUNNING) for key in range(1, number + 1)]
    waiting = [Job(number + key, f"b{key}", 1) for key in range(1, number + 1)]
    return Pipeline(3, ("build", "test"), (*running, *waiting))


def test_of_many_jobs_that_are_in_the_way_some_are_named() -> None:
    found = explained(known(Status.CREATED, in_graph=Graph(two_stages(100), NOW).look(150)))
    assert found.text == "It waits for stage build: a1 (running), a2 (running), a3 (running) and 97 more."
    assert (len(found.facts["jobs"]), found.facts["more_jobs"]) == (MAX_OTHERS, 100 - MAX_OTHERS)


def test_jobs_of_a_stage_that_wait_otherwise_are_told_otherwise() -> None:
    jobs = (
        Job(1, "build", 0, Status.RUNNING),
        Job(2, "check", 1),
        Job(3, "play", 1, when=When.MANUAL),
        Job(4, "early", 1, needs=("build",)),
    )
    graph = Graph(Pipeline(3, ("build", "test"), jobs), NOW)
    found = [explained(known(Status.CREATED, in_graph=graph.look(key))) for key in (2, 3, 4)]
    assert [one.next_step for one in found] == [
        "It goes on by itself when they have ended.",
        "It can be played when they have ended.",
        "It goes on by itself when they have ended.",
    ]
    assert found[2].text == "It waits for jobs that it needs: build (running)."


def test_a_pipeline_costs_what_its_jobs_do() -> None:
    def work(size: int) -> object:
        pipeline = two_stages(size)

        def look() -> None:
            graph = Graph(pipeline, NOW)
            for job in pipeline.jobs:
                explained(known(job.status, in_graph=graph.look(job.id)))

        return look

    assert_linear(work, 250)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        *(
            (0.5, "0.5 s"),
            (5, "5 s"),
            (59, "59 s"),
            (90, "90 s"),
            (180, "3 min"),
            (200, "3 min 20 s"),
            (3600, "60 min"),
        ),
        *((5400, "90 min"), (6000, "1 h 40 min"), (86400, "24 h"), (86405, "24 h 5 s")),
    ],
)
def test_what_somebody_has_set_is_told_to_the_second(seconds: float, says: str) -> None:
    assert exactly(seconds) == says
