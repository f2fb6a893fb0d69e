"""What is told of merge requests."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from domain.merge_requests.news import News, changes, of_approval, of_withdrawal

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Row:
    """The columns that are compared."""

    title: str = "Draft: One"
    description: str = ""
    target_branch: str = "main"
    labels: list[str] = field(default_factory=list)
    assignee_ids: list[int] = field(default_factory=list)
    reviewer_ids: list[int] = field(default_factory=list)
    milestone_id: int | None = None
    state: str = "opened"
    updated_at: datetime = NOW


def test_only_what_differs_is_a_change() -> None:
    assert changes(Row(), Row()) == {}
    later = NOW + timedelta(seconds=1)
    after = replace(Row(), title="One", labels=["a"], milestone_id=3, assignee_ids=[7], updated_at=later)
    assert changes(Row(), after) == {
        "title": ["Draft: One", "One"],
        "draft": [True, False],
        "labels": [[], ["a"]],
        "milestone_id": [None, 3],
        "assignee_ids": [[], [7]],
        "updated_at": [NOW.isoformat(), later.isoformat()],
    }


def test_states_are_told_by_number() -> None:
    assert changes(replace(Row(), state="locked"), replace(Row(), state="merged")) == {"state_id": [4, 3]}


def test_approvals_count_until_there_are_enough() -> None:
    assert (of_approval(is_enough=False), of_approval(is_enough=True)) == (News.APPROVAL, News.APPROVED)
    assert (of_withdrawal(was_enough=False), of_withdrawal(was_enough=True)) == (News.UNAPPROVAL, News.UNAPPROVED)
