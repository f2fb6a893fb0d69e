"""No crafted token opens a door of jobs, and none changes anything.

Source: docs/reference/reliability.md, "Tokens".
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.app import create_framework
from auth.job_token import PREFIX, JobTokens
from auth.registry_token import SERVICE
from domain.errors import Forbidden
from tests.auth.rings import ring_of
from tests.auth.test_job_token import CLAIMS, NOW
from tests.security.cast import Cast, cast_of, tables
from tests.security.doors import DEPLOYMENT, DOORS, knock, plain, routes_of, shown
from tests.security.forger import Forger
from tests.security.forgeries import FORGERIES, OF_ANOTHER_JOB

pytestmark = pytest.mark.slow

REFUSED = {401, 403}
ELSEWHERE = {"another project's job's", "another organisation's job's"}
"""Good tokens of running jobs, forged into nothing: what any job may open they open."""
RING = ring_of()
TOKEN = JobTokens(RING).issue(CLAIMS, 3600, NOW)


@pytest.fixture
async def cast(tmp_path: Path, database_url: str) -> AsyncIterator[Cast]:
    """Everybody in place."""
    async with cast_of(tmp_path, database_url) as made:
        yield made


async def test_a_good_token_opens_every_door(cast: Cast) -> None:
    """Otherwise that a forged one opens none would mean nothing."""
    async with cast.site.client() as client:
        for door in DOORS:
            status = (await knock(client, door, cast.place, cast.victim["token"])).status_code
            if door.rest:
                assert status not in {*REFUSED, *range(500, 600)}, (str(door), status)
            else:
                assert (status in range(200, 300)) == door.opens, (str(door), status)


async def test_no_crafted_token_opens_any_door_or_changes_anything(cast: Cast) -> None:
    forger = Forger(cast)
    tokens = {name: make(forger) for name, make in FORGERIES.items()}
    before = await tables(cast.site)
    opened = []
    async with cast.site.client() as client:
        for name, token in sorted(tokens.items(), key=lambda item: item[0] in ELSEWHERE):
            for door in DOORS:
                status = (await knock(client, door, cast.place, token)).status_code
                # A project that does not let a job of another one in is not there for it.
                is_stranger = name in ELSEWHERE and (status == 404 or door.route == "/api/v4/job")
                if status not in REFUSED and not is_stranger:
                    opened.append((name, str(door), status))
            if name not in ELSEWHERE:
                assert before == await tables(cast.site), name
    assert opened == []
    # Tokens of other jobs are good ones, and renew the leases of these.
    assert before | {"lease": ""} == await tables(cast.site) | {"lease": ""}
    assert len(tokens) >= 40


async def test_a_good_token_of_another_job_opens_nothing_of_this_one(cast: Cast) -> None:
    forger = Forger(cast)
    before = await tables(cast.site)
    async with cast.site.client() as client:
        for make in OF_ANOTHER_JOB.values():
            for door in DOORS:
                if not door.rest and (door.names_job or "artifacts" in door.route):
                    response = await knock(client, door, cast.place, make(forger))
                    assert response.status_code == 403, str(door)
    assert await tables(cast.site) == before


@pytest.mark.parametrize("state", ["finished", "retried"])
async def test_a_job_that_has_ended_is_told_so_at_each_of_its_doors(cast: Cast, state: str) -> None:
    job = getattr(cast, state)
    place = type(cast.place)(**{**vars(cast.place), "job_id": job["id"]})
    before = await tables(cast.site)
    async with cast.site.client() as client:
        for door in DOORS:
            if door.opens and door.route != "/api/v4/jobs/{job_id:int}/artifacts":
                response = await knock(client, door, place, job["token"])
                told = response.headers.get("job-status")
                assert (response.status_code, told) == (403, "success" if state == "finished" else "failed"), str(door)
    assert await tables(cast.site) == before


async def test_every_route_that_reads_job_tokens_has_a_door_here(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token is shown at every route of the application in every way: only doors of the table look at it."""
    seen: set[str] = set()
    looked: list[str] = []
    read = cast.site.services.job_tokens.read

    def listening(token: str) -> Any:
        looked.append(token)
        return read(token)

    monkeypatch.setattr(cast.site.services.job_tokens, "read", listening)
    ended = cast.finished["token"]
    async with cast.site.client() as client:
        for method, route in routes_of(create_framework(cast.site.services)):
            for response in [_shown_everywhere(client, cast, method, route, ended, ways) for ways in range(3)]:
                looked.clear()
                await response
                if looked:
                    seen.add(f"{method} {route}")
    assert seen == {str(door) for door in DOORS}


class _Names(dict[str, Any]):
    """What paths name; a name that no door has is 1."""

    def __missing__(self, name: str) -> str:
        return "1"


async def _shown_everywhere(
    client: httpx.AsyncClient, cast: Cast, method: str, route: str, token: str, ways: int
) -> None:
    """Show a token in header, query and body, by name and password, or as bearer."""
    names = _Names(vars(cast.place))
    path = plain(route).format_map(names)
    service = SERVICE if ways else "git-upload-pack"
    basic = shown(DOORS[5], token)["Authorization"]
    headers: dict[str, Any] = {
        "Authorization": f"Bearer {token}".encode() if ways == 2 else basic,
        "Content-Range": "0-0",
        "Job-Token" if ways != 2 else "X-Nothing": token,
    }
    body: dict[str, Any] = {
        "token": token,
        "service": service,
        "password": token,
        "tag_name": "v1",
        "ref": "main",
        "name": "x",
    }
    body |= {"url": "https://example.com/x", **DEPLOYMENT}
    query = {"service": service, "token": token}
    with_body: dict[str, Any] = {} if method == "GET" else {"json": body}
    with suppress(TimeoutError):  # a stream of events has no end
        async with asyncio.timeout(2):
            await client.request(method, path, params=query, headers=headers, **with_body)


def refused(token: str) -> bool:
    """Whether a token is refused by whoever never saw it."""
    try:
        JobTokens(RING).read(token)
    except Forbidden:
        return True
    return False


def test_no_flipped_bit_is_overlooked() -> None:
    """Each bit of each letter of a good token, one at a time: some 7,000 tokens."""
    assert not refused(TOKEN)
    raw = TOKEN.encode()
    for place in range(len(raw)):
        for bit in range(8):
            other = raw[:place] + bytes([raw[place] ^ (1 << bit)]) + raw[place + 1 :]
            assert refused(other.decode("latin-1")), (place, bit)


@settings(max_examples=500)
@given(st.data())
def test_no_mutation_is_overlooked(data: st.DataObject) -> None:
    letters = list(TOKEN)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(letters) - 1))
        change = data.draw(st.sampled_from(["replace", "insert", "remove", "swap"]))
        if change == "replace":
            letters[place] = data.draw(st.characters(codec="utf-8"))
        elif change == "insert":
            letters.insert(place, data.draw(st.characters(codec="utf-8")))
        elif change == "swap":
            other = data.draw(st.integers(0, len(letters) - 1))
            letters[place], letters[other] = letters[other], letters[place]
        elif len(letters) > 1:
            letters.pop(place)
    assert "".join(letters) == TOKEN or refused("".join(letters))


def test_no_part_of_one_token_fits_another() -> None:
    tokens = [JobTokens(RING).issue(CLAIMS, 3600 + number, NOW).removeprefix(PREFIX) for number in range(20)]
    parts = [token.split(".") for token in tokens]
    chance = random.Random(1)
    for _ in range(500):
        head, body, signature = (chance.choice(parts)[place] for place in range(3))
        token = f"{head}.{body}.{signature}"
        assert token in tokens or refused(PREFIX + token)
