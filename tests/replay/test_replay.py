"""The workflow of today replays the histories that were recorded with an earlier one."""

import json
from functools import partial
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer
from temporalio.workflow import NondeterminismError

from activities.data_converter import data_converter
from activities.temporal_worker import sandbox
from domain.pipelines import decisions
from domain.pipelines.retry_window import UNSUCCESSFUL
from tests.replay.hasty import Hasty
from tests.replay.record import BESIDE, HISTORIES
from tests.replay.shapes import SHAPES
from workflows import job_waits
from workflows.pipeline import PipelineWorkflow
from workflows.resource_group import ResourceGroupWorkflow
from workflows.retry_window import RetryWindow
from workflows.waiting_room import WaitingRoomWorkflow


@pytest.fixture(autouse=True)
def small_rooms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A history with waiting rooms was recorded with small ones."""
    if "sharded" in request.node.name:
        monkeypatch.setattr(job_waits, "OWN_JOBS", 3)
        monkeypatch.setattr(job_waits, "ROOM_JOBS", 4)


def replayer(pipeline: type) -> Replayer:
    """A replayer that decodes and sandboxes as our worker does."""
    return Replayer(
        workflows=[pipeline, WaitingRoomWorkflow, ResourceGroupWorkflow],
        data_converter=data_converter,
        workflow_runner=sandbox(),
    )


def history(path: Path) -> WorkflowHistory:
    """A recorded history."""
    return WorkflowHistory.from_json(f"recorded-{path.stem}", path.read_text())


def recorded() -> list[Path]:
    """Every history there is."""
    return sorted(HISTORIES.glob("*.json"))


def of_pipelines() -> list[Path]:
    """Those of pipelines."""
    return [path for path in recorded() if path.stem in SHAPES]


def test_every_shape_has_a_history() -> None:
    assert {path.stem for path in recorded()} == {*SHAPES, *(name for name, _ in BESIDE.values())}


@pytest.mark.parametrize("path", recorded(), ids=lambda path: path.stem)
async def test_a_recorded_history_replays(path: Path) -> None:
    result = await replayer(PipelineWorkflow).replay_workflow(history(path), raise_on_replay_failure=False)
    assert result.replay_failure is None


@pytest.mark.parametrize("path", of_pipelines(), ids=lambda path: path.stem)
async def test_a_changed_workflow_is_found_out(path: Path) -> None:
    result = await replayer(Hasty).replay_workflow(history(path), raise_on_replay_failure=False)
    failure = result.replay_failure
    # an activity that another one's result is given to cannot read it: that is found, but not called by its name
    assert isinstance(failure, NondeterminismError) or "Failed decoding arguments" in str(failure)


@pytest.mark.parametrize("path", recorded(), ids=lambda path: path.stem)
def test_a_recorded_history_is_one_of_a_finished_pipeline(path: Path) -> None:
    events = json.loads(path.read_text())["events"]
    assert events[-1]["eventType"].removeprefix("EVENT_TYPE_WORKFLOW_EXECUTION_") in {"COMPLETED", "FAILED", "CANCELED"}


async def test_what_says_that_a_job_whose_time_came_revived_others_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    settle = partial(decisions._settle, due_revives=False)
    monkeypatch.setattr(decisions, "_settle", lambda *given, due_revives: settle(*given))
    result = await replayer(PipelineWorkflow).replay_workflow(
        history(HISTORIES / "delayed_beside_skipped.json"), raise_on_replay_failure=False
    )
    assert isinstance(result.replay_failure, NondeterminismError)


@pytest.mark.parametrize("name", ["window", "started_with_a_command", "needs"])
async def test_what_says_that_a_history_has_a_window_decides(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed pipelines of before completed their workflows at once: taken for the others, neither replays."""
    is_of_before = name == "needs"
    monkeypatch.setattr(RetryWindow, "_applies", lambda _, status: is_of_before and status in UNSUCCESSFUL)
    result = await replayer(PipelineWorkflow).replay_workflow(
        history(HISTORIES / f"{name}.json"), raise_on_replay_failure=False
    )
    assert isinstance(result.replay_failure, NondeterminismError)
