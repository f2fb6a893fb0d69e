"""The simulation is judged by the scenario files, then it judges the product by random pipelines.

A longer run: `python -m tests.oracle domain|workflows --count N --seed S`.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from domain.pipelines.decisions import Turn, decide
from tests.cases import processing
from tests.oracle.case import Case, Fault
from tests.oracle.domain_engine import DomainProject
from tests.oracle.events import Event
from tests.oracle.generate import case_of
from tests.oracle.passes import settle
from tests.oracle.runs import Report, run
from tests.oracle.scenarios import all_faults
from tests.oracle.seen import seen_of
from tests.oracle.shrink import shrunk
from tests.oracle.simulation import happen
from tests.oracle.trial import Project, trial
from tests.oracle.world import ROOT

CASES = Path(__file__).parents[1] / "cases"
FOLDERS = ("samples/processing", "samples/truth", "more/processing")


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_simulation_passes_every_scenario(folder: str) -> None:
    assert all_faults(processing.scenarios_in(CASES / folder)) == {}


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 300), marks=pytest.mark.slow)], ids=str)
async def test_300_random_pipelines_go_by_the_domain_as_they_go_in_gitlab(seeds: range) -> None:
    """Takes about 8 s of CPU: of the first 1,000 of these pipelines 448 showed what 160 scenarios had not."""
    report = await run("domain", map(str, seeds))
    _expect_agreement(report, len(seeds))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("database", "seeds"),
    [
        ("sqlite", range(25)),
        ("postgresql", range(100, 110)),
        pytest.param("sqlite", range(25, 100), marks=pytest.mark.nightly),
        pytest.param("postgresql", range(110, 200), marks=pytest.mark.nightly),
    ],
    ids=str,
)
async def test_200_random_pipelines_go_by_workflows_and_sql_as_they_go_in_gitlab(database: str, seeds: range) -> None:
    """Takes minutes: a real workflow for each pipeline, and rest after each of ten moments. A push takes 35 of them."""
    report = await run("workflows", map(str, seeds), postgresql=database == "postgresql")
    _expect_agreement(report, len(seeds))


def _expect_agreement(report: Report, cases: int) -> None:
    assert report.cases == cases
    assert report.moments > 3 * cases  # things do happen
    assert not report.faults, "\n".join(map(str, report.faults))


async def test_a_defect_is_found_and_shrunk_to_what_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(*given: Any, **named: Any) -> Turn:
        """A product with a defect: nothing of what follows from a cancel is recorded."""
        turn = decide(*given, **named)
        return turn if turn.decision is None else replace(turn, decision=replace(turn.decision, cancel=()))

    async def open_project(case: Case) -> Project:
        return DomainProject(case.config, case.files, case.modes)

    monkeypatch.setattr("tests.stored.workflow.decide", forgetful)

    async def first_fault() -> Fault:
        for seed in range(100):
            if fault := await trial(case_of(str(seed)), open_project):
                return fault
        raise AssertionError("no seed shows the defect")

    found = await first_fault()
    small = await shrunk(found, open_project)
    assert small.kind() == found.kind()
    assert len(small.case.moments) <= 2
    assert len(small.case.config) <= 3
    assert f"seed-{found.case.seed}" in str(small)


def test_a_bridge_may_be_canceled_between_its_child_and_what_the_child_makes() -> None:
    script = {"script": ["true"]}
    bridge = {"trigger": {"include": "deepest.yml", "strategy": "depend"}}
    files = {"child.yml": {"a1": bridge, "d1": {**script, "when": "on_failure"}}, "deepest.yml": {"a2": script}}
    config = {"c": {"trigger": {"include": "child.yml", "strategy": "depend"}, "when": "manual"}}
    (world,) = settle(Case(config, files=files).world())
    seen = [seen_of(end) for end, _ in happen(world, [Event("play", "c"), Event("cancel", "c")])]
    canceled = [runs for runs in seen if runs[ROOT].jobs["c"].status == "canceled"]
    alone, child, deepest = ({ROOT}, {ROOT, "root/c#1"}, {ROOT, "root/c#1", "root/c#1/a1#1"})
    assert {(frozenset(runs), runs["root/c#1"].jobs["d1"].status if len(runs) > 1 else "") for runs in canceled} == {
        (frozenset(alone), ""),
        (frozenset(child), "canceled"),  # before its first pass
        (frozenset(child), "skipped"),  # after it, while its bridge has made nothing
        (frozenset(deepest), "skipped"),
    }
    assert {run.pipeline for runs in canceled for name, run in runs.items() if name != ROOT} == {"canceled"}


def test_a_pipeline_may_be_canceled_when_some_of_its_bridges_have_made_their_children() -> None:
    script = {"script": ["true"]}
    bridge = {"trigger": {"include": "child.yml"}, "needs": ["a"]}
    case = Case({"a": script, "c": bridge, "d": bridge}, files={"child.yml": {"a1": script}})
    ((running, _),) = happen(settle(case.world())[0], [Event("run", "a")])
    ends = happen(running, [Event("success", "a"), Event("cancel_pipeline", "")])
    assert {frozenset(end.runs) for end, _ in ends} == {
        frozenset(some) for some in ({ROOT}, {ROOT, "root/c#1"}, {ROOT, "root/d#1"}, {ROOT, "root/c#1", "root/d#1"})
    }


def test_a_bridge_may_fail_between_the_cancel_of_the_pipeline_above_it_and_its_own() -> None:
    files = {
        "child.yml": {"a1": {"trigger": {"include": "deepest.yml", "strategy": "mirror"}}},
        "deepest.yml": {"a2": {"script": ["true"]}},
    }
    (world,) = settle(Case({"c": {"trigger": {"include": "child.yml", "strategy": "depend"}}}, files=files).world())
    (running, _), *_ = happen(world, [Event("run", "a2", "root/c#1/a1#1")])
    ends = happen(running, [Event("drop", "a2", "root/c#1/a1#1"), Event("cancel_pipeline", "")])
    found = {
        (seen[ROOT].jobs["c"].status, seen["root/c#1"].jobs["a1"].status) for seen in (seen_of(w) for w, _ in ends)
    }
    assert found == {("canceled", "canceled"), ("canceled", "failed"), ("failed", "failed")}
