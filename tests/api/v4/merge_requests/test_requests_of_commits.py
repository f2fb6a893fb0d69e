"""The merge requests that brought a commit, and issues, of which there are none: what release tools ask at the end."""

from pathlib import Path

import pytest

from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site
from tests.git.serving import git


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with a first commit, whose merge requests need no pipeline."""
    here = Merging(site)
    await here.begin("test: {script: make, rules: [{if: '$NEVER'}]}\n")
    return here


async def of(here: Merging, sha: str, query: str = "") -> list[int]:
    return [one["iid"] for one in await here.good("GET", f"repository/commits/{sha}/merge_requests{query}")]


async def test_a_commit_names_those_that_brought_it_whatever_became_of_them(here: Merging) -> None:
    first = (await here.feature("one"))["sha"]
    await here.commit("two", {"two.txt": "2"}, start="one")
    await here.open("two")
    second = (await here.get(2))["sha"]
    assert await of(here, first) == [2, 1]
    assert await of(here, second) == [2]
    assert (await here.merge(1)).status_code == 200
    merged = (await here.get(1))["merge_commit_sha"]
    assert await of(here, merged) == [1]
    assert await of(here, first, "?state=merged") == [1]
    third = (await here.feature("three"))["sha"]
    assert await of(here, third) == [3]
    assert 3 not in await of(here, first), "its target had the commit already"
    assert await of(here, "main") == [1], "the branch is at the merge"
    begin = await git("rev-list", "--max-parents=0", "main", cwd=Path(here.site.services.repositories.path(here.id)))
    assert await of(here, begin) == []
    assert (await here.call("GET", f"repository/commits/{'0' * 40}/merge_requests")).status_code == 404


async def test_a_squashed_one_is_found_by_its_own_commits_and_by_the_one_that_landed(here: Merging) -> None:
    await here.feature("one")
    await here.commit("one", {"more.txt": "more"})
    head = (await here.get(1))["sha"]
    assert (await here.merge(1, squash=True)).status_code == 200
    landed = (await here.get(1))["squash_commit_sha"]
    assert landed
    for sha in (head, landed):
        assert await of(here, sha) == [1]


async def test_one_of_a_fork_is_found_in_the_target(here: Merging) -> None:
    cid = await here.site.person("cid", 20)
    fork = await here.good("POST", "fork", cid, json={})
    sha = await here.commit("theirs", {"theirs.txt": "theirs\n"}, cid, project=fork["id"])
    await here.open("theirs", who=cid, project=fork["id"], target_project_id=here.id)
    assert await of(here, sha) == [1]


async def test_issues_are_lists_of_none_and_none_is_made(here: Merging) -> None:
    await here.feature("one")
    asked = ("issues?state=opened&scope=created_by_me", "merge_requests/1/closes_issues")
    for path in (*asked, "merge_requests/1/related_issues"):
        response = await here.call("GET", path)
        assert (response.status_code, response.json(), response.headers["x-total"]) == (200, [], "0"), path
    made = await here.call("POST", "issues", json={"title": "x"})
    assert (made.status_code, "issues are not part of Perdure" in made.json()["message"]) == (403, True)
    async with here.site.client(here.site.root) as client:
        project = (await client.get(f"/api/v4/projects/{here.id}")).json()
    assert project["issues_enabled"] is False


async def test_graphql_is_refused_with_a_sentence(here: Merging) -> None:
    async with here.site.client(here.site.root) as client:
        for method in ("GET", "POST"):
            response = await client.request(method, "/api/graphql", json={"query": "{ currentUser { id } }"})
            told = response.json()
            assert response.status_code == 404
            assert told["errors"] == [{"message": told["error"]}]
            assert "GraphQL is not part of Perdure" in told["error"]
