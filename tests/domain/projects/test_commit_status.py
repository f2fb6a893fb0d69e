"""States of what others report: from one that has ended nothing follows, from `running` not `pending`."""

import pytest

from domain.projects.commit_status import ENDED, State, why_not

GOES = {(State.PENDING, after) for after in State} | {(State.RUNNING, after) for after in {State.RUNNING, *ENDED}}


@pytest.mark.parametrize("before", State)
@pytest.mark.parametrize("after", State)
def test_which_may_follow_which(before: State, after: State) -> None:
    assert (why_not(before, after) == "") == ((before, after) in GOES)


def test_what_cannot_follow_is_told_in_gitlabs_words() -> None:
    assert why_not(State.SUCCESS, State.FAILED) == (
        'Cannot transition status via :drop from :success (Reason(s): Status cannot transition via "drop")'
    )
