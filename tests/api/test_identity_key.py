"""The key by which jobs identify themselves is RSA: making the first one takes a while, for which nobody waits."""

import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from auth.registry_token import SERVICE
from tests.api.v4.site import Site, open_site


async def _registry(site: Site) -> None:
    await site.world.pipeline()
    who = ("gitlab-ci-token", (await site.world.job())["token"])
    async with site.client() as client:
        response = await client.get("/jwt/auth", params={"service": SERVICE}, auth=who)
    assert response.status_code == 200, response.text


async def _id_token(site: Site) -> None:
    await site.world.pipeline("deploy: {script: a, id_tokens: {VAULT: {aud: https://vault.example.com}}}\n")
    assert "VAULT" in {item["key"] for item in (await site.world.job())["variables"]}


async def _public_keys(site: Site) -> None:
    async with site.client() as client:
        assert (await client.get("/oauth/discovery/keys")).status_code == 200


@pytest.mark.parametrize("first_use", [_registry, _id_token, _public_keys])
async def test_the_first_key_is_not_made_on_the_event_loop(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, first_use: Callable[[Site], Awaitable[None]]
) -> None:
    makers: list[threading.Thread] = []

    def watched(*args: Any) -> Any:
        makers.append(threading.current_thread())
        return generate_private_key(*args)

    monkeypatch.setattr("auth.keys.generate_private_key", watched)
    async with open_site(tmp_path, database_url, registry_url="registry.example:5000") as site:
        await first_use(site)
    assert len(makers) == 1
    assert makers[0] is not threading.main_thread()
