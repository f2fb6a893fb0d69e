"""What this version cannot run is refused before a pipeline is made."""

from typing import Any

import pytest

from application.pipelines.unsupported_keywords import HAS, refuse_what_cannot_run
from domain.config.keyword_states import REFUSED
from domain.config.plan import (
    Artifacts,
    AutoCancel,
    Environment,
    ForeignNeed,
    JobPlan,
    Need,
    Pages,
    Plan,
    Trigger,
)
from domain.errors import ConfigInvalid

REFUSED_FIELDS: dict[str, dict[str, Any]] = {
    "dast_configuration": {"dast_configuration": {"site_profile": "x"}},
    "identity": {"identity": "google_cloud"},
}
CARRIED_FIELDS: dict[str, Any] = {
    "run": ({"name": "hello", "script": "echo"},),
    "secrets": {"PASSWORD": {"vault": "x"}},
    "id_tokens": {"TOKEN": ("https://example.com",)},
    "needs": (Need("a"),),
    "trigger": Trigger(project="group/other"),
    "foreign_needs": (ForeignNeed(job="a", pipeline="$UPSTREAM"), ForeignNeed(job="a", project="g/app", ref="main")),
    "release": {"tag_name": "v1", "description": "one"},
    "environment": Environment("production"),
    "artifacts": Artifacts(paths=("a",), reports={"dotenv": ("a.env",)}, access="developer"),
    "pages": Pages(),
    "resource_group": "production",
    "interruptible": True,
    "inputs": {"level": {"default": "1"}},
    "coverage": "/x/",
    "manual_confirmation": "Sure?",
}


def plan_of(*jobs: JobPlan) -> Plan:
    return Plan(stages=("test",), jobs=jobs, auto_cancel=AutoCancel("interruptible", "all"))


def job(name: str = "deploy", **fields: Any) -> JobPlan:
    return JobPlan(name=name, stage="test", script=("true",), **fields)


def test_the_table_is_that_of_the_refused_keywords() -> None:
    assert set(HAS) == set(REFUSED_FIELDS) == set(REFUSED)


@pytest.mark.parametrize("keyword", REFUSED_FIELDS)
def test_each_refused_keyword_is_named_with_its_job(keyword: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        refuse_what_cannot_run(plan_of(job("plain"), job(**REFUSED_FIELDS[keyword])))
    (issue,) = caught.value.issues
    assert issue.path == f"jobs:deploy:{keyword}"
    assert issue.message == f"deploy job: {keyword} is valid, but this version of Perdure cannot run it yet"


def test_all_of_them_are_told_at_once() -> None:
    with pytest.raises(ConfigInvalid) as caught:
        refuse_what_cannot_run(plan_of(job("one", identity="google_cloud"), job("two", identity="google_cloud")))
    assert [issue.path for issue in caught.value.issues] == ["jobs:one:identity", "jobs:two:identity"]


def test_a_parallel_job_is_one_job() -> None:
    instances = [job(f"deploy {index}/3", identity="x", node_index=index, node_total=3) for index in (1, 2, 3)]
    with pytest.raises(ConfigInvalid) as caught:
        refuse_what_cannot_run(plan_of(*instances, job("deploy 1/9", identity="x")))
    assert [issue.path for issue in caught.value.issues] == [
        "jobs:deploy:identity",
        "jobs:deploy 1/9:identity",
    ]


def test_everything_else_passes() -> None:
    refuse_what_cannot_run(plan_of(job(**CARRIED_FIELDS), job("plain")))
