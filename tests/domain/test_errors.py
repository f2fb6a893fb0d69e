"""Errors that carry more than words keep it, also on their way from another process."""

import pickle
from datetime import UTC, datetime

from domain.config.issue import ConfigIssue
from domain.errors import (
    ConfigInvalid,
    FieldsInvalid,
    JobNotRunning,
    OutOfOrder,
    PathTaken,
    PipelineFiltered,
    TooMany,
    Unavailable,
)
from tests.domain.config.short_texts import issues, plan


def test_errors_of_the_compiler_come_back_whole_from_another_process() -> None:
    found: tuple[ConfigIssue, ...] = issues("build: {script: 1, needs: [nobody]}")
    back = pickle.loads(pickle.dumps(ConfigInvalid(found)))
    assert back.issues == found
    assert str(back) == "; ".join(map(str, found))
    filtered = PipelineFiltered("No jobs.", "filtered_by_rules", plan("build: {script: x}"))
    back = pickle.loads(pickle.dumps(filtered))
    assert (str(back), back.reason, back.plan) == ("No jobs.", "filtered_by_rules", filtered.plan)
    back = pickle.loads(pickle.dumps(PathTaken(path="has already been taken")))
    assert (type(back), back.faults) == (PathTaken, {"path": "has already been taken"})


def test_they_say_what_their_caller_needs_to_go_on() -> None:
    assert FieldsInvalid(path="is taken", name="is missing").faults == {"path": "is taken", "name": "is missing"}
    assert str(FieldsInvalid(path="is taken", name="is missing")) == "path is taken, name is missing"
    assert JobNotRunning("over", "canceled").status == "canceled"
    late = OutOfOrder("late", 7, "running")
    assert (late.size, late.status) == (7, "running")
    assert Unavailable("away").retry_after == 5
    at = datetime(2026, 1, 2, tzinfo=UTC)
    many = TooMany("search", 10, 11, 3.5, at)
    assert (many.name, many.limit, many.observed, many.reset_in, many.resets_at) == ("search", 10, 11, 3.5, at)
