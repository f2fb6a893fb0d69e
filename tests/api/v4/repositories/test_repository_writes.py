"""Writing a repository over the REST API: every ref that moves has its pipeline, and nothing is half done."""

import asyncio
from typing import Any
from urllib.parse import quote

import pytest

from application.pushes import push
from application.pushes.push import finish_abandoned
from domain.errors import Unavailable
from models.repositories.environments import environment_lifecycle
from models.repositories.pipelines.pipelines import pipeline as pipeline_table
from models.repositories.pipelines.pushes import push as push_table
from tests.api.v4.repositories.test_repository_reads import address, file_at
from tests.api.v4.site import Site
from tests.api.v4.told_faults import told_faults
from tests.git.serving import git, new_commit

CONFIG = "build: {script: make}\n"
START = {".gitlab-ci.yml": CONFIG, "a": "1\n", "d/b": "2\n"}


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One kind of database does: this is about git."""
    return sqlite_url


async def pipelines_of(site: Site) -> list[tuple[str, str, bool, str]]:
    """Ref, status, whether it is a tag's, and sha before, of every pipeline."""
    async with site.services.database.read() as connection:
        rows = (await connection.execute(pipeline_table.select().order_by(pipeline_table.c.id))).all()
    assert all(row.source == "push" for row in rows)
    return [(row.ref, row.status, row.tag, row.before_sha) for row in rows]


async def head(site: Site, ref: str = "main") -> str | None:
    return await site.services.repositories.get(site.world.project_id).resolve(ref)


def commit(branch: str, *actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"branch": branch, "commit_message": "Words", "actions": list(actions), **more}


def create(path: str, content: str = "x", **more: Any) -> dict[str, Any]:
    return {"action": "create", "file_path": path, "content": content, **more}


async def test_the_first_commit_of_an_empty_repository(site: Site) -> None:
    await site.services.repositories.create(site.world.project_id, "main")
    async with site.client(site.root) as client:
        made = await client.post(address(site, "/commits"), json=commit("main", create(".gitlab-ci.yml", CONFIG)))
        assert made.status_code == 201, made.text
        assert made.json()["parent_ids"] == []
        assert made.json()["last_pipeline"]["ref"] == "main"
        first = await client.post(
            file_at(site, "readme"), json={"branch": "main", "content": "r", "commit_message": "Readme"}
        )
        assert (first.status_code, first.json()) == (201, {"file_path": "readme", "branch": "main"})
    assert await pipelines_of(site) == [
        ("main", "created", False, "0" * 40),
        ("main", "created", False, made.json()["id"]),
    ]


async def test_each_way_to_move_a_ref_makes_its_pipeline(site: Site) -> None:
    first = await site.commit(START)
    async with site.client(site.root) as client:
        calls = [
            ("POST", "/branches", {"branch": "topic", "ref": "main"}, 201),
            ("POST", "/tags", {"tag_name": "v1", "ref": "main", "message": "Notes"}, 201),
            ("POST", "/commits", commit("topic", {"action": "update", "file_path": "a", "content": "t\n"}), 201),
            ("POST", "/commits/topic/cherry_pick", {"branch": "main"}, 201),
            ("POST", "/commits/main/revert", {"branch": "main", "dry_run": True}, 200),
            ("POST", "/commits/main/revert", {"branch": "main"}, 201),
            ("PUT", "/files/a", {"branch": "main", "content": "q\n", "commit_message": "[ci skip]"}, 200),
            ("DELETE", "/files/a?branch=main&commit_message=Gone", None, 204),
            ("DELETE", "/branches/topic", None, 204),
            ("DELETE", "/tags/v1", None, 204),
        ]
        for method, path, body, status in calls:
            response = await client.request(method, address(site, path), json=body)
            assert response.status_code == status, (method, path, response.text)
    found = await pipelines_of(site)
    assert [(ref, status, tag) for ref, status, tag, _ in found] == [
        ("topic", "created", False),
        ("v1", "created", True),
        ("topic", "created", False),
        ("main", "created", False),
        ("main", "created", False),
        ("main", "skipped", False),
        ("main", "created", False),
    ]
    assert [before for _, _, _, before in found][2:4] == [first, first]
    await git("fsck", "--strict", cwd=site.services.repositories.path(site.world.project_id))


