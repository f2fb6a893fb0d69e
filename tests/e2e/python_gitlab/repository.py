"""Commits, files, branches, tags, comparisons."""

from typing import Any

CONFIG = """
stages: [build, test]
build: {stage: build, script: make, artifacts: {paths: [out]}}
check:
  stage: test
  script: make check
  rules: [{if: $CI_PIPELINE_SOURCE == "merge_request_event"}, {when: on_success}]
release: {stage: test, script: make release, when: manual}
deploy:
  stage: test
  script: make deploy
  environment: {name: live, on_stop: stop}
  resource_group: live
stop: {stage: test, script: make stop, when: manual, environment: {name: live, action: stop}, resource_group: live}
"""


def repository_of(project: Any) -> str:
    """Commits, files, branches, tags, comparisons; gives back the newest commit of `main`."""
    made = project.commits.create(
        {
            "branch": "main",
            "commit_message": "First",
            "actions": [
                {"action": "create", "file_path": ".gitlab-ci.yml", "content": CONFIG},
                {"action": "create", "file_path": "src/app.py", "content": "print(1)\n"},
            ],
        }
    )
    assert project.commits.get(made.id).title == "First"
    file = project.files.create(
        {"file_path": "README.md", "branch": "main", "content": "# App\n", "commit_message": "Say what it is [ci skip]"}
    )
    file = project.files.get("README.md", ref="main")
    assert file.decode() == b"# App\n"
    file.content = "# The app\n"
    file.save(branch="main", commit_message="Say more [skip ci]")
    assert project.files.raw("README.md", ref="main") == b"# The app\n"
    assert {item["path"] for item in project.repository_tree(recursive=True, get_all=True)} >= {"src/app.py"}
    blob = next(item for item in project.repository_tree(path="src") if item["name"] == "app.py")
    assert project.repository_raw_blob(blob["id"]) == b"print(1)\n"
    branch = project.branches.create({"branch": "fix", "ref": "main"})
    assert not branch.protected
    assert {item.name for item in project.branches.list()} == {"main", "fix"}
    project.tags.create({"tag_name": "v1", "ref": "main", "message": "One"})
    assert project.tags.get("v1").message == "One"
    head = project.branches.get("main").commit["id"]
    compared = project.repository_compare(made.id, head)
    assert [item["new_path"] for item in compared["diffs"]] == ["README.md"]
    commit = project.commits.get(head)
    assert [item["new_path"] for item in commit.diff()] == ["README.md"]
    assert {"name": "fix", "type": "branch"} in commit.refs()
    assert project.repository_merge_base(["main", "fix"])["id"] == head
    assert project.repository_archive(format="tar.gz")[:2] == b"\x1f\x8b"
    commit.statuses.create({"state": "success", "name": "outside", "target_url": "https://ci.example.com/1"})
    assert "outside" in {item.name for item in commit.statuses.list(get_all=True)}
    project.branches.delete("fix")
    return str(head)


def changes_of(project: Any) -> None:
    """Commits that are picked and taken back, comments, blame, tags that go away."""
    branch = {"branch": "topic", "start_branch": "main", "commit_message": "Add a file [skip ci]"}
    action = {"action": "create", "file_path": "a/b.txt", "content": "1\n"}
    commit = project.commits.create({**branch, "actions": [action]})
    picked = commit.cherry_pick("main")
    project.commits.get(picked["id"]).revert("main")
    assert commit.sequence()["count"] > 1
    assert "Add a file [skip ci]" in {item.title for item in project.commits.list(ref_name="topic", get_all=True)}
    commit.comments.create({"note": "why?"})
    assert [item.note for item in commit.comments.list()] == ["why?"]
    assert project.repository_contributors()[0]["commits"] > 1
    file = project.files.get("a/b.txt", ref="topic")
    assert project.files.blame("a/b.txt", ref="topic")[0]["lines"] == ["1"]
    assert project.files.head("a/b.txt", ref="topic")["X-Gitlab-Blob-Id"] == file.blob_id
    assert project.repository_blob(file.blob_id)["size"] == 2
    file.delete(branch="topic", commit_message="Take it away [skip ci]")
    project.tags.create({"tag_name": "v0", "ref": "main"})
    assert {item.name for item in project.tags.list()} == {"v0", "v1"}
    project.tags.delete("v0")
    project.delete_merged_branches()
    project.branches.delete("topic")
