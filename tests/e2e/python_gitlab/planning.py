"""Labels, milestones, notes and threads of merge requests, and what searches find of them."""

from typing import Any

from tests.routed import ADMINISTRATOR


def planning_of(group: Any, project: Any) -> None:
    """Labels and milestones of a project and of a group."""
    for holder in (project, group):
        label = holder.labels.create({"name": f"of {holder.encoded_id}", "color": "#ff0000"})
        label.new_name = f"for {holder.encoded_id}"
        label.save()
        assert f"for {holder.encoded_id}" in {item.name for item in holder.labels.list()}
        milestone = holder.milestones.create({"title": f"First of {holder.encoded_id}"})
        milestone.state_event = "close"
        milestone.save()
        assert holder.milestones.get(milestone.id).state == "closed"
        assert milestone.id in {item.id for item in holder.milestones.list()}
        assert list(milestone.merge_requests()) == []
        milestone.delete()
        label.delete()


def talk_about(project: Any, request: Any) -> None:
    """Notes and threads of an open merge request, its rules, people and versions."""
    note = request.notes.create({"body": "a word"})
    note.body = "another word"
    note.save()
    assert request.notes.get(note.id).body == "another word"
    assert note.id in {item.id for item in request.notes.list(get_all=True)}
    note.delete()
    thread = request.discussions.create({"body": "is this right?"})
    reply = thread.notes.create({"body": "it is"})
    reply.body = "it is right"
    reply.save()
    thread.resolved = True
    thread.save()
    assert request.discussions.get(thread.id).attributes["notes"][0]["resolved"]
    assert thread.id in {item.id for item in request.discussions.list(get_all=True)}
    reply.delete()
    assert [item["username"] for item in request.participants()] == [ADMINISTRATOR]
    assert request.diffs.list()
    rule = project.approvalrules.create({"name": "All Members", "approvals_required": 0})
    assert rule.id in {item.id for item in project.approvalrules.list()}


def searches_of(gl: Any, group: Any, project: Any, text: str) -> None:
    """What is found of a project whose open merge request says `text`."""
    for holder in (gl, group, project):
        assert [item["title"] for item in holder.search("merge_requests", text)] == [text]
    assert project.id in {item["id"] for item in gl.search("projects", project.path)}
    assert project.id in {item["id"] for item in group.search("projects", project.path)}
    assert {item["username"] for item in gl.search("users", ADMINISTRATOR)} == {ADMINISTRATOR}
    assert [item["path"] for item in project.search("blobs", "print(1)")] == ["src/app.py"]
    assert "First" in {item["title"] for item in project.search("commits", "First")}


def badges_of(project: Any, group: Any) -> None:
    """Badges of a project and of a group."""
    addresses = {"link_url": "https://ci.example.com/%{project_path}", "image_url": "https://ci.example.com/a.svg"}
    for holder in (project, group):
        badge = holder.badges.create(addresses)
        badge.image_url = "https://ci.example.com/%{project_id}.svg"
        badge.save()
        path = project.path_with_namespace
        assert holder.badges.get(badge.id).rendered_link_url == f"https://ci.example.com/{path}"
        assert badge.id in {item.id for item in holder.badges.list()}
        assert holder.badges.render(**addresses)["rendered_link_url"] == f"https://ci.example.com/{path}"
        badge.delete()
