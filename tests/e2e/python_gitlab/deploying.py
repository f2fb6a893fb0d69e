"""Environments, deployments, resource groups, releases."""

from typing import Any


def environments_of(project: Any) -> None:
    """Where jobs have deployed to, and an environment that somebody makes."""
    (deployment,) = project.deployments.list(environment="live")
    assert project.deployments.get(deployment.id).environment["name"] == "live"
    assert {item.key for item in project.resource_groups.list()} == {"live"}
    group = project.resource_groups.get("live")
    assert group.upcoming_jobs.list() == []
    group.process_mode = "oldest_first"
    group.save()
    made = project.environments.create({"name": "trial", "external_url": "https://trial.example.com"})
    environment = project.environments.get(made.id)
    environment.external_url = "https://new.example.com"
    environment.save()
    assert {item.name for item in project.environments.list()} == {"live", "trial"}
    environment.stop()
    environment.delete()


def releases_of(project: Any) -> None:
    """A release, its links, and where its files are."""
    release = project.releases.create({"tag_name": "v1", "description": "The first"})
    assert project.releases.get("v1").name == release.name
    assert len(project.releases.list()) == 1
    release.name = "One"
    release.save()
    link = release.links.create({"name": "app", "url": "https://files.example.com/1", "direct_asset_path": "/app"})
    link.url = "https://files.example.com/2"
    link.save()
    assert release.links.get(link.id).url == "https://files.example.com/2"
    assert [item.name for item in release.links.list()] == ["app"]
    link.delete()
    project.releases.delete("v1")


def reported_deployments_of(project: Any) -> None:
    """A deployment that no job makes, from its begin to its end and its removal; who may deploy there."""
    rule = project.protected_environments.create({"name": "outside", "deploy_access_levels": [{"access_level": 40}]})
    assert [item.name for item in project.protected_environments.list()] == ["outside"]
    assert project.protected_environments.get("outside").deploy_access_levels == rule.deploy_access_levels
    told = {"environment": "outside", "sha": "main", "ref": "main", "tag": False, "status": "running"}
    deployment = project.deployments.create(told)
    deployment.status = "failed"
    deployment.save()
    assert project.deployments.get(deployment.id).status == "failed"
    assert project.deployments.get(deployment.id).deployable is None
    project.manager.gitlab.http_delete(f"/projects/{project.get_id()}/deployments/{deployment.id}")
    rule.delete()
