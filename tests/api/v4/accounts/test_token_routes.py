"""Every token that a door makes names the pod, and what else a router must know of it; older ones are counted."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import orjson
import pytest

from api.startup import CREDENTIALS
from auth.secret_token import digest, plain_token
from domain.pods.routable_token import Route, read_route
from domain.pods.token_prefixes import PERSONAL
from models.repositories.accounts import accounts
from models.repositories.installation import tokens_without_pod
from models.repositories.installation.tokens_without_pod import TokensWithoutPod
from tests.api.v4.site import Site, open_site

POD = 5


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation that is not the first pod."""
    async with open_site(tmp_path, database_url, pod="five", pod_number=POD) as opened:
        yield opened


async def tokens_of_doors(site: Site) -> Mapping[str, tuple[str, Route]]:
    """What each door gives away, and where it must lead."""
    project_id = site.world.project_id
    async with site.client(site.root) as client:
        project = (await client.get(f"/api/v4/projects/{project_id}")).json()
        organisation = project["namespace"]["id"]
        group = f"/groups/{organisation}"
        of_project = Route(POD, organisation, project_id=project_id)

        async def made(path: str, **body: object) -> str:
            response = await client.post(f"/api/v4{path}", json={"name": "t", **body})
            assert response.status_code in (200, 201), response.text
            return str(response.json()["token"])

        async def bot(owner: str) -> tuple[str, int]:
            body = {"name": "bot", "scopes": ["api"], "access_level": 40}
            response = (await client.post(f"/api/v4{owner}/access_tokens", json=body)).json()
            return response["token"], response["user_id"]

        found = {
            "personal": (
                await made("/user/personal_access_tokens", scopes=["read_api"]),
                Route(POD, user_id=site.root.id),
            ),
            "impersonation": (
                await made(f"/users/{site.root.id}/impersonation_tokens", scopes=["read_api"]),
                Route(POD, user_id=site.root.id),
            ),
            "trigger": (await made(f"/projects/{project_id}/triggers", description="d"), of_project),
            "deploy of a project": (
                await made(f"/projects/{project_id}/deploy_tokens", scopes=["read_repository"]),
                of_project,
            ),
            "deploy of a group": (
                await made(f"{group}/deploy_tokens", scopes=["read_repository"]),
                Route(POD, organisation, group_id=organisation),
            ),
            "registration": (await made("/runners/reset_registration_token"), Route(POD)),
            "registration of a group": (
                await made(f"{group}/runners/reset_registration_token"),
                Route(POD, organisation),
            ),
            "registration of a project": (
                await made(f"/projects/{project_id}/runners/reset_registration_token"),
                Route(POD, organisation),
            ),
            "instance runner": (await made("/user/runners", runner_type="instance_type"), Route(POD, 0, 1)),
            "group runner": (
                await made("/user/runners", runner_type="group_type", group_id=organisation),
                Route(POD, organisation, 2),
            ),
            "project runner": (
                await made("/user/runners", runner_type="project_type", project_id=project_id),
                Route(POD, organisation, 3),
            ),
        }
        for owner in (f"/projects/{project_id}", group):
            token, user_id = await bot(owner)
            found[f"bot of {owner}"] = token, Route(POD, organisation, user_id=user_id)
            headers = {"PRIVATE-TOKEN": token}
            rotated = await client.post("/api/v4/personal_access_tokens/self/rotate", headers=headers)
            found[f"rotated bot of {owner}"] = rotated.json()["token"], Route(POD, organisation, user_id=user_id)
    return found


async def test_every_token_that_a_door_makes_names_its_pod(site: Site) -> None:
    found = await tokens_of_doors(site)
    assert {name: read_route(token) for name, (token, _) in found.items()} == {
        name: route for name, (_, route) in found.items()
    }


async def test_those_of_the_first_start_name_it_too(site: Site) -> None:
    kept = orjson.loads((site.services.settings.home / CREDENTIALS).read_bytes())
    assert {read_route(kept[name]) for name in ("token", "registration_token")} == {Route(POD)}


async def without_pod(site: Site) -> TokensWithoutPod:
    async with site.services.database.read() as connection:
        return await tokens_without_pod.count(connection, site.services.clock())


async def test_older_ones_are_good_and_counted_until_they_are_rotated(site: Site) -> None:
    await tokens_of_doors(site)
    before = await without_pod(site)
    older, now = plain_token(PERSONAL), site.services.clock()
    async with site.services.database.write() as connection:
        await accounts.add_token(connection, site.root.id, "older", digest(older), now)
    assert (await without_pod(site)).access_tokens == before.access_tokens + 1
    assert (before.deploy_tokens, before.trigger_tokens, before.registration_tokens) == (0, 0, 0)
    async with site.client(headers={"PRIVATE-TOKEN": older}) as client:
        rotated = await client.post("/api/v4/personal_access_tokens/self/rotate")
    assert read_route(rotated.json()["token"]) == Route(POD, user_id=site.root.id)
    assert await without_pod(site) == before
