"""Accounts, groups, members and access tokens."""

from typing import Any

from gitlab.const import AccessLevel

from tests.routed import ADMINISTRATOR


def people_of(gl: Any) -> Any:
    """Accounts and their tokens; gives back somebody."""
    gl.auth()
    assert gl.user is not None
    assert gl.user.username == ADMINISTRATOR
    assert gl.version()[0].count(".") == 2
    assert gl.http_get("/metadata")["version"] == gl.version()[0]
    user = gl.users.create({"username": "ada", "name": "Ada", "email": "ada@example.com", "password": "correct-horse"})
    assert gl.users.get(user.id).username == "ada"
    assert [item.username for item in gl.users.list(username="ada")] == ["ada"]
    user.name = "Ada L."
    user.save()
    user.block()
    assert gl.users.get(user.id).state == "blocked"
    user.unblock()
    assert gl.users.get(user.id).name == "Ada L."
    assert user.events.list() == []
    token = user.personal_access_tokens.create({"name": "t", "scopes": ["read_api"]})
    assert gl.personal_access_tokens.get(token.id).scopes == ["read_api"]
    assert len(gl.personal_access_tokens.list(user_id=user.id)) == 1
    before = token.token
    token = gl.personal_access_tokens.get(token.id)
    token.rotate()
    assert token.token != before
    gl.personal_access_tokens.delete(token.id)
    assert gl.personal_access_tokens.get("self").user_id == gl.user.id
    return user


def groups_of(gl: Any, user: Any) -> Any:
    """Groups, their members, variables and tokens; gives back the group."""
    group = gl.groups.create({"name": "Calls", "path": "calls"})
    team = gl.groups.create({"name": "Team", "path": "team", "parent_id": group.id})
    assert [item.full_path for item in group.subgroups.list()] == ["calls/team"]
    assert [item.full_path for item in group.descendant_groups.list()] == ["calls/team"]
    team.description = "those who call"
    team.save()
    assert gl.groups.get("calls/team").description == "those who call"
    assert {"calls", "calls/team"} <= {item.full_path for item in gl.groups.list(get_all=True)}
    team.delete()
    member = group.members.create({"user_id": user.id, "access_level": AccessLevel.DEVELOPER})
    member.access_level = AccessLevel.MAINTAINER
    member.save()
    assert group.members.get(user.id).access_level == AccessLevel.MAINTAINER
    assert {item.username for item in group.members_all.list()} == {ADMINISTRATOR, "ada"}
    assert {item.username for item in group.members.list()} == {ADMINISTRATOR, "ada"}
    member.delete()
    variable = group.variables.create({"key": "SHARED", "value": "group"})
    variable.value = "new"
    variable.save()
    assert group.variables.get("SHARED").value == "new"
    assert [item.key for item in group.variables.list()] == ["SHARED"]
    variable.delete()
    bot = group.access_tokens.create({"name": "g", "scopes": ["read_api"], "access_level": AccessLevel.REPORTER})
    assert [item.id for item in group.access_tokens.list()] == [bot.id]
    assert group.access_tokens.get(bot.id).scopes == ["read_api"]
    bot.rotate()
    group.access_tokens.delete(bot.id)
    deploy_tokens_of(group)
    assert {item.kind for item in gl.namespaces.list(get_all=True)} <= {"group", "user"}
    assert gl.namespaces.get("calls").full_path == "calls"
    assert group.runners.list() == []
    assert "member_added" in {item.event_name for item in group.audit_events.list(get_all=True)}
    return group


def project_of(gl: Any, group: Any, user: Any) -> Any:
    """A project and its members; gives it back."""
    project = gl.projects.create({"name": "app", "namespace_id": group.id, "default_branch": "main"})
    assert gl.projects.get("calls/app").id == project.id
    assert project.id in {item.id for item in gl.projects.list(owned=True, iterator=True)}
    assert [item.id for item in group.projects.list()] == [project.id]
    project.description = "an app"
    project.save()
    member = project.members.create({"user_id": user.id, "access_level": AccessLevel.OWNER})
    member.access_level = AccessLevel.MAINTAINER
    member.save()
    assert project.members.get(user.id).access_level == AccessLevel.MAINTAINER
    assert [item.username for item in project.members.list()] == [ADMINISTRATOR, "ada"]
    assert {item.username for item in project.members_all.list()} == {ADMINISTRATOR, "ada"}
    assert project.members_all.get(user.id).access_level == AccessLevel.MAINTAINER
    project.members.delete(user.id)
    deploy_tokens_of(project)
    assert gl.deploytokens.list(active=True) == []
    return project


def deploy_tokens_of(holder: Any) -> None:
    """Deploy tokens of a project or of a group."""
    token = holder.deploytokens.create({"name": "deployer", "scopes": ["read_repository"]})
    assert holder.deploytokens.get(token.id).username == token.username
    assert [item.id for item in holder.deploytokens.list()] == [token.id]
    token.delete()
