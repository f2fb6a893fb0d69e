"""The token endpoint of the container registry: what is granted, to whom, and how it is asked for."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from auth.job_token import own_scopes
from auth.registry_token import ISSUER, SERVICE
from tests.api.v4.site import Site, open_site

NOBODY = ("", "")


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation with a registry."""
    async with open_site(tmp_path, database_url, registry_url="registry.example:5000") as opened:
        yield opened


async def ask(site: Site, scopes: tuple[str, ...], who: tuple[str, str] = NOBODY, **more: str) -> httpx.Response:
    """Ask for a token as skopeo does."""
    query = {"service": SERVICE, "offline_token": "true", "scope": scopes, **more}
    async with site.client() as client:
        return await client.get("/jwt/auth", params=query, auth=who if any(who) else None)


def granted(site: Site, response: httpx.Response) -> dict[str, list[str]]:
    """What a token permits, by repository, read as the registry does."""
    assert response.status_code == 200, response.text
    document = response.json()
    assert document["token"] == document["access_token"]
    assert document["expires_in"] == 300
    key = site.services.identity_keys.signer().public
    claims: dict[str, Any] = jwt.decode(
        document["token"], key, algorithms=["RS256"], audience=SERVICE, issuer=ISSUER, leeway=0
    )
    assert claims["exp"] - claims["iat"] == 300
    return {item["name"]: item["actions"] for item in claims["access"]}


def refused(response: httpx.Response) -> tuple[int, str, str]:
    """Status, code and words of a refusal in the form of the distribution registry: container tools show no other."""
    [error] = response.json()["errors"]
    return response.status_code, error["code"], error["message"]


async def running_job(site: Site) -> tuple[dict[str, Any], tuple[str, str]]:
    """A job that runs, and how it signs in."""
    await site.world.pipeline()
    job = await site.world.job()
    return job, ("gitlab-ci-token", job["token"])


async def test_a_job_gets_what_it_asks_for_of_its_own_project(site: Site) -> None:
    _, who = await running_job(site)
    path = await site.path()
    scopes = (f"repository:{path}:pull", f"repository:{path}/tools/cc:push,pull", f"repository:{path}/x:delete,*")
    assert granted(site, await ask(site, scopes, who)) == {path: ["pull"], f"{path}/tools/cc": ["pull", "push"]}


@pytest.mark.parametrize(
    "scope",
    [
        "repository:nobody/nothing:pull",
        "repository:{path}x:pull",
        "repository:{top}:pull",
        "repository:{path}:delete",
        "repository:../{path}:pull",
        "repository:{path}/../x:pull",
        "repository:{path}/.-x:pull",
        "repository:{path}//x:pull",
        "repository(plugin):{path}:pull",
        "registry:catalog:*",
        "nonsense",
    ],
)
async def test_whoever_gets_nothing_of_what_was_asked_for_is_refused(site: Site, scope: str) -> None:
    _, who = await running_job(site)
    path = await site.path()
    asked = (scope.format(path=path, top=path.partition("/")[0]),)
    forbidden, unknown = refused(await ask(site, asked, who)), refused(await ask(site, asked))
    assert forbidden == (403, "DENIED", "Forbidden: you may do nothing of that with these images.")
    assert unknown == (401, "UNAUTHORIZED", "Unauthorized: sign in with a personal access token or a job token.")


async def test_what_is_forbidden_does_not_take_away_what_is_permitted(site: Site) -> None:
    _, who = await running_job(site)
    path = await site.path()
    asked = ("repository:nobody/nothing:pull", f"repository:{path}:pull")
    assert granted(site, await ask(site, asked, who)) == {path: ["pull"]}


async def test_a_job_that_has_ended_gets_nothing(site: Site) -> None:
    job, who = await running_job(site)
    await site.world.put(job, "success", b"")
    response = await ask(site, (f"repository:{await site.path()}:pull",), who)
    assert (*refused(response)[:2], response.headers["job-status"]) == (403, "DENIED", "success")


