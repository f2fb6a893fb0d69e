"""Projects that are shared, starred and moved, what administrators see of people and of the installation."""

from typing import Any

from gitlab.const import AccessLevel


def sharing_of(gl: Any, group: Any) -> None:
    """A project that is shared, starred and moved to another group, which is removed with it."""
    team = gl.groups.create({"name": "Movers", "path": "movers", "parent_id": group.id})
    project = gl.projects.create({"name": "moving", "namespace_id": group.id})
    project.share(team.id, AccessLevel.REPORTER)
    assert [item["group_id"] for item in gl.projects.get(project.id).shared_with_groups] == [team.id]
    assert project.id in {item.id for item in team.projects.list()}
    assert team.id in {item.id for item in project.groups.list(with_shared=True, shared_visible_only=False)}
    project.unshare(team.id)
    project.star()
    assert gl.projects.get(project.id).star_count == 1
    assert project.id in {item.id for item in gl.users.get(gl.user.id).starred_projects.list()}
    project.unstar()
    assert gl.user.username in {item.username for item in project.users.list()}
    assert project.languages() == {}
    project.transfer(team.id)
    assert gl.projects.get("calls/movers/moving").id == project.id
    second = gl.projects.create({"name": "second", "namespace_id": group.id})
    team.transfer_project(second.id)
    assert gl.projects.get(second.id).path_with_namespace == "calls/movers/second"
    team.delete()


def administration_of(gl: Any, user: Any) -> None:
    """Impersonation, memberships, and what is set and counted for all."""
    token = user.impersonationtokens.create({"name": "as", "scopes": ["read_api"]})
    assert user.impersonationtokens.get(token.id).name == "as"
    assert token.id in {item.id for item in user.impersonationtokens.list(state="active")}
    token.delete()
    assert user.memberships.list() == []
    assert user.projects.list() == []
    assert gl.users.get(user.id).namespace_id is None
    assert "<strong>loud</strong>" in gl.markdown("**loud**")
    assert gl.settings.get().max_artifacts_size > 0
    assert gl.features.list() == []
    assert int(gl.statistics.get().users) >= 1
