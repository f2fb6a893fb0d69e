"""Every example configuration compiles, for every event, to the plan that was worked out by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from domain.config.plan import JobPlan, Plan
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


WARNED: Final[Mapping[str, list[str]]] = {
    "monorepo": ["include config contains `ref`"],
    "data-platform": ["default:timeout holds"],
    "mobile-app": ["default:timeout holds"],
    "toolchain": ["the YAML tag !bash", "its matrix has no combination", "`tags` is written twice", "default:timeout holds"],
    "release-train": [],
}


@pytest.mark.parametrize("name", WARNED)
def test_what_gitlab_passes_over_is_warned_of(name: str) -> None:
    folder = ConfigurationFolder(CONFIGS / name)
    for event in folder.events:
        plan = folder.plan(event)
        messages = [warning.message for warning in plan.warnings]
        expected = WARNED[name] + ["hosts no pages yet"] * any(job.pages for job in plan.jobs)
        assert [gist for gist in expected for message in messages if gist in message] == expected
        assert len(messages) == len(expected)


def _paths(job: JobPlan) -> list[tuple[str, ...]]:
    return [cache.paths for cache in job.cache]


READ: Final = [
    ("monorepo", "push-main", "search flow", _paths, [(".cache/go-build/", ".cache/mod/"), (".npm/",), (".cache/images/",)]),
    ("monorepo", "push-main", "search flow", lambda job: [one.image.name for one in job.services], ["docker:29-dind", "redis:9"]),
    ("monorepo", "push-main", "expire old images", lambda job: job.start_in, 604_800),
    ("data-platform", "schedule", "publish catalog", lambda job: job.variables["LOAD_WINDOW"].value, "19800"),
    ("data-platform", "schedule", "publish catalog", lambda job: job.variables["BATCH_ROWS"].value, "10000"),
    ("data-platform", "schedule", "publish catalog", lambda job: job.environment.deployment_tier, "$TIER"),
    ("data-platform", "schedule", "model tests", lambda job: (job.timeout, job.coverage[-2:]), (5_400, "/i")),
    ("data-platform", "api-backfill", "backfill: [tickets]", lambda job: job.retry.max, 1),
    ("data-platform", "api-backfill", "report to the caller", lambda job: job.foreign_needs[0].optional, True),
    ("mobile-app", "tag", "tell on the site", lambda job: (job.trigger.project, job.start_in), ("heron/website", 345_600)),
    ("mobile-app", "tag", "screenshots: [tablet, pt]", lambda job: (job.node_total, job.timeout), (None, 5_400)),
    ("mobile-app", "tag", "screenshots: [phone, fi]", lambda job: job.node_total, 7),
    ("mobile-app", "tag", "pages", lambda job: job.pages.expire_in, "$KEEP"),
    ("toolchain", "nightly", "baseline", lambda job: job.variables["STACK_KIBIBYTES"].value, "65536"),
    ("toolchain", "nightly", "backend 4/4", lambda job: (job.tags, job.node_index), (("bare-metal",), None)),
    ("toolchain", "nightly", "boards report", lambda job: job.tags, ("small",)),
    ("release-train", "final-tag", "quiet night", lambda job: (job.script, job.start_in), (("",), 28_800)),
    ("release-train", "final-tag", "retire", lambda job: len(job.cache[0].key.files), 4),
]


@pytest.mark.parametrize(("name", "event", "job", "look", "expected"), READ)
def test_a_form_is_read_as_gitlab_reads_it(name: str, event: str, job: str, look: Any, expected: Any) -> None:
    folder = ConfigurationFolder(CONFIGS / name)
    plan = folder.plan(next(one for one in folder.events if one["name"] == event))
    assert look(next(one for one in plan.jobs if one.name == job)) == expected
