"""Runners of the installation, a group and a project."""

from typing import Any


def runners_of(gl: Any, group: Any, project: Any) -> None:
    """Adds, changes, hands over and removes a runner."""
    made = gl.user.runners.create({"runner_type": "project_type", "project_id": project.id, "tag_list": ["gpu"]})
    gl.runners.verify(made.token)
    runner = gl.runners.get(made.id)
    runner.description = "fast"
    runner.save()
    assert made.id in {item.id for item in gl.runners.list(iterator=True)}
    assert made.id in {item.id for item in gl.runners_all.list(iterator=True)}
    assert made.id in {item.id for item in project.runners.list(iterator=True)}
    assert runner.jobs.list() == []
    second = gl.projects.create({"name": "second", "namespace_id": group.id})
    second.runners.create({"runner_id": made.id})
    second.runners.delete(made.id)
    second.delete()
    new = gl.http_post(f"/runners/{made.id}/reset_authentication_token")["token"]
    gl.runners.verify(new)
    assert gl.http_get(f"/runners/{made.id}/managers")
    for place in ("/runners", f"/projects/{project.id}/runners", f"/groups/{group.id}/runners"):
        token = gl.http_post(f"{place}/reset_registration_token")["token"]
        registered = gl.runners.create({"token": token, "description": place, "tag_list": "r"})
        gl.http_delete("/runners", query_data={"token": registered.token})
    gl.runners.delete(made.id)
