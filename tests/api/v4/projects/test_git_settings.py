"""How the jobs of a project get their sources: `ci_default_git_depth` and `build_git_strategy`."""

from typing import Any

import pytest

from tests.api.v4.site import Person, Site


async def change(site: Site, person: Person | None = None, **settings: Any) -> Any:
    """The response to a change of the project's settings."""
    async with site.client(person or site.root) as client:
        return await client.put(f"/api/v4/projects/{site.world.project_id}", json=settings)


async def sources(site: Site, config: str = "one: {script: make}\n") -> tuple[int, bool]:
    """What the runner of a job is told: how many commits, and whether it may keep what it has."""
    await site.world.pipeline(config)
    job = await site.world.job()
    return job["git_info"]["depth"], job["allow_git_fetch"]


async def test_a_project_fetches_twenty_commits_until_it_says_otherwise(site: Site) -> None:
    assert await sources(site) == (20, True)
    response = await change(site, ci_default_git_depth=50, build_git_strategy="clone")
    assert (response.status_code, response.json()["ci_default_git_depth"]) == (200, 50)
    assert response.json()["build_git_strategy"] == "clone"
    assert await sources(site) == (50, False)
    assert (await change(site, description="A shop")).json()["ci_default_git_depth"] == 50, "what is not given stays"
    assert (await change(site, build_git_strategy="fetch")).json()["build_git_strategy"] == "fetch"
    assert await sources(site) == (50, True)


@pytest.mark.parametrize("everything", [None, 0])
async def test_a_project_may_fetch_all_commits(site: Site, everything: int | None) -> None:
    response = await change(site, ci_default_git_depth=everything)
    assert (response.status_code, response.json()["ci_default_git_depth"]) == (200, everything)
    assert await sources(site) == (0, True)


async def test_the_variables_of_a_job_come_before_the_settings_of_its_project(site: Site) -> None:
    await change(site, ci_default_git_depth=0, build_git_strategy="clone")
    config = "one: {script: make, variables: {GIT_DEPTH: '3', GIT_STRATEGY: fetch}}\n"
    await site.world.pipeline(config)
    job = await site.world.job()
    assert job["git_info"]["depth"] == 3
    assert "fetch" in [item["value"] for item in job["variables"] if item["key"] == "GIT_STRATEGY"]


@pytest.mark.parametrize(
    "settings",
    [
        {"ci_default_git_depth": -1},
        {"ci_default_git_depth": 1001},
        {"ci_default_git_depth": "deep"},
        {"build_git_strategy": "none"},
    ],
)
async def test_what_is_no_setting_is_refused_by_name(site: Site, settings: dict[str, Any]) -> None:
    response = await change(site, **settings)
    (name,) = settings
    assert (response.status_code, name in response.text) == (400, True)
    assert await sources(site) == (20, True)


async def test_a_new_project_may_bring_its_settings(site: Site) -> None:
    wanted = {"name": "deep", "ci_default_git_depth": 7, "build_git_strategy": "clone"}
    async with site.client(site.root) as client:
        made = (await client.post("/api/v4/projects", json=wanted)).json()
        plain = (await client.post("/api/v4/projects", json={"name": "plain"})).json()
    assert (made["ci_default_git_depth"], made["build_git_strategy"]) == (7, "clone")
    assert (plain["ci_default_git_depth"], plain["build_git_strategy"]) == (20, "fetch")
