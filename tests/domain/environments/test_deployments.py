"""Deployments that no job made: how they may go on."""

import pytest

from domain.environments.deployments import FOLLOWING, forbidden, sources_of
from domain.hooks.webhooks import DEPLOYMENT_STATUSES
from domain.pipelines.status import Status

ENDS = {Status.SUCCESS, Status.FAILED, Status.CANCELED}


def test_the_table_has_every_status_that_may_be_reported() -> None:
    assert {str(status) for status in FOLLOWING} == DEPLOYMENT_STATUSES
    assert {to for following in FOLLOWING.values() for to in following} == ENDS


def test_what_has_ended_never_runs_again_and_an_end_may_be_corrected() -> None:
    assert sources_of(Status.RUNNING) == frozenset()
    assert all(sources_of(end) == set(FOLLOWING) - {end} for end in ENDS)


@pytest.mark.parametrize(("to", "event"), [(Status.RUNNING, "run"), (Status.FAILED, "drop")])
def test_a_way_that_there_is_not_is_refused_in_gitlabs_words(to: Status, event: str) -> None:
    assert forbidden(to).faults == {"status": f'cannot transition via "{event}"'}
