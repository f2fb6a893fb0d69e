"""Every example configuration compiles, for every event, to the plan that was worked out by hand."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from domain.config.plan import Plan
from tests.examples.configuration_folder import ConfigurationFolder

CONFIGS: Final = Path(__file__).parents[2] / "examples" / "configs"
FOLDERS: Final = sorted(path.parent for path in CONFIGS.glob("*/events.json"))
CASES: Final = [
    pytest.param(folder, event, id=f"{folder.path.name}-{event['name']}")
    for folder in map(ConfigurationFolder, FOLDERS)
    for event in folder.events
]


def _document(plan: Plan) -> dict[str, Any]:
    """A plan as far as `expected/*.json` speaks of it."""
    return {
        "stages": list(plan.stages),
        "jobs": [
            {
                "name": job.name,
                "stage": job.stage,
                "when": str(job.when),
                "allow_failure": job.allow_failure,
                "needs": None if job.needs is None else [need.job for need in job.needs],
            }
            for job in plan.jobs
        ],
        "absent": [job.name for job in plan.absent],
    }


def test_there_are_ten_with_three_events_each() -> None:
    assert len(FOLDERS) == 10
    assert all(len(ConfigurationFolder(folder).events) == 3 for folder in FOLDERS)


@pytest.mark.parametrize(("folder", "event"), CASES)
def test_plan_is_the_expected_one(folder: ConfigurationFolder, event: dict[str, Any]) -> None:
    expected = json.loads((folder.path / "expected" / f"{event['name']}.json").read_text())
    assert _document(folder.plan(event)) == expected


@pytest.mark.parametrize(("folder", "event"), CASES)
def test_child_pipelines_hold_the_expected_jobs(folder: ConfigurationFolder, event: dict[str, Any]) -> None:
    """Those that a job writes (`include:artifact`) have no configuration yet."""
    children = folder.path / "expected" / "children.json"
    expected = json.loads(children.read_text()).get(event["name"], {}) if children.exists() else {}
    found = {
        bridge.name: [job.name for job in folder.child_plan(event, bridge).jobs]
        for bridge in folder.plan(event).jobs
        if bridge.trigger and bridge.trigger.include and not any("artifact" in item for item in bridge.trigger.include)
    }
    assert found == expected
