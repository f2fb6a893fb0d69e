"""Payloads of every job of the case corpus, read as strictly as GitLab Runner does."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.config.plan import JobPlan
from domain.errors import ConfigInvalid, Invalid, PipelineFiltered
from tests.api.runner.handing_out import handed_out, payload_of
from tests.cases.config import compiled
from tests.foreign.payload_shape import REQUIRED, faults

CORPUS = Path(__file__).parents[2] / "cases"
FILES = sorted([*CORPUS.glob("more/*.jsonl"), *CORPUS.glob("samples/*.jsonl")])


def jobs_of(path: Path) -> Iterator[tuple[str, JobPlan, dict[str, Any]]]:
    """Every job that a runner would get of every case that compiles."""
    for case in map(json.loads, filter(str.strip, path.read_text().splitlines())):
        try:
            plan = compiled(case)
        except (ConfigInvalid, PipelineFiltered):
            continue
        for job in plan.jobs:
            if job.trigger is None and (job.script or job.run):
                yield f"{case['name']}: {job.name}", job, case.get("variables") or {}


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_field_of_any_payload_has_a_wrong_type(path: Path) -> None:
    wrong: dict[str, list[str]] = {}
    built = 0
    for name, job, variables in jobs_of(path):
        try:
            payload = payload_of(handed_out(job, variables=variables))
        except Invalid:  # variables that run in circles: the job fails alone
            continue
        built += 1
        found = [*faults(payload), *(f"{field} is missing" for field in REQUIRED - payload.keys())]
        if found:
            wrong[name] = found
    assert wrong == {}
    assert built > 0


def test_all_kinds_of_files_are_there() -> None:
    assert {path.parent.name for path in FILES} == {"more", "samples"}
