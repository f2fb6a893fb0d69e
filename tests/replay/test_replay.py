"""The workflow of today replays the histories that were recorded with an earlier one."""

import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer
from temporalio.workflow import NondeterminismError

from activities.temporal_worker import sandbox
from tests.replay.hasty import Hasty
from tests.replay.record import HISTORIES
from tests.replay.shapes import SHAPES
from workflows.pipeline import PipelineWorkflow


def replayer(kind: type) -> Replayer:
    """A replayer that decodes and sandboxes as our worker does."""
    return Replayer(workflows=[kind], data_converter=pydantic_data_converter, workflow_runner=sandbox())


def history(path: Path) -> WorkflowHistory:
    """A recorded history."""
    return WorkflowHistory.from_json(f"recorded-{path.stem}", path.read_text())


def recorded() -> list[Path]:
    """Every history there is."""
    return sorted(HISTORIES.glob("*.json"))


def test_every_shape_has_a_history() -> None:
    assert {path.stem for path in recorded()} == set(SHAPES)


@pytest.mark.parametrize("path", recorded(), ids=lambda path: path.stem)
async def test_a_recorded_history_replays(path: Path) -> None:
    result = await replayer(PipelineWorkflow).replay_workflow(history(path), raise_on_replay_failure=False)
    assert result.replay_failure is None


@pytest.mark.parametrize("path", recorded(), ids=lambda path: path.stem)
async def test_a_changed_workflow_is_found_out(path: Path) -> None:
    result = await replayer(Hasty).replay_workflow(history(path), raise_on_replay_failure=False)
    failure = result.replay_failure
    # an activity that another one's result is given to cannot read it: that is found, but not called by its name
    assert isinstance(failure, NondeterminismError) or "Failed decoding arguments" in str(failure)


@pytest.mark.parametrize("path", recorded(), ids=lambda path: path.stem)
def test_a_recorded_history_is_one_of_a_finished_pipeline(path: Path) -> None:
    events = json.loads(path.read_text())["events"]
    assert events[-1]["eventType"] == "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED"
