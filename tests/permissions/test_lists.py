"""What each person has in their lists: all that they may open by itself, and nothing else."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from models.repositories.accounts import accounts
from tests.api.v4.site import Person, Site, open_site

VISIBILITIES = ("private", "internal", "public")
CONFIG = "one: {script: x}\n"


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """One group and one project in it of each visibility; the world's own project is private and has a pipeline."""
    async with open_site(tmp_path, database_url) as opened:
        async with opened.client(opened.root) as client:
            for visibility in VISIBILITIES:
                named = {"name": visibility, "path": f"g-{visibility}", "visibility": visibility}
                group = (await client.post("/api/v4/groups", json=named)).json()
                project = {"name": visibility, "namespace_id": group["id"], "visibility": visibility}
                assert (await client.post("/api/v4/projects", json=project)).status_code == 201
        await opened.world.pipeline(CONFIG)
        yield opened


async def people(site: Site) -> dict[str, Person | None]:
    """One of each kind, members of the world's project where a level is named."""
    levels = {"guest": 10, "reporter": 20, "outsider": 0, "external": 0}
    found: dict[str, Person | None] = {name: await site.person(name, level) for name, level in levels.items()}
    external = found["external"]
    assert external is not None
    async with site.services.database.write() as connection:
        await accounts.change(connection, external.id, external=True)
    return {**found, "root": site.root, "nobody": None}


async def everything(site: Site, kind: str) -> dict[int, str]:
    async with site.client(site.root) as client:
        items = (await client.get(f"/api/v4/{kind}?per_page=100")).json()
        return {item["id"]: item.get("path_with_namespace", item.get("full_path")) for item in items}


@pytest.mark.parametrize("kind", ["projects", "groups"])
async def test_a_list_has_what_may_be_opened(site: Site, kind: str) -> None:
    known = await everything(site, kind)
    assert len(known) >= len(VISIBILITIES)
    for name, person in (await people(site)).items():
        async with site.client(person) as client:
            listed = {item["id"] for item in (await client.get(f"/api/v4/{kind}?per_page=100")).json()}
            opened = {key for key in known if (await client.get(f"/api/v4/{kind}/{key}")).status_code == 200}
            assert listed == opened, (name, kind)
            page = (await client.get("/")).text
            if kind == "projects":
                assert {key for key, path in known.items() if f">{path}<" in page} == opened, name
                answered = {key for key, path in known.items() if (await client.get(f"/{path}")).status_code == 200}
                assert {key for key, path in known.items() if f'href="/{path}"' in page} == answered, name
            for project in known if kind == "projects" else ():
                pipelines = await client.get(f"/api/v4/projects/{project}/pipelines")
                may_read = pipelines.status_code == 200 and bool(pipelines.json())
                assert (f"/{known[project]}/-/pipelines/" in page) == may_read, (name, known[project])


async def test_a_search_finds_what_is_listed_and_nothing_else(site: Site) -> None:
    known = await everything(site, "projects")
    async with site.client(site.root) as client:
        for key in known:
            milestone = {"title": "planned"}
            assert (await client.post(f"/api/v4/projects/{key}/milestones", json=milestone)).status_code == 201
    for name, person in (await people(site)).items():
        if person is None:
            continue
        async with site.client(person) as client:

            async def found(scope: str, text: str, client: httpx.AsyncClient = client) -> set[int]:
                response = await client.get("/api/v4/search", params={"scope": scope, "search": text, "per_page": 100})
                return {item["id" if scope == "projects" else "project_id"] for item in response.json()}

            listed = {item["id"] for item in (await client.get("/api/v4/projects?per_page=100")).json()}
            planned = {
                key for key in known if (await client.get(f"/api/v4/projects/{key}/milestones")).status_code == 200
            }
            assert await found("projects", "/") == listed, name
            assert await found("milestones", "planned") == planned, name


async def test_external_people_see_no_internal_group_for_a_project_in_it(site: Site) -> None:
    external = (await people(site))["external"]
    async with site.client(external) as client:
        assert (await client.get("/api/v4/groups/g-internal")).status_code == 404
        assert (await client.get("/api/v4/groups/g-public/projects")).json() != []
