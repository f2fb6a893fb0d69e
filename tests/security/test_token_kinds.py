"""Each kind of token opens its own door and no other (docs/reference/reliability.md, "Tokens")."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import httpx
import jwt
import pytest

from auth.job_token import PREFIX
from auth.queue_ticket import QueueTickets
from auth.registry_token import ISSUER, SERVICE
from auth.session_token import COOKIE
from tests.security.borrowed_tokens import other_kinds
from tests.security.cast import Cast, cast_of
from tests.security.doors import DOORS, knock
from tests.security.forger import Forger

Opens = Callable[[Cast, httpx.AsyncClient, str], Awaitable[bool]]


@pytest.fixture
async def cast(tmp_path: Path, database_url: str) -> AsyncIterator[Cast]:
    """Everybody in place."""
    async with cast_of(tmp_path, database_url) as made:
        yield made


async def job(cast: Cast, client: httpx.AsyncClient, token: str) -> bool:
    """The job's heartbeat."""
    return (await knock(client, DOORS[0], cast.place, token)).status_code == 200


async def session(cast: Cast, client: httpx.AsyncClient, token: str) -> bool:
    """Who is signed in."""
    return (await client.get("/api/v4/user", headers={"Cookie": f"{COOKIE}={token}"})).status_code == 200


async def personal(cast: Cast, client: httpx.AsyncClient, token: str) -> bool:
    """The person behind a token, in each place where one may stand."""
    ways: list[dict[str, Any]] = [
        {"headers": {"PRIVATE-TOKEN": token}},
        {"headers": {"Authorization": f"Bearer {token}"}},
        {"params": {"private_token": token}},
    ]
    responses = [(await client.get("/api/v4/user", **way)).status_code for way in ways]
    assert len(set(responses)) == 1
    return responses[0] == 200


async def runner(cast: Cast, client: httpx.AsyncClient, token: str) -> bool:
    """A runner that asks whether it is known, and for a job."""
    verified = await client.post("/api/v4/runners/verify", json={"token": token, "system_id": "s_tests"})
    asked = await client.post("/api/v4/jobs/request", json={"token": token, "system_id": "s_tests"})
    assert (verified.status_code == 200) == (asked.status_code in {201, 204})
    return verified.status_code == 200


async def registration(cast: Cast, client: httpx.AsyncClient, token: str) -> bool:
    """A new runner."""
    return (await client.post("/api/v4/runners", json={"token": token})).status_code == 201


async def identity(cast: Cast, client: httpx.AsyncClient, token: str) -> bool:
    """A service elsewhere that verifies jobs with our published keys."""
    keys = jwt.PyJWKSet.from_dict((await client.get("/oauth/discovery/keys")).json())
    settings = cast.site.services.settings
    try:
        key = keys[jwt.get_unverified_header(token)["kid"]]
        jwt.decode(token, key, algorithms=["RS256"], issuer=settings.url, options={"verify_aud": False})
    except (jwt.PyJWTError, KeyError):
        return False
    return True


async def registry(cast: Cast, client: httpx.AsyncClient, token: str) -> bool:
    """A registry as it verifies: by the key in its bundle, for its service, by its issuer."""
    key = cast.site.services.identity_keys.signer().public
    try:
        claims = jwt.decode(token, key, algorithms=["RS256"], audience=SERVICE, issuer=ISSUER)
    except jwt.PyJWTError:
        return False
    return "access" in claims


async def ticket(cast: Cast, client: httpx.AsyncClient, token: str) -> bool:
    """What a runner says it has seen of the queue."""
    services = cast.site.services
    return QueueTickets(services.key, services.settings.pod_number).read(token, runner_id=1) is not None


OPENS: Final[dict[str, Opens]] = {
    "job": job,
    "session": session,
    "personal": personal,
    "runner": runner,
    "registration": registration,
    "identity": identity,
    "registry": registry,
    "ticket": ticket,
}


async def every_kind(cast: Cast) -> dict[str, str]:
    """A good token of each kind."""
    made = other_kinds(Forger(cast))
    return {**made, "job": cast.victim["token"], "personal": cast.site.root.token}


async def test_only_the_diagonal_passes(cast: Cast) -> None:
    tokens = await every_kind(cast)
    assert tokens.keys() == OPENS.keys()
    opened = set()
    async with cast.site.client() as client:
        for door, opens in OPENS.items():
            for kind, token in tokens.items():
                if await opens(cast, client, token):
                    opened.add((kind, door))
    assert opened == {(kind, kind) for kind in OPENS}


async def test_no_prefix_makes_one_kind_another(cast: Cast) -> None:
    tokens = await every_kind(cast)
    opened = set()
    async with cast.site.client() as client:
        for door, opens in OPENS.items():
            for kind, token in tokens.items():
                for dressed in (PREFIX + token, "glpat-" + token, "glrt-" + token, token.removeprefix(PREFIX)):
                    if dressed != token and await opens(cast, client, dressed):
                        opened.add((kind, door))
    assert opened == set()
