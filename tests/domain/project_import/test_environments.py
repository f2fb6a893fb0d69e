"""Environments of a project that is imported."""

from typing import Any

import pytest

from domain.project_import.environments import needs_detail, plan


def gitlab(name: str = "review/a", **more: Any) -> dict[str, Any]:
    """An environment as GitLab shows it."""
    return {
        "id": 1,
        "name": name,
        "slug": "review-a-x1",
        "external_url": "https://a.example.com",
        "state": "available",
        "tier": "development",
        "auto_stop_at": None,
        "cluster_agent": None,
        **more,
    }


def test_a_missing_one_is_made() -> None:
    (item,) = plan([gitlab()], []).items
    assert [(call.method, call.route, call.body) for call in item.calls] == [
        (
            "POST",
            "/environments",
            {"name": "review/a", "external_url": "https://a.example.com", "tier": "development"},
        )
    ]


def test_one_that_is_stopped_is_made_and_stopped_without_its_job() -> None:
    (item,) = plan([gitlab(state="stopped", tier=None)], []).items
    assert [(call.route, call.body) for call in item.calls] == [
        ("/environments", {"name": "review/a", "external_url": "https://a.example.com"}),
        ("/environments/{id}/stop", {"force": True}),
    ]


def test_one_that_is_here_is_changed_where_it_differs() -> None:
    (item,) = plan([gitlab(external_url=None)], [gitlab(id=9)]).items
    assert [(call.method, call.route, call.body) for call in item.calls] == [
        ("PUT", "/environments/9", {"external_url": ""})
    ]
    assert plan([gitlab(external_url=None)], [gitlab(id=9, external_url=None)]).items[0].calls == ()


@pytest.mark.parametrize(
    ("here", "stops"),
    [
        ({"last_deployment": None}, True),
        ({"last_deployment": {"id": 3}}, False),
        ({"state": "stopped"}, False),
    ],
)
def test_what_was_deployed_from_here_is_never_stopped(here: dict[str, Any], stops: bool) -> None:
    (item,) = plan([gitlab(state="stopped")], [gitlab(id=9, **here)]).items
    assert [call.route for call in item.calls] == (["/environments/9/stop"] if stops else [])


def test_only_those_that_could_be_stopped_are_looked_at_closely() -> None:
    source = [gitlab("a", state="stopped"), gitlab("b"), gitlab("c", state="stopping"), gitlab("d", state="stopped")]
    here = [
        gitlab("a", id=1),
        gitlab("b", id=2),
        gitlab("c", id=3),
        gitlab("d", id=4, state="stopped"),
        gitlab("e", id=5),
    ]
    assert needs_detail(source, here) == [1, 3]


def test_what_is_lost_is_told() -> None:
    source = gitlab(auto_stop_at="2026-06-03T18:55:13.252Z", kubernetes_namespace="flux-system")
    assert [one.kind for one in plan([source], []).not_carried] == ["environment", "environment"]
    assert plan([gitlab(auto_stop_at="2026-06-03T18:55:13.252Z", state="stopped")], []).not_carried == ()
