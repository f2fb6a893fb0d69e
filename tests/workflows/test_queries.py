"""Queries without a server: they are small, whatever the pipeline is like."""

import json
from typing import Any

import pytest
from temporalio import workflow

from domain.errors import Invalid, NotFound
from domain.pipelines.pipeline import Pipeline
from domain.pipelines.status import Status
from tests.domain.pipelines.graphs import NOW, job, pipeline
from workflows.queries import Queries

LIMIT = 32 * 1024


class Looked(Queries):
    """What asks a pipeline."""

    def __init__(self, seen: Pipeline | None) -> None:
        """Have loaded this."""
        self._pipeline = seen


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "now", lambda: NOW)
    monkeypatch.setattr(workflow, "extern_functions", dict)


def size(answer: dict[str, Any]) -> int:
    """Bytes that cross Temporal."""
    return len(json.dumps(answer).encode())


@pytest.fixture(scope="module")
def huge() -> Pipeline:
    """10,000 jobs with long names in a hundred stages, half of them open in rooms."""
    return pipeline(
        *(
            job(
                f"{number} {'é' * 200}",
                Status.RUNNING if number < 5_000 else Status.CREATED,
                stage=number // 100,
                room=f"pipeline-1-room-{number // 200}" if number < 5_000 else "",
            )
            for number in range(10_000)
        )
    )


def test_ten_thousand_jobs_fit_into_an_answer(huge: Pipeline) -> None:
    seen = Looked(huge).status()
    assert size(seen) < LIMIT
    assert seen["jobs"] == {"running": 5_000, "created": 5_000}
    assert len(seen["open"]) + seen["more_open"] == 5_000
    assert len(seen["stages"]) == 100
    assert len(seen["waiting_rooms"]) == 25
    told = Looked(huge).why()
    assert size(told) < LIMIT
    assert len(told["jobs"]) + told["more_jobs"] == 10_000


def test_at_most_two_hundred_jobs_are_explained() -> None:
    seen = Looked(pipeline(*(job(f"j{number}", Status.MANUAL) for number in range(300)))).why()
    assert (len(seen["jobs"]), seen["more_jobs"]) == (200, 100)
    assert size(seen) < LIMIT


def test_a_job_that_has_ended_is_explained_only_when_it_is_asked_for() -> None:
    looked = Looked(pipeline(job("a", Status.SUCCESS), job("b", stage=1, status=Status.PENDING)))
    assert [one["name"] for one in looked.why()["jobs"]] == ["b"]
    assert looked.why("a") == looked.why(1) == looked.why({"job_id": 1}) == looked.why({"name": "a"})
    assert looked.why("a")["jobs"] == [{"id": 1, "name": "a", "status": "success", "why": "has ended"}]


@pytest.mark.parametrize("given", [(), (None,), ("",), ({},)])
def test_nothing_asks_for_every_job(given: tuple[Any, ...]) -> None:
    looked = Looked(pipeline(job("a", Status.PENDING)))
    assert len(looked.why(*given)["jobs"]) == 1
    assert looked.status(*given)["status"] == "created"


def test_what_names_no_job_is_refused() -> None:
    looked = Looked(pipeline(job("a", Status.PENDING)))
    for wrong in (["a"], True, 1.5):
        with pytest.raises(Invalid, match=r"names no job[.] Write the name or the id of a job"):
            looked.why(wrong)
    with pytest.raises(NotFound):
        looked.why("b")


def test_before_the_pipeline_was_loaded_a_query_says_so() -> None:
    looked = Looked(None)
    assert "ask again" in looked.status()["note"]
    assert "ask again" in looked.why("a")["note"]