async def test_a_deleted_branch_stops_its_environments(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await site.commit(START)
    stopped: list[str] = []
    real = environment_lifecycle.stop_of_branch

    async def seen(connection: Any, project_id: int, branch: str, now: Any, *, caller_id: int) -> Any:
        stopped.append(branch)
        return await real(connection, project_id, branch, now, caller_id=caller_id)

    monkeypatch.setattr(environment_lifecycle, "stop_of_branch", seen)
    async with site.client(site.root) as client:
        for name in ("one", "two"):
            await client.post(address(site, "/branches"), json={"branch": name, "ref": "main"})
        tree = site.folder / "tree"
        await new_commit(tree, {"n": "n"})
        await git("push", "-q", site.services.repositories.path(site.world.project_id), "main", cwd=tree)
        assert (await client.delete(address(site, "/branches/one"))).status_code == 204
        merged = await client.delete(address(site, "/merged_branches"))
        assert (merged.status_code, merged.json()) == (202, {"message": "202 Accepted"})
        assert [item["name"] for item in (await client.get(address(site, "/branches"))).json()] == ["main"]
    assert stopped == ["one", "two"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "message"),
    [
        ("POST", "/branches", {"branch": "main", "ref": "main"}, 400, "Branch already exists"),
        ("POST", "/branches", {"branch": "main/x", "ref": "main"}, 400, "Branch already exists"),
        ("POST", "/branches", {"branch": "x", "ref": "nope"}, 400, "Invalid reference name: nope"),
        ("POST", "/branches", {"branch": "a b", "ref": "main"}, 400, "Branch name is invalid"),
        ("POST", "/branches", {"branch": "a..b", "ref": "main"}, 400, "Branch name is invalid"),
        ("POST", "/branches", {"branch": "refs/heads/x", "ref": "main"}, 400, "Branch name is invalid"),
        ("POST", "/branches", {"branch": "x" * 2000, "ref": "main"}, 400, "Branch name is invalid"),
        ("POST", "/branches", {"branch": "a" * 40, "ref": "main"}, 403, "40-character hexadecimal"),
        ("POST", "/branches", {"ref": "main"}, 400, "branch is missing"),
        ("DELETE", "/branches/main", None, 403, "The default branch of a project cannot be deleted."),
        ("DELETE", "/branches/nope", None, 404, "404 Branch Not Found"),
        ("POST", "/tags", {"tag_name": "v 1", "ref": "main"}, 400, "Tag name invalid"),
        ("POST", "/tags", {"tag_name": "v1", "ref": "nope"}, 400, "Target nope is invalid"),
        ("DELETE", "/tags/nope", None, 404, "404 Tag Not Found"),
        ("POST", "/commits", commit("main", create("a")), 400, "A file with this name already exists"),
        ("POST", "/commits", commit("main", create("d")), 400, "A directory with this name already exists"),
        ("POST", "/commits", commit("nope", create("n")), 400, "You can only create or edit files when you are on"),
        ("POST", "/commits", commit("main", create("n"), start_branch="other"), 400, "'main' already exists"),
        ("POST", "/commits", commit("x", create("n"), start_branch="no"), 400, "Cannot find start_branch 'no'"),
        ("POST", "/commits", commit("x", create("n"), start_sha="no"), 400, "Cannot find start_sha 'no'"),
        ("POST", "/commits", commit("x", start_sha="m", start_branch="m"), 400, "mutually exclusive"),
        ("POST", "/commits", commit("main", create("n", "?", encoding="base64")), 400, "no Base64"),
        ("POST", "/commits", commit("main", create("../n")), 400, "is not a path"),
        ("POST", "/commits", commit("main", create(".git/hooks/x")), 400, "invalid path"),
        ("POST", "/commits", commit("main", {"action": "steal", "file_path": "a"}), 400, "valid value"),
        ("POST", "/commits", commit("main", {"action": "move", "file_path": "q"}), 400, "previous_path"),
        ("POST", "/commits", {"branch": "main", "actions": []}, 400, "commit_message is missing"),
        ("POST", "/commits", {"branch": "main", "commit_message": "x"}, 400, "actions is missing"),
        ("PUT", "/files/nope", {"branch": "main", "content": "", "commit_message": "x"}, 400, "doesn't exist"),
        ("DELETE", "/files/nope?branch=main&commit_message=x", None, 400, "doesn't exist"),
        ("POST", "/commits/main/cherry_pick", {"branch": "nope"}, 404, "404 Branch Not Found"),
        ("POST", "/commits/nope/revert", {"branch": "main"}, 404, "404 Commit Not Found"),
    ],
)
async def test_bad_input_is_explained_and_moves_nothing(
    site: Site, method: str, path: str, body: Any, status: int, message: str
) -> None:
    before = await site.commit(START)
    async with site.client(site.root) as client:
        response = await client.request(method, address(site, path), json=body)
    assert (response.status_code, message in told_faults(response)) == (status, True), response.text
    repository = site.services.repositories.get(site.world.project_id)
    assert [(ref.name, ref.sha) for ref in await repository.refs()] == [("refs/heads/main", before)]
    assert await pipelines_of(site) == []
    async with site.services.database.read() as connection:
        notes = (await connection.execute(push_table.select())).all()
    assert all(note.done_at is not None for note in notes)


async def test_a_file_that_changed_meanwhile_is_not_overwritten(site: Site) -> None:
    first = await site.commit(START)
    async with site.client(site.root) as client:
        body = {"branch": "main", "content": "2\n", "commit_message": "Two", "last_commit_id": first}
        assert (await client.put(file_at(site, "a"), json=body)).status_code == 200
        again = await client.put(file_at(site, "a"), json={**body, "content": "3\n"})
        assert again.status_code == 400
        assert again.json()["message"] == (
            "You are attempting to update a file that has changed since you started editing it."
        )
        actions = [{"action": "delete", "file_path": "a", "last_commit_id": first}]
        several = await client.post(address(site, "/commits"), json=commit("main", *actions))
        assert "The file has changed since you started editing it: a" in several.json()["message"]
        assert (await client.get(file_at(site, "a", "/raw"))).text == "2\n"


