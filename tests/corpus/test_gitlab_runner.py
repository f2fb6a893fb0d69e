"""The configuration of GitLab Runner compiles to the plans that were looked through by hand."""

import json

import pytest

from tests.corpus.gitlab_runner import EVENTS, corpus, golden, plan_for, summary


@pytest.mark.parametrize("event", EVENTS)
def test_the_plan_is_the_golden_one(event: str) -> None:
    folder = corpus()
    if folder is None:
        pytest.skip("not run: no corpus")
    plan = plan_for(event, folder)
    assert summary(plan) == json.loads(golden(event).read_text())
    assert all(job.why.included for job in plan.jobs)
    assert not any(job.why.included for job in plan.absent)
