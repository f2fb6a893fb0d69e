"""`Idempotency-Key`: the same call again gets the same response, and is carried out once."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from models.repositories.installation import idempotent_calls
from models.repositories.namespaces import namespaces
from tests.api.v4.site import Person, Site

pytestmark = pytest.mark.both_databases

GROUP = {"name": "Once", "path": "once"}


async def post(site: Site, key: str, body: Any = None, path: str = "/groups", person: Person | None = None) -> Any:
    async with site.client(person or site.root) as client:
        return await client.post(f"/api/v4{path}", json=body or GROUP, headers={"Idempotency-Key": key})


async def groups(site: Site) -> list[str]:
    async with site.client(site.root) as client:
        return [item["path"] for item in (await client.get("/api/v4/groups?search=once")).json()]


async def test_the_same_call_again_gets_the_same_answer(site: Site) -> None:
    first = await post(site, "k1")
    again = await post(site, "k1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert await groups(site) == ["once"]
    assert (await post(site, "k2")).status_code == 400  # another key is another call: the path is taken now


async def test_a_refusal_is_an_answer_too(site: Site) -> None:
    wrong = {"name": "x", "path": "-wrong-"}
    first, again = await post(site, "k1", wrong), await post(site, "k1", wrong)
    assert (first.status_code, again.status_code, again.json()) == (400, 400, first.json())


async def test_a_key_is_for_one_call(site: Site) -> None:
    await post(site, "k1")
    other = await post(site, "k1", {"name": "Other", "path": "once-more"})
    assert (other.status_code, "another call" in other.json()["message"]) == (422, True)
    assert await groups(site) == ["once"]


async def test_two_people_may_use_the_same_key(site: Site) -> None:
    person = await site.person("ada")
    mine = await post(site, "k1", {"name": "x", "path": "once-a"})
    theirs = await post(site, "k1", {"name": "x", "path": "once-b"}, person=person)
    assert (mine.status_code, theirs.status_code) == (201, 201)


async def test_calls_at_the_same_moment_are_carried_out_once(site: Site) -> None:
    responses: list[httpx.Response] = await asyncio.gather(*(post(site, "k1") for _ in range(5)))
    codes = sorted(response.status_code for response in responses)
    assert set(codes) <= {201, 409}
    assert 201 in codes
    assert await groups(site) == ["once"]


async def test_a_call_whose_process_died_is_never_carried_out_again_under_its_key(site: Site) -> None:
    first = await post(site, "k1")
    assert first.status_code == 201
    async with site.services.database.write() as connection:
        values = {"status": None, "answer": b""}
        await connection.execute(idempotent_calls.call.update().values(**values))
    again = await post(site, "k1")
    assert (again.status_code, "Look whether it was done" in again.json()["message"]) == (409, True)


async def test_a_failure_of_ours_can_be_tried_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    real = namespaces.create

    async def fails(*_: Any, **__: Any) -> int:
        raise RuntimeError("boom")

    monkeypatch.setattr(namespaces, "create", fails)
    assert (await post(site, "k1")).status_code == 500
    monkeypatch.setattr(namespaces, "create", real)
    assert (await post(site, "k1")).status_code == 201


async def test_answers_with_secrets_are_kept_sealed(site: Site) -> None:
    body = {"name": "t", "scopes": ["api"]}
    made = await post(site, "k1", body, "/user/personal_access_tokens")
    async with site.services.database.read() as connection:
        (row,) = (await connection.execute(idempotent_calls.call.select())).all()
    assert made.json()["token"].encode() not in row.answer
    again = await post(site, "k1", body, "/user/personal_access_tokens")
    assert again.json()["token"] == made.json()["token"]


@pytest.mark.parametrize("key", ["", " ", "x" * 256])
async def test_what_is_no_key_is_refused(site: Site, key: str) -> None:
    response = await post(site, key)
    assert (response.status_code, "Idempotency-Key" in response.json()["message"]) == (400, True)
    assert await groups(site) == []


async def kept(site: Site) -> int:
    async with site.services.database.read() as connection:
        counted = select(func.count()).select_from(idempotent_calls.call)
        return int((await connection.execute(counted)).scalar_one())


async def test_a_revoked_token_gets_no_answer_of_before(site: Site) -> None:
    async with site.client(site.root) as client:
        new = {"name": "n", "scopes": ["api"], "expires_at": str(site.services.clock().date() + timedelta(days=9))}
        made = (await client.post("/api/v4/users/1/personal_access_tokens", json=new)).json()
        shown = {"PRIVATE-TOKEN": made["token"], "Idempotency-Key": "k"}
        assert (await client.post("/api/v4/groups", json=GROUP, headers=shown)).status_code == 201
        assert (await client.delete(f"/api/v4/personal_access_tokens/{made['id']}")).status_code == 204
        again = await client.post("/api/v4/groups", json=GROUP, headers=shown)
    assert (again.status_code, "id" in again.json()) == (401, False)


async def test_who_is_not_signed_in_keeps_nothing(site: Site) -> None:
    """Nobody could say whose a response is; and strangers would fill the database, a day for each key."""
    before = await kept(site)
    async with site.client() as client:
        for path, body in (("/markdown", {"text": "x"}), ("/groups", GROUP), ("/runners", {"token": "wrong"})):
            first, again = [
                await client.post(f"/api/v4{path}", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2)
            ]
            assert first.status_code == again.status_code
            assert first.status_code in {401, 403}
            assert "idempotent-replayed" not in again.headers
    assert await kept(site) == before


async def test_a_word_that_is_no_token_keeps_nothing(site: Site) -> None:
    before = await kept(site)
    async with site.client(headers={"PRIVATE-TOKEN": "wrong"}) as client:
        assert (await client.post("/api/v4/groups", json=GROUP, headers={"Idempotency-Key": "k"})).status_code == 401
    assert await kept(site) == before
