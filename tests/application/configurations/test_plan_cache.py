"""Plans that are kept for the next pipeline of the same event."""

from dataclasses import replace
from typing import Any

from application.configurations.plan_cache import MAX_EVENTS, MAX_JOBS, Event, PlanCache, is_lasting
from domain.config.plan import JobPlan, Plan
from models.repositories.pipelines.pipelines import PipelineRequest
from models.rows.projects import ProjectRow
from tests.compiling import plan_of
from tests.made_rows import made

PROJECT = made(
    ProjectRow,
    id=1,
    full_path="g/p",
    name="p",
    default_branch="main",
    visibility="private",
    namespace_id=1,
    languages=["python"],
)
REQUEST = PipelineRequest(1, 1, "main", "5" * 40, "push")


def test_the_same_event_is_known_and_another_is_not() -> None:
    cache = PlanCache()
    known = ({"title": "x"}, plan_of("a: {script: x}"), "repository_source")
    cache.put(Event.of(REQUEST, PROJECT), known)
    assert cache.get(Event.of(replace(REQUEST, commit={"title": "read anew"}), PROJECT)) is known
    others = (
        replace(REQUEST, sha="6" * 40),
        replace(REQUEST, before_sha="6" * 40),
        replace(REQUEST, source="api"),
        replace(REQUEST, ref="other"),
        replace(REQUEST, tag=True),
        replace(REQUEST, user_id=2),
        replace(REQUEST, variables=({"key": "A", "value": "1"},)),
        replace(REQUEST, inputs={"a": 1}),
        replace(REQUEST, origin={"trigger_token": "abcd"}),
    )
    assert [cache.get(Event.of(other, PROJECT)) for other in others] == [None] * len(others)
    changes: tuple[dict[str, Any], ...] = (
        {"full_path": "g/q"},
        {"config_path": "ci.yml"},
        {"auto_devops_enabled": True},
        {"description": "x"},
        {"namespace_id": 2},
        {"languages": ["python", "shell"]},
    )
    for changed in changes:
        assert cache.get(Event.of(REQUEST, replace(PROJECT, **changed))) is None


def test_a_plan_that_may_be_another_one_next_time_does_not_last() -> None:
    assert is_lasting(plan_of("a: {script: x, rules: [{if: $A}, {when: always}]}"))
    assert not is_lasting(plan_of("a: {script: x, rules: [{if: $CI_PIPELINE_IID}]}"))
    assert not is_lasting(plan_of("a: {script: x, rules: [{changes: {paths: [a], compare_to: other}}]}"))


def test_only_so_many_and_no_large_ones_are_kept() -> None:
    cache = PlanCache()
    small = Plan(("test",), ())
    events = [Event.of(replace(REQUEST, ref=f"r{number}"), PROJECT) for number in range(MAX_EVENTS + 1)]
    for event in events:
        cache.put(event, ({}, small, ""))
    assert cache.get(events[0]) is None
    assert cache.get(events[-1]) is not None
    large = Plan(("test",), (JobPlan("a", "test", ("x",)),) * (MAX_JOBS + 1))
    cache.put(events[0], ({}, large, ""))
    assert cache.get(events[0]) is None
    payload = replace(REQUEST, variables=({"key": "TRIGGER_PAYLOAD", "value": "x" * 20_001},))
    cache.put(Event.of(payload, PROJECT), ({}, small, ""))
    assert cache.get(Event.of(payload, PROJECT)) is None
