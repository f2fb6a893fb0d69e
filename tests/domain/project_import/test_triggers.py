"""Trigger tokens of a project that is imported."""

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.project_import.triggers import plan

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def gitlab(description: str | None = "deploy", **more: Any) -> dict[str, Any]:
    """A trigger as GitLab shows it."""
    return {"id": 10, "description": description, "token": "6d05", "last_used": None, "owner": None, **more}


def test_one_is_made_and_its_other_token_told() -> None:
    made = plan([gitlab()], [], NOW)
    assert [(call.route, call.body) for call in made.items[0].calls] == [("/triggers", {"description": "deploy"})]
    (left,) = made.items[0].then
    assert (left.kind, left.name, left.failed) == ("trigger_token", "deploy", False)


def test_one_that_is_here_keeps_its_token() -> None:
    made = plan([gitlab(), gitlab()], [gitlab(id=4)], NOW)
    assert [item.outcome for item in made.items] == ["unchanged", "created"]
    assert "perdure trigger delete 4" in made.items[0].then[0].advice


@pytest.mark.parametrize("ends", ["2026-06-01T00:00:00.000Z", "2026-05-01T00:00:00", "2026-06-01"])
def test_one_that_has_expired_stays_behind(ends: str) -> None:
    made = plan([gitlab(expires_at=ends)], [], NOW)
    assert (made.items, "expired" in made.not_carried[0].reason) == ((), True)


def test_its_end_is_carried() -> None:
    made = plan([gitlab(None, expires_at="2026-06-01T00:00:01Z")], [], NOW)
    assert made.items[0].calls[0].body == {"description": "", "expires_at": "2026-06-01T00:00:01Z"}
