"""The generated configurations are what they say."""

from typing import Any

import pytest
import yaml

from bench.gen_ci_yaml import mixed, trivial
from tests.compiling import plan_of


@pytest.mark.parametrize("size", [10, 11, 250])
def test_a_trivial_configuration_has_its_jobs_in_two_stages(size: int) -> None:
    plan = plan_of(trivial(size))
    assert len(plan.jobs) == size
    assert plan.stages == ("one", "two")
    assert sum(job.stage == "one" for job in plan.jobs) == size // 2


@pytest.mark.parametrize("size", [10, 37])
def test_a_mixed_configuration_has_its_jobs_after_expansion(size: int) -> None:
    document = yaml.safe_load(mixed(size))
    jobs = [job for name, job in document.items() if isinstance(job, dict) and "script" in job | _base(document, job)]
    visible = [job for job in jobs if job not in [document[name] for name in (".build", ".test")]]
    assert sum(2 if "parallel" in job else 1 for job in visible) == size


def _base(document: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    names = job.get("extends", [])
    return {
        key: value for name in ([names] if isinstance(names, str) else names) for key, value in document[name].items()
    }
