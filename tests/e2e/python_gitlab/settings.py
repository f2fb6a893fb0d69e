"""What is set for a project, a group and the installation: variables, protected refs, webhooks, triggers, mirrors."""

from datetime import date, timedelta
from typing import Any

from gitlab.const import AccessLevel


def settings_of(project: Any) -> None:
    """Variables, tokens, protected refs, audit events."""
    variable = project.variables.create({"key": "SECRET", "value": "correct-horse", "masked": True, "protected": True})
    variable.value = "battery-staple"
    variable.save()
    assert project.variables.get("SECRET").value == "battery-staple"
    project.variables.create({"key": "SECRET", "value": "for-live-only", "environment_scope": "live"})
    scoped = project.variables.get("SECRET", filter={"environment_scope": "live"})
    assert scoped.value == "for-live-only"
    assert len(project.variables.list()) == 2
    project.variables.delete("SECRET", filter={"environment_scope": "live"})

    ends = (date.today() + timedelta(days=30)).isoformat()  # noqa: DTZ011  # a day, not a moment
    bot = project.access_tokens.create({"name": "b", "scopes": ["api"], "expires_at": ends})
    assert project.access_tokens.get(bot.id).expires_at == ends
    before = bot.token
    bot.rotate()
    assert bot.token != before
    for token in project.access_tokens.list(iterator=True):
        token.delete()
    protected = project.protectedbranches.create({"name": "release/*", "push_access_level": 0})
    assert protected.push_access_levels[0]["access_level"] == 0
    assert {item.name for item in project.protectedbranches.list()} == {"main", "release/*"}
    protected.allow_force_push = True
    protected.save()
    assert project.protectedbranches.get("release/*").allow_force_push
    project.protectedbranches.delete("release/*")
    project.protectedtags.create({"name": "v*"})
    assert [item.name for item in project.protectedtags.list()] == ["v*"]
    assert project.protectedtags.get("v*").create_access_levels[0]["access_level"] == AccessLevel.MAINTAINER
    project.protectedtags.delete("v*")

    assert "variable_added" in {item.event_name for item in project.audit_events.list(get_all=True)}


def hooks_of(holder: Any) -> None:
    """Webhooks of a project or of a group."""
    hook = holder.hooks.create({"url": "https://hooks.example.com/in", "pipeline_events": True})
    hook.push_events = False
    hook.save()
    assert holder.hooks.get(hook.id).pipeline_events
    assert len(holder.hooks.list()) == 1
    hook.delete()


def installation_of(gl: Any) -> None:
    """Variables and webhooks of the installation, its templates, and what has happened in it."""
    variable = gl.variables.create({"key": "EVERYWHERE", "value": "1"})
    variable.value = "2"
    variable.save()
    assert gl.variables.get("EVERYWHERE").value == "2"
    assert [item.key for item in gl.variables.list()] == ["EVERYWHERE"]
    gl.variables.delete("EVERYWHERE")
    hook = gl.hooks.create({"url": "https://hooks.example.com/system"})
    assert gl.hooks.get(hook.id).url == "https://hooks.example.com/system"
    assert [item.id for item in gl.hooks.list()] == [hook.id]
    gl.hooks.delete(hook.id)
    assert "Auto-DevOps" in {item.name for item in gl.gitlabciymls.list(get_all=True)}
    assert "stages" in gl.gitlabciymls.get("Auto-DevOps").content
    assert gl.gitignores.list() == []
    assert gl.audit_events.list(per_page=1, get_all=False)
    assert gl.events.list(get_all=False)


def triggers_of(project: Any) -> None:
    """Trigger tokens, and a pipeline by one."""
    trigger = project.triggers.create({"description": "outside"})
    made = project.trigger_pipeline("main", trigger.token, {"A": "1"})
    assert made.source == "trigger"
    made.cancel()
    trigger.description = "from outside"
    trigger.save()
    assert project.triggers.get(trigger.id).description == "from outside"
    assert [item.id for item in project.triggers.list()] == [trigger.id]
    trigger.delete()


def neighbours_of(gl: Any, group: Any, project: Any) -> None:
    """Forks, who may come in with a job token, other forges, mirrors."""
    other = gl.projects.create({"name": "other", "namespace_id": group.id})
    scope = project.job_token_scope.get()
    scope.enabled = True
    scope.save()
    scope.allowlist.create({"target_project_id": other.id})
    assert other.id in {item.id for item in scope.allowlist.list()}
    scope.allowlist.delete(other.id)
    scope.groups_allowlist.create({"target_group_id": group.id})
    assert [item.id for item in scope.groups_allowlist.list()] == [group.id]
    scope.groups_allowlist.delete(group.id)
    link = {"repository_url": "https://git.example.com/a/b", "token": "t"}
    project.integrations.update("gitea", link)
    assert project.integrations.get("gitea").slug == "gitea"
    assert [item.slug for item in project.integrations.list()] == ["gitea"]
    project.integrations.delete("gitea")
    other.pull_mirror.create({"url": "https://git.example.com/a/b.git", "enabled": False})
    assert other.pull_mirror.get().url == "https://git.example.com/a/b.git"
    fork = project.forks.create({"namespace_path": "calls", "name": "copy", "path": "copy"})
    assert [item.id for item in project.forks.list()] == [fork.id]
    assert [item["key"] for item in gl.http_get(f"/projects/{project.id}/templates/gitlab_ci_ymls")]
    for extra in (other, gl.projects.get(fork.id)):
        extra.delete()
    assert project.events.list(get_all=False)
