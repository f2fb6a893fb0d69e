"""Results of commits: reported from outside, and listed beside the jobs of pipelines."""

import asyncio
from typing import Any

import pytest

from tests.api.v4.repositories.test_repository_reads import address
from tests.api.v4.site import Site
from tests.api.v4.told_faults import told_faults
from tests.git.serving import git

CONFIG = {".gitlab-ci.yml": "build: {script: make}\ncheck: {stage: deploy, script: x}\n"}


def place(site: Site, sha: str) -> str:
    return f"/api/v4/projects/{site.world.project_id}/statuses/{sha}"


async def test_a_result_lives_from_pending_to_its_end_and_begins_again(site: Site) -> None:
    sha = await site.commit({"a": "1"})
    async with site.client(site.root) as client:
        moves: list[dict[str, Any]] = [
            {"state": "pending", "name": "scan"},
            {"state": "running", "name": "scan", "coverage": 12.5},
            {"state": "running", "context": "scan", "description": "half"},
            {"state": "failed", "name": "scan", "target_url": "https://ci.example/1"},
        ]
        responses = [(await client.post(place(site, sha), json=move)) for move in moves]
        assert [response.status_code for response in responses] == [201] * 4, [response.text for response in responses]
        ended = responses[-1].json()
        assert len({response.json()["id"] for response in responses}) == 1
        assert (ended["status"], ended["coverage"], ended["description"], ended["ref"]) == (
            "failed",
            12.5,
            "half",
            "main",
        )
        assert ended["started_at"] is not None
        assert ended["finished_at"] is not None
        assert (ended["author"]["username"], ended["pipeline_id"], ended["sha"]) == ("root", None, sha)
        again = await client.post(place(site, "main"), json={"state": "running", "name": "scan"})
        assert (again.status_code, again.json()["id"] != ended["id"]) == (201, True)
        back = await client.post(place(site, sha), json={"state": "pending", "name": "scan"})
        assert back.status_code == 400
        assert back.json()["message"].startswith("Cannot transition status via :enqueue from :running")
        latest = (await client.get(address(site, f"/commits/{sha}/statuses"))).json()
        every = (await client.get(address(site, f"/commits/{sha}/statuses?all=true"))).json()
    assert [item["status"] for item in latest] == ["running"]
    assert [item["status"] for item in every] == ["failed", "running"]


async def test_jobs_and_results_stand_in_one_list(site: Site) -> None:
    sha = await site.commit(CONFIG)
    async with site.client(site.root) as client:
        pipeline = (
            await client.post(f"/api/v4/projects/{site.world.project_id}/pipeline", json={"ref": "main"})
        ).json()
        reported = await client.post(place(site, sha), json={"state": "success"})
        assert reported.json()["pipeline_id"] == pipeline["id"]
        given = await client.post(
            place(site, sha), json={"state": "success", "name": "of", "pipeline_id": pipeline["id"]}
        )
        assert given.status_code == 201, given.text
        await client.post(place(site, sha), json={"state": "success", "name": "elsewhere", "ref": "topic"})

        async def names(**query: Any) -> list[str]:
            response = await client.get(address(site, f"/commits/{sha}/statuses"), params=query)
            assert response.status_code == 200, response.text
            return [item["name"] for item in response.json()]

        assert await names() == ["build", "check", "default", "of", "elsewhere"]
        assert await names(sort="desc") == ["elsewhere", "of", "default", "check", "build"]
        assert await names(stage="deploy") == ["check"]
        assert await names(stage="external") == ["default", "of", "elsewhere"]
        assert await names(name="build") == ["build"]
        assert await names(ref="topic") == ["elsewhere"]
        assert await names(pipeline_id=pipeline["id"]) == ["build", "check", "default", "of"]
        assert await names(order_by="pipeline_id") == ["elsewhere", "build", "check", "default", "of"]
        assert await names(per_page=2, page=2) == ["default", "of"]
        job = (await client.get(address(site, f"/commits/{sha}/statuses"))).json()[0]
    assert (job["status"], job["pipeline_id"], job["author"]["username"]) == ("created", pipeline["id"], "root")
    assert job["target_url"].endswith(f"/-/jobs/{job['id']}")


@pytest.mark.parametrize(
    ("sha", "body", "status", "message"),
    [
        ("main", {}, 400, "state is missing"),
        ("main", {"state": "manual"}, 400, "state does not have a valid value"),
        ("main", {"state": "success", "target_url": "javascript:alert(1)"}, 400, "target_url is invalid"),
        ("main", {"state": "success", "coverage": 101}, 400, "coverage must be less than"),
        ("main", {"state": "success", "name": "x" * 256}, 400, "name is too long"),
        ("main", {"state": "success", "pipeline_id": 999}, 404, "Not Found"),
        ("1" * 40, {"state": "success"}, 404, "404 Commit Not Found"),
    ],
)
async def test_bad_reports_are_explained(site: Site, sha: str, body: dict[str, Any], status: int, message: str) -> None:
    await site.commit({"a": "1"})
    async with site.client(site.root) as client:
        response = await client.post(place(site, sha), json=body)
        assert (response.status_code, message in told_faults(response)) == (status, True), response.text
        assert (await client.get(address(site, "/commits/main/statuses"))).json() == []


async def test_a_commit_that_no_branch_holds_needs_a_ref(site: Site) -> None:
    await site.commit({"a": "1"})
    tree = site.folder / "tree"
    await git("checkout", "-q", "--detach", cwd=tree)
    await git("commit", "-q", "--allow-empty", "-m", "Lonely", cwd=tree)
    await git("tag", "lonely", cwd=tree)
    await git("push", "-q", site.services.repositories.path(site.world.project_id), "lonely", cwd=tree)
    async with site.client(site.root) as client:
        response = await client.post(place(site, "lonely"), json={"state": "success"})
        assert (response.status_code, response.json()["message"]) == (404, "404 References for commit Not Found")
        given = await client.post(place(site, "lonely"), json={"state": "success", "ref": "refs/tags/lonely"})
        assert given.json()["ref"] == "lonely"


async def test_who_may_report(site: Site) -> None:
    """Developers; of a protected ref, whoever may run pipelines on it, whether the call names the ref or not."""
    await site.commit({"a": "1"})
    people = {level: await site.person(f"level{level}", level) for level in (10, 20, 30, 40)}
    for is_protected, least in ((True, 40), (False, 30)):
        for level, person in people.items():
            async with site.client(person) as client:
                for more in ({}, {"ref": "main"}, {"ref": "refs/heads/main"}):
                    said = await client.post(place(site, "main"), json={"state": "success", **more})
                    assert said.status_code == (201 if level >= least else 403), (is_protected, level, more)
        async with site.client(site.root) as client:
            await client.delete(f"/api/v4/projects/{site.world.project_id}/protected_branches/main")


async def test_reports_at_the_same_time_make_one_result(site: Site) -> None:
    sha = await site.commit({"a": "1"})
    async with site.client(site.root) as client:
        reports = [client.post(place(site, sha), json={"state": "running", "name": "scan"}) for _ in range(8)]
        responses = await asyncio.gather(*reports)
        assert {response.status_code for response in responses} == {201}
        assert len({response.json()["id"] for response in responses}) == 1
        assert len((await client.get(address(site, f"/commits/{sha}/statuses?all=true"))).json()) == 1