async def test_force_begins_a_branch_anew(site: Site) -> None:
    first = await site.commit(START)
    async with site.client(site.root) as client:
        await client.post(address(site, "/commits"), json=commit("topic", create("n"), start_branch="main"))
        wish = commit("topic", create("m"), start_sha=first)
        assert (await client.post(address(site, "/commits"), json=wish)).status_code == 400
        forced = await client.post(address(site, "/commits"), json={**wish, "force": True})
        assert (forced.status_code, forced.json()["parent_ids"]) == (201, [first])
    assert await head(site, "topic") == forced.json()["id"]


async def test_commits_at_the_same_time_all_arrive(site: Site) -> None:
    await site.commit(START)
    async with site.client(site.root) as client:
        responses = await asyncio.gather(
            *(client.post(address(site, "/commits"), json=commit("main", create(f"f{number}"))) for number in range(5))
        )
        assert [response.status_code for response in responses] == [201] * 5, [response.text for response in responses]
        tree = (await client.get(address(site, "/tree"))).json()
    assert {f"f{number}" for number in range(5)} <= {item["name"] for item in tree}
    assert len(await pipelines_of(site)) == 5


async def test_large_contents_and_forms(site: Site) -> None:
    await site.commit(START)
    async with site.client(site.root) as client:
        body = {"branch": "main", "content": "x" * 3_000_000, "commit_message": "Large"}
        assert (await client.post(file_at(site, "large"), json=body)).status_code == 201
        assert len((await client.get(file_at(site, "large", "/raw"))).content) == 3_000_000
        form = {"branch": "main", "commit_message": "Form", "actions[][action]": "create"}
        form |= {"actions[][file_path]": "form", "actions[][content]": "f"}
        assert (await client.post(address(site, "/commits"), data=form)).status_code == 201
        name = "weird/" + "ü ä%" * 20
        odd = await client.post(file_at(site, name), json={**body, "content": "o", "start_branch": None})
        assert odd.status_code == 201, odd.text
        branch = quote("ö/x%y#z", safe="")
        made = await client.post(address(site, "/branches"), json={"branch": "ö/x%y#z", "ref": "main"})
        assert made.status_code == 201, made.text
        assert (await client.get(address(site, f"/branches/{branch}"))).json()["name"] == "ö/x%y#z"
        assert (await client.head(address(site, f"/branches/{branch}"))).status_code == 204
        assert (await client.get(address(site, f"/commits/{branch}"))).status_code == 200
        assert (await client.delete(address(site, f"/branches/{branch}"))).status_code == 204


async def test_who_may_write(site: Site) -> None:
    await site.commit(START)
    async with site.client(site.root) as client:
        gone = await client.delete(f"/api/v4/projects/{site.world.project_id}/protected_branches/main")
    assert gone.status_code == 204
    calls = [
        ("POST", "/branches", {"branch": "b", "ref": "main"}),
        ("POST", "/tags", {"tag_name": "t", "ref": "main"}),
        ("POST", "/commits", commit("main", create("w"))),
        ("POST", "/files/new", {"branch": "main", "content": "", "commit_message": "x"}),
        ("PUT", "/files/a", {"branch": "main", "content": "", "commit_message": "x"}),
        ("DELETE", "/files/a?branch=main&commit_message=x", None),
        ("POST", "/commits/main/revert", {"branch": "main"}),
        ("POST", "/commits/main/cherry_pick", {"branch": "b"}),
        ("DELETE", "/branches/b", None),
        ("DELETE", "/merged_branches", None),
        ("DELETE", "/tags/t", None),
    ]
    reporter, developer = await site.person("reporter", 20), await site.person("developer", 30)
    for method, path, body in calls:
        async with site.client(reporter) as client:
            response = await client.request(method, address(site, path), json=body)
            assert response.status_code == 403, (method, path, response.text)
        async with site.client() as client:
            assert (await client.request(method, address(site, path), json=body)).status_code == 404
        async with site.client(developer) as client:
            response = await client.request(method, address(site, path), json=body)
            assert response.status_code not in {401, 403}, (method, path, response.text)


async def test_a_write_whose_pipeline_failed_to_come_gets_it_later(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any) -> Any:
        raise Unavailable("The compiler died.")

    await site.commit(START)
    async with site.client(site.root) as client:
        with monkeypatch.context() as broken:
            broken.setattr(push, "finish", away)
            made = await client.post(address(site, "/commits"), json=commit("main", create("n")))
            assert made.status_code == 201, made.text
        assert await pipelines_of(site) == []
        with monkeypatch.context() as broken:
            broken.setattr(push, "move_refs", away)
            refused = await client.post(address(site, "/commits"), json=commit("main", create("m")))
            assert refused.status_code == 503
    assert await finish_abandoned(site.services, all_of_them=True) == 1, "what moved nothing is not left open"
    assert [ref for ref, *_ in await pipelines_of(site)] == ["main"]
