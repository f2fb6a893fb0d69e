"""The palette: it finds what its reader may see, and nothing else."""

import re

from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site


async def found(site: Site, query: str, person: object = None, **parameters: str) -> list[str]:
    async with browser(site, person) as client:  # type: ignore[arg-type]  # a person or nobody
        response = await client.get("/-/palette", params={"q": query, **parameters})
    assert response.status_code == 200
    return re.findall(r'<a href="([^"]+)"', response.text)


async def test_projects_sections_pipelines_and_jobs_are_found(site: Site) -> None:
    pipeline = await site.world.pipeline("one: {script: x}\n")
    job = await site.world.job()
    project = str(site.world.project_id)
    path = "/" + await site.path()
    assert path in await found(site, path.rpartition("/")[2], site.root)
    assert await found(site, "sched", site.root, project=project) == [f"{path}/-/pipeline_schedules"]
    assert f"{path}/-/pipelines/{pipeline}" in await found(site, str(pipeline), site.root, project=project)
    assert f"{path}/-/jobs/{job['id']}" in await found(site, f"#{job['id']}", site.root, project=project)
    for nothing in ("9" * 14, "9" * 30, "<script>", "%", "\u202e"):
        assert await found(site, nothing, site.root, project=project) == []


async def test_strangers_find_nothing_private(site: Site) -> None:
    pipeline = await site.world.pipeline("one: {script: x}\n")
    eve = await site.person("eve")
    for person in (None, eve):
        assert await found(site, str(pipeline), person, project=str(site.world.project_id)) == []
        assert await found(site, "", person) == []


async def test_guests_find_no_project_whose_page_is_refused_to_them(site: Site) -> None:
    path = "/" + await site.path()
    assert await found(site, "", await site.person("guest", 10)) == []
    assert await found(site, "", await site.person("reporter", 20)) == [path]
