"""`id_tokens`: what a job shows to others, verified as others do."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from api.runner.payloads.id_tokens import CLAIMS
from tests.api.runner.world import SHA
from tests.api.v4.site import Site, open_site, serving
from tests.waiting import HANGS

AUDIENCE = "https://vault.example.com"


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation behind a real web server."""
    async with open_site(tmp_path, database_url) as opened, serving(opened):
        yield opened


async def variables_of(site: Site, fields: str, **request: Any) -> dict[str, dict[str, Any]]:
    """The variables of a job with these fields, by name."""
    await site.world.pipeline(f"deploy: {{script: a, {fields}}}\n", **request)
    return {item["key"]: item for item in (await site.world.job())["variables"]}


async def verified(site: Site, token: str, audience: str = AUDIENCE) -> dict[str, Any]:
    """The claims of a token, verified with what discovery says."""
    url = site.services.settings.url
    async with httpx.AsyncClient(timeout=HANGS) as client:
        found = (await client.get(f"{url}/.well-known/openid-configuration")).json()
    assert found["issuer"] == url
    keys = jwt.PyJWKClient(found["jwks_uri"])
    key = await asyncio.to_thread(keys.get_signing_key_from_jwt, token)
    algorithms = found["id_token_signing_alg_values_supported"]
    claims: dict[str, Any] = jwt.decode(token, key, algorithms=algorithms, audience=audience, issuer=found["issuer"])
    assert claims.keys() <= set(found["claims_supported"])
    return claims


async def test_others_can_verify_who_a_job_is(site: Site) -> None:
    variables = await variables_of(site, f"id_tokens: {{VAULT: {{aud: '{AUDIENCE}'}}}}, timeout: 20 minutes")
    token = variables["VAULT"]
    assert (token["masked"], token["public"], token["raw"], token["file"]) == (True, False, True, False)
    claims = await verified(site, token["value"])
    known = {name: item["value"] for name, item in variables.items()}
    path = await site.path()
    assert claims["sub"] == f"project_path:{path}:ref_type:branch:ref:main"
    assert claims["aud"] == AUDIENCE
    assert claims["exp"] - claims["iat"] == 20 * 60 + 5 * 60
    assert claims["nbf"] <= claims["iat"]
    assert {name: claims[name] for name in claims.keys() - {"sub", "aud", "exp", "iat", "nbf", "jti", "iss"}} == {
        "namespace_id": claims["namespace_id"],
        "namespace_path": path.partition("/")[0],
        "project_id": known["CI_PROJECT_ID"],
        "project_path": path,
        "project_visibility": "private",
        "user_id": str(site.root.id),
        "user_login": "root",
        "user_email": known["GITLAB_USER_EMAIL"],
        "user_access_level": "owner",
        "pipeline_id": known["CI_PIPELINE_ID"],
        "pipeline_source": "push",
        "job_id": known["CI_JOB_ID"],
        "ref": "main",
        "ref_type": "branch",
        "ref_path": "refs/heads/main",
        "ref_protected": known["CI_COMMIT_REF_PROTECTED"],
        "sha": SHA,
        "runner_id": site.world.runner_id,
        "runner_environment": "self-hosted",
        "ci_config_ref_uri": f"{known['CI_SERVER_FQDN']}/{path}//.gitlab-ci.yml@refs/heads/main",
        "ci_config_sha": SHA,
    }


async def test_the_place_of_the_configuration_has_the_port_of_the_server(site: Site) -> None:
    """Nothing that a configuration may set: whoever trusts a token trusts this claim."""
    fields = f"id_tokens: {{VAULT: {{aud: '{AUDIENCE}'}}}}, variables: {{CI_SERVER_FQDN: evil.example}}"
    claims = await verified(site, (await variables_of(site, fields))["VAULT"]["value"])
    server = site.services.settings.url.removeprefix("http://")
    assert server.rpartition(":")[2].isdecimal()
    assert claims["ci_config_ref_uri"] == f"{server}/{await site.path()}//.gitlab-ci.yml@refs/heads/main"


async def test_the_place_of_the_configuration_is_the_file_of_the_project(site: Site) -> None:
    await site.set_project(config_path="ci/main.yml")
    fields = f"id_tokens: {{VAULT: {{aud: '{AUDIENCE}'}}}}"
    claims = await verified(site, (await variables_of(site, fields))["VAULT"]["value"])
    assert f"{await site.path()}//ci/main.yml@refs/heads/main" in claims["ci_config_ref_uri"]


async def test_a_configuration_from_elsewhere_has_no_place_in_the_project(site: Site) -> None:
    await site.set_project(config_path="https://ci.example/shared.yml")
    fields = f"id_tokens: {{VAULT: {{aud: '{AUDIENCE}'}}}}"
    claims = await verified(site, (await variables_of(site, fields))["VAULT"]["value"])
    assert {"ci_config_ref_uri", "ci_config_sha"} & claims.keys() == set()


async def test_a_job_with_an_environment_says_where_it_deploys(site: Site) -> None:
    fields = f"id_tokens: {{VAULT: {{aud: '{AUDIENCE}'}}}}, environment: {{name: review/x, action: prepare}}"
    claims = await verified(site, (await variables_of(site, fields))["VAULT"]["value"])
    assert {name: claims[name] for name in CLAIMS if "environment" in name and name != "runner_environment"} == {
        "environment": "review/x",
        "environment_protected": "false",
        "environment_action": "prepare",
    }
    assert claims["deployment_tier"] == "development"


async def test_each_token_has_its_audience_and_other_variables_may_speak_of_it(site: Site) -> None:
    fields = (
        "id_tokens: {ONE: {aud: 'https://$CI_PROJECT_NAME.example'}, TWO: {aud: [a, b]}}, variables: {COPY: 'x-$ONE'}"
    )
    variables = await variables_of(site, fields)
    one, two = (variables[name]["value"] for name in ("ONE", "TWO"))
    name = variables["CI_PROJECT_NAME"]["value"]
    assert (await verified(site, one, f"https://{name}.example"))["aud"] == f"https://{name}.example"
    assert (await verified(site, two, "b"))["aud"] == ["a", "b"]
    assert variables["COPY"]["value"] == f"x-{one}"
    with pytest.raises(jwt.InvalidAudienceError):
        await verified(site, one, "a")


async def test_nobody_can_put_another_value_in_place_of_a_token(site: Site) -> None:
    fields = f"id_tokens: {{VAULT: {{aud: '{AUDIENCE}'}}}}, variables: {{VAULT: mine}}"
    variables = await variables_of(site, fields, variables=({"key": "VAULT", "value": "mine"},))
    assert (await verified(site, variables["VAULT"]["value"]))["job_id"] == variables["CI_JOB_ID"]["value"]


async def test_keys_are_listed_before_they_sign_and_only_their_public_half(site: Site) -> None:
    ring = site.services.identity_keys
    old = ring.signer().kid
    new = ring.rotate().key.kid
    async with site.client() as client:
        pages = [(await client.get(path)).json() for path in ("/oauth/discovery/keys", "/-/jwks")]
    assert pages[0] == pages[1]
    assert [key["kid"] for key in pages[0]["keys"]] == [old, new]
    assert all(key.keys() == {"kty", "n", "e", "kid", "use", "alg", "x5c"} for key in pages[0]["keys"])
    assert ring.signer().kid == old


async def test_a_job_without_id_tokens_makes_no_key(site: Site) -> None:
    await variables_of(site, "timeout: 1 hour")
    assert not list((site.services.settings.home / "keys").glob("identity*"))
