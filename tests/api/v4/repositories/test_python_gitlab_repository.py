"""An unmodified client: python-gitlab reads and writes a repository over a real HTTP server."""

import asyncio
import base64
import io
import tarfile
import zipfile
from collections.abc import AsyncIterator
from typing import Any

import gitlab
import pytest
from gitlab.v4.objects import Project

from models.repositories.pipelines.pipelines import pipeline as pipeline_table
from tests.api.v4.site import Site, serving

CONFIG = "build: {script: make}\n"
BINARY = bytes(range(256)) * 4


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One kind of database does: this is about git."""
    return sqlite_url


@pytest.fixture
async def project(site: Site) -> AsyncIterator[Project]:
    """The project as python-gitlab sees it, acting as root; one commit on main."""
    await site.commit({".gitlab-ci.yml": CONFIG, "README.md": "# Read\n", "src/app/main.py": "print(1)\n"})
    async with serving(site) as url:
        client = gitlab.Gitlab(url, private_token=site.root.token)
        client.session.trust_env = False
        yield await asyncio.to_thread(client.projects.get, site.world.project_id)
        client.session.close()


async def pipelines_of(site: Site) -> list[tuple[str, str, str]]:
    """Ref, source and status of every pipeline, oldest first."""
    async with site.services.database.read() as connection:
        rows = (await connection.execute(pipeline_table.select().order_by(pipeline_table.c.id))).all()
    return [(row.ref, row.source, row.status) for row in rows]


async def test_files(site: Site, project: Project) -> None:
    def work() -> None:
        made = project.files.create(
            {
                "file_path": "docs/ä b.bin",
                "branch": "main",
                "content": base64.b64encode(BINARY).decode(),
                "encoding": "base64",
                "commit_message": "Add a file",
                "author_name": "Ada",
                "author_email": "ada@example.com",
            }
        )
        assert (made.file_path, made.branch) == ("docs/ä b.bin", "main")
        with pytest.raises(gitlab.GitlabCreateError, match="A file with this name already exists"):
            project.files.create(
                {"file_path": "README.md", "branch": "main", "content": "x", "commit_message": "Twice"}
            )
        read = project.files.get(file_path="docs/ä b.bin", ref="main")
        assert (read.decode(), read.size, read.encoding) == (BINARY, len(BINARY), "base64")
        assert project.files.raw(file_path="docs/ä b.bin", ref="main") == BINARY
        assert project.files.raw(file_path="README.md") == b"# Read\n"
        headers = project.files.head(file_path="docs/ä b.bin", ref="main")
        assert headers["X-Gitlab-Blob-Id"] == read.blob_id
        assert headers["X-Gitlab-Content-Sha256"] == read.content_sha256
        read.content = "words\n"
        read.encoding = "text"
        read.save(branch="main", commit_message="Change it")
        assert project.files.get("docs/ä b.bin", "main").decode() == b"words\n"
        blamed = project.files.blame("docs/ä b.bin", ref="main")
        assert [(part["commit"]["title"], part["lines"]) for part in blamed] == [("Change it", ["words"])]
        read.delete(branch="main", commit_message="Delete it")
        with pytest.raises(gitlab.GitlabGetError, match="404 File Not Found"):
            project.files.get("docs/ä b.bin", "main")
        first = project.commits.list(get_all=False)[2]
        assert (first.title, first.author_name, first.committer_name) == ("Add a file", "Ada", "Administrator")

    await asyncio.to_thread(work)
    assert await pipelines_of(site) == [("main", "push", "created")] * 3


async def test_branches_and_tags(site: Site, project: Project) -> None:
    def work() -> None:
        branch = project.branches.create({"branch": "feature/ö", "ref": "main"})
        assert (branch.name, branch.merged, branch.default, branch.can_push) == ("feature/ö", False, False, True)
        assert project.branches.get("feature/ö").commit["id"] == branch.commit["id"]
        assert [one.name for one in project.branches.list(search="^feat")] == ["feature/ö"]
        assert [one.name for one in project.branches.list(regex="^m.*n$")] == ["main"]
        assert [one.name for one in project.branches.list(iterator=True, per_page=1)] == ["feature/ö", "main"]
        keyset = project.branches.list(iterator=True, pagination="keyset", per_page=1)
        assert [one.name for one in keyset] == ["feature/ö", "main"]
        branch.delete()
        with pytest.raises(gitlab.GitlabGetError, match="404 Branch Not Found"):
            project.branches.get("feature/ö")
        with pytest.raises(gitlab.GitlabDeleteError, match="default branch"):
            project.branches.delete("main")
        light = project.tags.create({"tag_name": "v1.0", "ref": "main"})
        noted = project.tags.create({"tag_name": "v1.10", "ref": "v1.0", "message": "Notes\n\nmore"})
        assert light.target == light.commit["id"] == noted.commit["id"] != noted.target
        assert (light.message, noted.message, noted.release) == ("", "Notes\n\nmore", None)
        assert [tag.name for tag in project.tags.list(order_by="version", sort="desc")] == ["v1.10", "v1.0"]
        assert project.tags.get("v1.10").message == "Notes\n\nmore"
        with pytest.raises(gitlab.GitlabCreateError, match="already exists"):
            project.tags.create({"tag_name": "v1.0", "ref": "main"})
        noted.delete()
        assert [tag.name for tag in project.tags.list()] == ["v1.0"]

    await asyncio.to_thread(work)
    assert [ref for ref, _, _ in await pipelines_of(site)] == ["feature/ö", "v1.0", "v1.10"]


async def test_commits(site: Site, project: Project) -> None:
    def work() -> None:
        commit = project.commits.create(
            {
                "branch": "topic",
                "start_branch": "main",
                "commit_message": "Several [skip ci]\n\nBody\n\nReviewed-by: Bob",
                "actions": [
                    {"action": "create", "file_path": "a/b.txt", "content": "1\n"},
                    {"action": "update", "file_path": "README.md", "content": "# Other\n"},
                    {"action": "move", "file_path": "src/moved.py", "previous_path": "src/app/main.py"},
                    {"action": "chmod", "file_path": "src/moved.py", "execute_filemode": True},
                ],
            }
        )
        assert commit.stats == {"additions": 2, "deletions": 1, "total": 3}
        assert commit.trailers == {"Reviewed-by": "Bob"}
        assert commit.parent_ids == [project.branches.get("main").commit["id"]]
        changed = {one["new_path"]: one for one in commit.diff(get_all=True)}
        assert set(changed) == {"a/b.txt", "README.md", "src/moved.py"}
        assert changed["README.md"]["diff"] == "@@ -1 +1 @@\n-# Read\n+# Other\n"
        assert (changed["src/moved.py"]["renamed_file"], changed["src/moved.py"]["b_mode"]) == (True, "100755")
        assert [one["name"] for one in commit.refs("branch")] == ["topic"]
        assert commit.sequence() == {"count": 2}
        assert project.commits.get("topic").id == commit.id
        assert project.commits.get(commit.short_id).last_pipeline["status"] == "skipped"
        listed = project.commits.list(ref_name="topic", get_all=True, with_stats=True)
        assert [one.id for one in listed] == [commit.id, *commit.parent_ids]
        assert [
            one.id for one in project.commits.list(query_parameters={"path": "a", "ref_name": "topic"}, get_all=True)
        ] == [commit.id]
        paged = project.commits.list(ref_name="topic", iterator=True, per_page=1)
        assert [one.id for one in paged] == [one.id for one in listed]
        with pytest.raises(gitlab.GitlabCherryPickError, match="cannot cherry-pick"):
            project.commits.get(project.branches.get("main").commit["id"]).cherry_pick("topic")
        picked: Any = commit.cherry_pick("main")
        assert picked["message"].endswith(f"(cherry picked from commit {commit.id})")
        reverted: Any = project.commits.get(picked["id"]).revert("main")
        assert reverted["title"] == 'Revert "Several [skip ci]"'
        assert project.files.raw("README.md", ref="main") == b"# Read\n"
        with pytest.raises(gitlab.GitlabGetError, match="404 Commit Not Found"):
            project.commits.get("nowhere")

    await asyncio.to_thread(work)
    assert [status for _, _, status in await pipelines_of(site)] == ["skipped"] * 3


async def test_the_repository(site: Site, project: Project) -> None:
    def work() -> None:
        assert [item["path"] for item in project.repository_tree()] == ["src", ".gitlab-ci.yml", "README.md"]
        deep = project.repository_tree(path="src", ref="main", recursive=True, iterator=True, per_page=1)
        assert [item["path"] for item in deep] == ["src/app", "src/app/main.py"]
        keyset = project.repository_tree(recursive=True, pagination="keyset", iterator=True, per_page=2)
        assert len(list(keyset)) == 5
        blob = next(item for item in project.repository_tree() if item["name"] == "README.md")
        found: Any = project.repository_blob(blob["id"])
        assert base64.b64decode(found["content"]) == project.repository_raw_blob(blob["id"]) == b"# Read\n"
        with tarfile.open(fileobj=io.BytesIO(project.repository_archive())) as tarred:
            (top,) = {name.split("/")[0] for name in tarred.getnames()}
        sha = project.branches.get("main").commit["id"]
        assert top == f"{project.path}-main-{sha}"
        packed = zipfile.ZipFile(io.BytesIO(project.repository_archive(sha="main", format="zip", path="src")))
        assert [name for name in packed.namelist() if name.endswith(".py")] == [f"{top}-src/src/app/main.py"]
        with tarfile.open(fileobj=io.BytesIO(project.repository_archive(format="tar.bz2")), mode="r:bz2") as tarred:
            assert f"{top}/src/app/main.py" in tarred.getnames()
        head = project.commits.create(
            {
                "branch": "next",
                "start_sha": sha,
                "commit_message": "Next",
                "actions": [{"action": "delete", "file_path": "README.md"}],
            }
        )
        compared: Any = project.repository_compare("main", "next")
        assert (compared["commit"]["id"], [one["id"] for one in compared["commits"]]) == (head.id, [head.id])
        assert [(one["old_path"], one["deleted_file"]) for one in compared["diffs"]] == [("README.md", True)]
        base: Any = project.repository_merge_base(["main", "next"])
        assert base["id"] == sha
        contributors: Any = project.repository_contributors()
        assert contributors[0]["commits"] == 1
        project.branches.create({"branch": "old", "ref": "main"})
        project.commits.create(
            {
                "branch": "main",
                "commit_message": "Go on",
                "actions": [{"action": "create", "file_path": "new", "content": ""}],
            }
        )
        project.delete_merged_branches()
        assert [branch.name for branch in project.branches.list(get_all=True)] == ["main", "next"]

    await asyncio.to_thread(work)


async def test_statuses(site: Site, project: Project) -> None:
    def work() -> None:
        project.files.create({"file_path": "x", "branch": "main", "content": "x", "commit_message": "Push"})
        commit = project.commits.get("main")
        one = commit.statuses.create({"state": "pending", "name": "scan", "description": "begins"})
        assert (one.status, one.name, one.ref, one.pipeline_id) == (
            "pending",
            "scan",
            "main",
            commit.last_pipeline["id"],
        )
        two = commit.statuses.create({"state": "success", "context": "scan", "target_url": "https://x.example/1"})
        assert (two.id, two.status, two.description, two.target_url) == (
            one.id,
            "success",
            "begins",
            "https://x.example/1",
        )
        assert [(item.name, item.status) for item in commit.statuses.list(get_all=True)] == [
            ("build", "created"),
            ("scan", "success"),
        ]

    await asyncio.to_thread(work)
