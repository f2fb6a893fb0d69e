"""Merge requests, from opened to merged."""

import time
from typing import Any

from tests.e2e.python_gitlab.planning import searches_of, talk_about
from tests.routed import ADMINISTRATOR


def merge_requests_of(gl: Any, group: Any, project: Any) -> None:
    """Two of them: one is merged, one is deleted."""
    for name in ("feature", "unwanted"):
        start = {"branch": name, "start_branch": "main", "commit_message": f"Add {name} [skip ci]"}
        action = {"action": "create", "file_path": f"{name}.txt", "content": f"{name}\n"}
        project.commits.create({**start, "actions": [action]})
    unwanted = project.mergerequests.create({"source_branch": "unwanted", "target_branch": "main", "title": "No"})
    unwanted.delete()
    request = project.mergerequests.create({"source_branch": "feature", "target_branch": "main", "title": "Feature"})
    for holder in (project, group, gl):
        assert [item.iid for item in holder.mergerequests.list(state="opened", scope="all")] == [request.iid]
    request.title = "A feature"
    request.save()
    request = project.mergerequests.get(request.iid)
    assert request.title == "A feature"
    assert [item.title for item in request.commits()] == ["Add feature [skip ci]"]
    assert [item["new_path"] for item in request.changes()["changes"]] == ["feature.txt"]
    approvals_of(project, request)
    talk_about(project, request)
    searches_of(gl, group, project, request.title)
    assert request.merge_ref()["commit_id"]
    request.rebase()
    request.pipelines.create({})
    for pipeline in request.pipelines.list():
        project.pipelines.get(pipeline.id).cancel()
    _merge(request)
    assert project.mergerequests.get(request.iid).state == "merged"
    project.merge_pipelines_enabled = project.merge_trains_enabled = True
    project.save()
    assert project.merge_trains.list() == []


def approvals_of(project: Any, request: Any) -> None:
    """How many must approve, and who has."""
    settings = project.approvals.get()
    settings.approvals_before_merge = 0
    settings.save()
    request.approve()
    assert [item["user"]["username"] for item in request.approvals.get().approved_by] == [ADMINISTRATOR]
    request.unapprove()


def _merge(request: Any) -> None:
    deadline = time.monotonic() + 30
    while request.merge_status != "can_be_merged":
        assert time.monotonic() < deadline
        request.refresh()
    request.merge()
