"""Pages of a project that is archived: they say so, everywhere."""

import pytest

from tests.api.v4.site import Site

NOTICE = "This project is archived: it can be read, and nothing of it changes until it is unarchived."
TAG = '<span class="tag">archived</span>'


@pytest.mark.parametrize("view", ["", "/-/pipelines", "/-/merge_requests", "/-/environments", "/-/pipeline_schedules"])
async def test_a_page_says_that_its_project_is_archived(site: Site, view: str) -> None:
    path = f"/{await site.path()}{view}"
    async with site.client(site.root) as client:
        assert NOTICE not in (await client.get(path)).text
        assert (await client.post(f"/api/v4/projects/{site.world.project_id}/archive")).status_code == 201
        assert (await client.get(path)).text.count(NOTICE) == 1
        assert (await client.post(f"/api/v4/projects/{site.world.project_id}/unarchive")).status_code == 201
        assert NOTICE not in (await client.get(path)).text


async def test_a_list_says_which_project_is_archived(site: Site) -> None:
    async with site.client(site.root) as client:
        assert TAG not in (await client.get("/")).text
        assert (await client.post(f"/api/v4/projects/{site.world.project_id}/archive")).status_code == 201
        assert TAG in (await client.get("/")).text


async def test_developers_read_of_it_what_they_read_before(site: Site) -> None:
    """What is for developers was refused to everybody, to owners too."""
    await site.world.pipeline("job: {script: make, resource_group: live}")
    await site.set_project(merge_pipelines_enabled=True, merge_trains_enabled=True)
    developer, project = await site.person("dev", 30), f"/api/v4/projects/{site.world.project_id}"
    rest = (
        "protected_branches",
        "protected_branches/main",
        "protected_tags",
        "resource_groups",
        "resource_groups/live",
    )
    more = ("merge_trains", "merge_trains/main", "pipelines/1/variables", "secure_files")
    async with site.client(developer) as client:
        before = {path: (await client.get(f"{project}/{path}")).status_code for path in (*rest, *more)}
        await site.set_project(archived=True)
        assert {path: (await client.get(f"{project}/{path}")).status_code for path in before} == before
        mode = await client.put(f"{project}/resource_groups/live", json={"process_mode": "newest_first"})
    assert set(before.values()) == {200}
    assert mode.status_code == 403
