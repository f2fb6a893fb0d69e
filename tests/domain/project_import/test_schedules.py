"""Pipeline schedules of a project that is imported."""

from typing import Any

import pytest

from domain.project_import.schedules import Around, Schedules, plan

REFS = frozenset({"refs/heads/main", "refs/heads/v1", "refs/tags/v1", "refs/tags/v2"})
AROUND = Around(REFS, "ada")
VARIABLE = {"key": "DEEP", "variable_type": "env_var", "value": "yes", "raw": False}


def gitlab(**more: Any) -> dict[str, Any]:
    """A schedule as GitLab shows it."""
    return {
        "id": 13,
        "description": "nightly",
        "ref": "refs/heads/main",
        "cron": "0 4 * * *",
        "cron_timezone": "Pacific Time (US & Canada)",
        "next_run_at": "2026-05-19T13:41:00.000Z",
        "active": False,
        "owner": {"id": 50, "username": "ada", "name": "Ada"},
        "last_pipeline": {"id": 332, "status": "pending"},
        "variables": [VARIABLE],
        "inputs": [],
        **more,
    }


def calls(found: Schedules) -> list[tuple[str, str, Any]]:
    """What is done, without the starts."""
    return [(call.method, call.route, dict(call.body)) for item in found.plan.items for call in item.calls]


def test_one_is_made_paused_then_gets_its_variables() -> None:
    found = plan([gitlab(active=True, inputs=[{"name": "size", "value": [1, 2]}])], [], AROUND)
    assert calls(found) == [
        (
            "POST",
            "/pipeline_schedules",
            {
                "description": "nightly",
                "ref": "refs/heads/main",
                "cron": "0 4 * * *",
                "cron_timezone": "Pacific Time (US & Canada)",
                "active": False,
                "inputs": [{"name": "size", "value": [1, 2]}],
            },
        ),
        ("POST", "/pipeline_schedules/{id}/variables", VARIABLE),
    ]
    assert found.starts == {}
    assert "activate-schedules" in found.plan.items[0].then[0].advice


def test_one_that_runs_at_the_source_is_started_if_that_is_asked_for() -> None:
    asked = Around(REFS, "ada", activate=True)
    found = plan([gitlab(description="off"), gitlab(active=True)], [], asked)
    (number,) = found.starts
    assert found.plan.items[number].name == "nightly"
    assert [(call.route, call.body) for call in found.starts[number].calls] == [
        ("/pipeline_schedules/{id}", {"active": True})
    ]
    assert [item.then for item in found.plan.items] == [(), ()]


def test_one_that_is_here_is_left_alone() -> None:
    here = gitlab(id=2, cron=" 0 4 * * * ", next_run_at=None)
    found = plan([gitlab(ref="main")], [here], AROUND)
    assert (calls(found), found.starts, found.plan.not_carried) == ([], {}, ())


def test_one_that_was_cut_off_gets_the_rest() -> None:
    here = gitlab(id=2, variables=[])
    source = gitlab(active=True)
    assert calls(plan([source], [here], AROUND)) == [("POST", "/pipeline_schedules/2/variables", VARIABLE)]
    asked = plan([source], [gitlab(id=2)], Around(REFS, "ada", activate=True))
    assert calls(asked) == []
    assert asked.starts[0].calls[0].route == "/pipeline_schedules/2"


def test_one_that_runs_here_is_paused_while_it_changes() -> None:
    here = gitlab(
        id=2, active=True, cron_timezone="UTC", variables=[{**VARIABLE, "value": "no"}, {**VARIABLE, "key": "OWN"}]
    )
    found = plan([gitlab(active=True)], [here], AROUND)
    assert calls(found) == [
        ("PUT", "/pipeline_schedules/2", {"active": False}),
        ("PUT", "/pipeline_schedules/2", {"cron_timezone": "Pacific Time (US & Canada)"}),
        ("PUT", "/pipeline_schedules/2/variables/DEEP", {"value": "yes", "variable_type": "env_var", "raw": False}),
        ("PUT", "/pipeline_schedules/2", {"active": True}),
    ]
    assert "paused" in found.plan.items[0].if_refused
    assert (found.starts, found.plan.items[0].then) == ({}, ())


def test_one_that_runs_here_and_not_at_the_source_is_not_stopped() -> None:
    assert calls(plan([gitlab()], [gitlab(id=2, active=True)], AROUND)) == []


def test_two_that_are_alike_stay_two() -> None:
    found = plan([gitlab(), gitlab(id=14)], [gitlab(id=2)], AROUND)
    assert [item.outcome for item in found.plan.items] == ["unchanged", "created"]


@pytest.mark.parametrize("other", [{"cron": "0 5 * * *"}, {"ref": "refs/tags/v2"}, {"description": "weekly"}])
def test_description_ref_and_cron_tell_them_apart(other: dict[str, Any]) -> None:
    assert plan([gitlab()], [gitlab(**other)], AROUND).plan.items[0].outcome == "created"


@pytest.mark.parametrize(
    ("ref", "full"), [("v1", "refs/heads/v1"), ("v2", "refs/tags/v2"), ("refs/tags/v1", "refs/tags/v1")]
)
def test_a_short_name_is_of_a_branch_if_there_is_one(ref: str, full: str) -> None:
    assert calls(plan([gitlab(ref=ref)], [], AROUND))[0][2]["ref"] == full


def test_one_whose_branch_is_gone_stays_behind() -> None:
    found = plan([gitlab(ref="refs/heads/gone")], [], AROUND)
    assert (found.plan.items, found.plan.not_carried[0].failed) == ((), False)
    assert "gone" in found.plan.not_carried[0].reason


def test_variables_that_are_not_shown_are_a_failure() -> None:
    source = gitlab()
    del source["variables"]
    found = plan([source], [], AROUND)
    assert [one.failed for one in found.plan.not_carried] == [True]


def test_that_somebody_else_owns_it_is_told() -> None:
    ((left,),) = (item.then for item in plan([gitlab(owner={"username": "bob"})], [], AROUND).plan.items)
    assert (left.kind, "bob" in left.reason) == ("schedule_owner", True)


def test_inputs_that_differ_are_changed_and_our_own_policies_are_kept() -> None:
    here = gitlab(
        id=2, inputs=[{"name": "a", "value": 1}, {"name": "b", "value": 2}], catch_up="none", overlap_policy=None
    )
    source = gitlab(inputs=[{"name": "a", "value": 1}, {"name": "b", "value": 3}], catch_up="latest")
    (call,) = calls(plan([source], [here], AROUND))
    assert call == ("PUT", "/pipeline_schedules/2", {"catch_up": "latest", "inputs": [{"name": "b", "value": 3}]})
