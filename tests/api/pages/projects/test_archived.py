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
