"""The table of REST resources says of each route, and of each resource without one, what is so."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.v4.rest_resources import RESOURCES, State, resource_of
from tests.api.v4.site import Site, open_site
from tests.docs.rest_table import PAGE, page
from tests.permissions.routes import every_route

PREFIX = "/api/v4"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """An installation with one private project."""
    async with open_site(tmp_path, "") as opened:
        yield opened


def test_the_page_has_the_tables_of_now() -> None:
    assert PAGE.read_text() == page(PAGE.read_text()), "run `python -m tests.docs.rest_table`"


async def test_each_route_has_a_resource_that_is_served_and_each_of_those_has_a_route(site: Site) -> None:
    routes = [path.removeprefix(PREFIX) for _, path in every_route(site.services) if path.startswith(PREFIX)]
    owners = {path: resource_of(path) for path in routes}
    assert [path for path, owner in owners.items() if owner is None or owner.state is State.NOT] == []
    with_routes = {owner.name for owner in owners.values() if owner is not None}
    served = {resource.name for resource in RESOURCES if resource.state is not State.NOT}
    assert served - with_routes == set(), "said to be served, and no route is"
    for resource in RESOURCES:
        assert bool(resource.words) == (resource.state is not State.SERVED), resource.name


async def test_what_is_not_part_says_so_to_everybody_and_of_every_project_alike(site: Site) -> None:
    async with site.client(site.root) as root, site.client() as nobody:
        for resource in (each for each in RESOURCES if each.state is State.NOT):
            for path in resource.paths:
                responses = []
                for number in (site.world.project_id, 987654):
                    filled = re.sub(r":\w+", str(number), path)
                    for client in (root, nobody):
                        responses += [await client.get(f"{PREFIX}{filled}"), await client.post(f"{PREFIX}{filled}/1")]
                documents = [response.json() for response in responses]
                assert {response.status_code for response in responses} == {404}, path
                assert all(document == documents[0] for document in documents), path
                assert documents[0]["message"] == "404 Not Found", path
                assert documents[0]["error"] == f"{resource.name}: not part of Perdure; {resource.words}.", path
                assert documents[0]["documentation"] == "docs/rest.md#not-part-of-perdure", path
        encoded = (await nobody.get(f"{PREFIX}/projects/a%2Fb/issues/1/notes")).json()
        assert encoded["error"].startswith("Single issues: not part of Perdure")


@pytest.mark.parametrize("path", ["/nothing", "/projects/1/nothing", "/projects/1/merge_requests/1/nothing", "/"])
async def test_a_path_that_nobody_knows_stays_a_plain_404(site: Site, path: str) -> None:
    async with site.client(site.root) as client:
        response = await client.get(f"{PREFIX}{path}")
    assert (response.status_code, response.json()) == (404, {"message": "404 Not Found"})


async def test_what_a_route_does_not_find_is_no_missing_resource(site: Site) -> None:
    async with site.client(site.root) as client:
        response = await client.get(f"{PREFIX}/projects/987654/jobs")
    assert (response.status_code, response.json()) == (404, {"message": "404 Project Not Found"})