async def test_the_job_of_somebody_who_is_blocked_gets_nothing(site: Site) -> None:
    _, who = await running_job(site)
    await site.block(site.root)
    response = await ask(site, (f"repository:{await site.path()}:pull",), who)
    assert refused(response)[:2] == (401, "UNAUTHORIZED")


async def test_a_job_gets_no_more_than_its_token_names(site: Site) -> None:
    job, _ = await running_job(site)
    claims = site.services.job_tokens.read(job["token"])
    pull = f"registry:pull:{claims.project_id}"
    assert pull in own_scopes(claims.project_id)
    narrow = site.services.job_tokens.issue(replace(claims, scopes=(pull,)), 60, site.services.clock())
    path = await site.path()
    response = await ask(site, (f"repository:{path}:pull,push",), ("gitlab-ci-token", narrow))
    assert granted(site, response) == {path: ["pull"]}


@pytest.mark.parametrize(("level", "actions"), [(20, ["pull"]), (30, ["pull", "push"])])
async def test_a_person_gets_what_the_level_permits(site: Site, level: int, actions: list[str]) -> None:
    person = await site.person("ada", level=level)
    path = await site.path()
    response = await ask(site, (f"repository:{path}:pull,push",), ("ada", person.token))
    assert granted(site, response) == {path: actions}


async def test_who_signs_in_asks_for_nothing_yet(site: Site) -> None:
    assert granted(site, await ask(site, (), ("root", site.root.token))) == {}
    assert (await ask(site, ())).status_code == 401


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        ("glpat-wrong", "That access token was revoked"),
        ("gldt-wrong", "That deploy token was revoked"),
        ("glrt-wrong", "That is the token of a runner"),
        ("secret", "That is no access token"),
    ],
)
async def test_who_shows_a_wrong_secret_reads_what_is_wrong_with_it(site: Site, secret: str, why: str) -> None:
    status, code, words = refused(await ask(site, (), ("root", secret)))
    assert (status, code) == (401, "UNAUTHORIZED")
    assert words.startswith(f"HTTP Basic: Access denied. {why}")


async def test_a_stranger_pulls_public_images_and_a_job_too(site: Site) -> None:
    _, who = await running_job(site)
    path = await site.path()
    await site.set_project(visibility="public")
    scope = (f"repository:{path}:pull,push",)
    assert granted(site, await ask(site, scope)) == {path: ["pull"]}
    assert granted(site, await ask(site, scope, who)) == {path: ["pull", "push"]}


async def test_clients_of_oauth_ask_by_form(site: Site) -> None:
    path = await site.path()
    form = {
        "grant_type": "password",
        "service": SERVICE,
        "client_id": "tests",
        "access_type": "offline",
        "scope": f"repository:{path}:pull repository:{path}/x:push",
        "username": "root",
        "password": site.root.token,
    }
    async with site.client() as client:
        response = await client.post("/jwt/auth", data=form)
        assert granted(site, response) == {path: ["pull"], f"{path}/x": ["push"]}
        assert (await client.post("/jwt/auth", data={**form, "password": "glpat-wrong"})).status_code == 401


async def test_another_service_is_none_of_ours(site: Site) -> None:
    async with site.client() as client:
        response = await client.get("/jwt/auth", params={"service": "elsewhere"}, auth=("root", site.root.token))
    assert refused(response)[:2] == (400, "UNSUPPORTED")


async def test_without_a_registry_there_is_nothing_to_sign_in_to(tmp_path: Path, database_url: str) -> None:
    async with open_site(tmp_path, database_url) as site:
        job, who = await running_job(site)
        assert refused(await ask(site, (), who))[:2] == (404, "UNAVAILABLE")
        assert job["credentials"] == []
        assert not [item for item in job["variables"] if item["key"].startswith("CI_REGISTRY")]
