"""The HTTP interface of the directory: pods, claims, placement, and what readers see of them."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from tests.pods.directory.served import Served, an_id, public_keys, take
from tests.waiting import HANGS

BLOCK = 2**40
CLAIM = f"/v1/claims/{UUID(int=1)}"


async def test_a_pod_is_made_changed_and_removed_for_ever(directory: Served) -> None:
    body = {"name": "nine", "address": "10.0.0.9:8930", "weight": 5, "state": "draining"}
    made = {"number": 9, **body}
    assert await directory.call("PUT", "/v1/pods/9", body=body) == (200, made)
    version = (await directory.all())["version"]
    assert await directory.call("PUT", "/v1/pods/9", body=body) == (200, made)
    assert (await directory.all())["version"] == version, "the same again changes nothing"
    assert (await directory.call("PUT", "/v1/pods/9", body={"weight": 6}))[1] == {**made, "weight": 6}
    assert (await directory.call("PUT", "/v1/pods/9", body={"name": "ten"}))[0] == 409
    assert (await directory.call("PUT", "/v1/pods/10", body={"name": "nine"}))[0] == 409
    assert (await directory.call("PUT", "/v1/pods/10", body={"weight": 1}))[0] == 404
    for _ in range(2):
        assert (await directory.call("DELETE", "/v1/pods/9"))[0] == 204
    assert [pod["number"] for pod in (await directory.all())["pods"]] == [0, 7]
    for number, name in ((9, "other"), (9, "nine"), (10, "nine")):
        status, document = await directory.call("PUT", f"/v1/pods/{number}", body={"name": name})
        assert (status, "never given again" in document["message"]) == (409, True)
    assert (await directory.call("DELETE", "/v1/pods/11"))[0] == 404


@pytest.mark.parametrize("is_confirmed", [True, False])
async def test_a_pod_with_claims_stays(directory: Served, is_confirmed: bool) -> None:
    claim_id = an_id()
    await directory.call("PUT", f"/v1/claims/{claim_id}", 7, {"kind": "email", "name": "a@b.c", "pod": 7})
    if is_confirmed:
        await directory.call("POST", f"/v1/claims/{claim_id}/confirm", 7, {})
    status, document = await directory.call("DELETE", "/v1/pods/7")
    assert (status, "holds 1 claims" in document["message"]) == (409, True)
    await directory.call("DELETE", f"/v1/claims/{claim_id}", 7)
    assert (await directory.call("DELETE", "/v1/pods/7"))[0] == 204
    assert (await directory.call("GET", "/v1/claims?pod=7", 7))[0] == 401, "its signature is good no more"


@pytest.mark.parametrize(
    ("kind", "name", "same"),
    [("path", "Acme", "aCME"), ("email", "Jo@Example.org", " jo@example.ORG ")],
)
async def test_a_name_is_had_once(directory: Served, kind: str, name: str, same: str) -> None:
    claim_id = an_id()
    body = {"kind": kind, "name": name, "pod": 7}
    for _ in range(2):
        status, document = await directory.call("PUT", f"/v1/claims/{claim_id}", 7, body)
        assert (status, document["state"], document["name"]) == (200, "tentative", name.lower())
    for pod, own in ((0, False), (7, True)):
        taken = await directory.call("PUT", f"/v1/claims/{an_id()}", pod, {"kind": kind, "name": same, "pod": pod})
        assert taken == (409, {"message": "taken", "own": own})
    for _ in range(2):
        status, document = await directory.call("POST", f"/v1/claims/{claim_id}/confirm", 7, {})
        assert (status, document["state"]) == (200, "confirmed")
    assert (await directory.call("PUT", f"/v1/claims/{claim_id}", 7, body))[1]["state"] == "confirmed"
    for _ in range(2):
        assert (await directory.call("DELETE", f"/v1/claims/{claim_id}", 7))[0] == 204
    await take(directory, 0, name, kind=kind)
    for method, path, late in (("PUT", "", body), ("POST", "/confirm", {})):
        status, document = await directory.call(method, f"/v1/claims/{claim_id}{path}", 7, late)
        assert (status, "was released" in document["message"]) == (409, True), "a call that comes late takes nothing"


async def test_of_many_who_claim_one_name_together_one_has_it(directory: Served) -> None:
    bodies = [{"kind": "path", "name": "acme", "pod": number} for number in (0, 7) * 10]
    calls = [directory.call("PUT", f"/v1/claims/{an_id()}", body["pod"], body) for body in bodies]
    statuses = sorted([status for status, _ in await asyncio.gather(*calls)])
    assert statuses == [200] + [409] * 19


async def test_paths_and_addresses_do_not_meet(directory: Served) -> None:
    other = {"kind": "path", "name": "jo", "pod": 0}
    await take(directory, 7, "jo@example.org", kind="email")
    await take(directory, 0, "jo_example.org")
    claim_id = an_id()
    assert (await directory.call("PUT", f"/v1/claims/{claim_id}", 0, other))[0] == 200
    status, document = await directory.call("PUT", f"/v1/claims/{claim_id}", 0, {**other, "name": "jane"})
    assert (status, "another claim" in document["message"]) == (409, True)


async def test_readers_see_confirmed_paths_alone(directory: Served) -> None:
    before = (await directory.all())["version"]
    claim_id = an_id()
    await directory.call("PUT", f"/v1/claims/{claim_id}", 7, {"kind": "path", "name": "acme", "pod": 7})
    await take(directory, 7, "jo@example.org", kind="email")
    seen = await directory.all()
    assert (seen["version"], seen["organisations"]) == (before, {})
    await directory.call("POST", f"/v1/claims/{claim_id}/confirm", 7, {})
    seen = await directory.all()
    assert (seen["version"], seen["organisations"]) == (before + 1, {"acme": 7})
    address = f"/v1/directory?epoch={seen['epoch']}&after={seen['version']}"
    await directory.call("DELETE", f"/v1/claims/{claim_id}", 7)
    status, changes = await directory.call("GET", address, directory.read)
    assert (status, changes["complete"], changes["organisations"]) == (200, False, {"acme": None})
    await take(directory, 0, "acme")
    assert (await directory.call("GET", address, directory.read))[1]["organisations"] == {"acme": 0}
    assert (await directory.all())["organisations"] == {"acme": 0}


async def test_a_reader_is_answered_as_soon_as_there_is_something(directory: Served) -> None:
    seen = await directory.all()
    known = f"/v1/directory?epoch={seen['epoch']}&after={seen['version']}"
    address = f"{known}&wait=30"
    waiting = [asyncio.create_task(directory.call("GET", address, directory.read)) for _ in range(3)]
    await asyncio.wait(waiting, timeout=0.2)
    assert not any(task.done() for task in waiting)
    await take(directory, 7, "acme")
    for _, changes in await asyncio.wait_for(asyncio.gather(*waiting), HANGS):
        assert (changes["complete"], changes["pods"], changes["organisations"]) == (False, [], {"acme": 7})
    empty = await directory.call("GET", f"{known}&wait=0.05", directory.read)
    assert (empty[1]["version"], empty[1]["organisations"]) == (seen["version"] + 1, {"acme": 7})
    nothing = known.replace(f"after={seen['version']}", f"after={seen['version'] + 1}") + "&wait=0"
    _, changes = await directory.call("GET", nothing, directory.read)
    assert (changes["complete"], changes["organisations"]) == (False, {})


async def test_a_reader_of_another_life_gets_everything_at_once(directory: Served) -> None:
    seen = await directory.all()
    for query in (f"epoch=other&after={seen['version']}", f"epoch={seen['epoch']}&after={seen['version'] + 1}"):
        status, changes = await directory.call("GET", f"/v1/directory?{query}&wait=30", directory.read)
        assert (status, changes) == (200, seen)


async def test_an_organisation_moves_if_it_is_where_it_was_thought(directory: Served) -> None:
    organisation = 7 * BLOCK + 5
    await take(directory, 7, "acme", organisation)
    await take(directory, 7, "acme-new", organisation)
    await take(directory, 7, "jo")
    seen = await directory.all()
    status, document = await directory.call("PUT", "/v1/organisations/acme", body={"pod": 0, "expected": 3})
    assert (status, "is in pod 7, not in pod 3" in document["message"]) == (409, True)
    for _ in range(2):
        assert (await directory.call("PUT", "/v1/organisations/ACME", body={"pod": 0, "expected": 7}))[0] == 200
    _, changes = await directory.call("GET", f"/v1/directory?epoch={seen['epoch']}&after={seen['version']}")
    assert changes["version"] == seen["version"] + 1
    assert changes["organisations"] == {"acme": 0, "acme-new": 0}
    assert changes["moved"] == {str(organisation): 0} == (await directory.all())["moved"]
    await take(directory, 0, "acme-newest", organisation)
    assert (await directory.call("PUT", "/v1/organisations/acme", body={"pod": 7, "expected": 0}))[0] == 200
    after = f"/v1/directory?epoch={seen['epoch']}&after={changes['version']}"
    _, changes = await directory.call("GET", after)
    # It is home again, but what was made elsewhere has ids and tokens of that pod.
    assert changes["moved"] == {str(organisation): 7} == (await directory.all())["moved"]
    assert changes["organisations"] == {"acme": 7, "acme-new": 7, "acme-newest": 7}
    assert (await directory.call("PUT", "/v1/organisations/acme", body={"pod": 8, "expected": 7}))[0] == 404
    assert (await directory.call("PUT", "/v1/organisations/none", body={"pod": 0, "expected": 7}))[0] == 404


async def test_ids_are_known_as_those_of_an_organisation(directory: Served) -> None:
    organisation = 7 * BLOCK + 5
    await take(directory, 7, "acme", organisation)
    assert "owners" not in await directory.all(), "readers of the first version do not know the field"
    seen = await directory.all()
    body = {"kind": "project", "ids": [5, 7 * BLOCK + 6]}
    for _ in range(2):
        assert (await directory.call("PUT", "/v1/organisations/Acme/ids", body=body))[0] == 204
    _, changes = await directory.call("GET", f"/v1/directory?epoch={seen['epoch']}&after={seen['version']}")
    owners = {"project": {"5": organisation, str(7 * BLOCK + 6): organisation}}
    assert (changes["version"], changes["owners"]) == (seen["version"] + 1, owners)
    assert (await directory.all())["owners"] == owners
    for token, path, given, status in (
        (7, "acme", body, 403),
        (directory.read, "acme", body, 403),
        ("", "none", body, 404),
        ("", "acme", {**body, "kind": "person"}, 400),
        ("", "acme", {**body, "ids": [0]}, 400),
        ("", "acme", {**body, "ids": list(range(1, 1002))}, 400),
    ):
        found = await directory.call("PUT", f"/v1/organisations/{path}/ids", token, given)
        assert found[0] == status, (token, path, given)


async def test_no_pod_draws_an_organisation_of_another_one_to_itself(directory: Served) -> None:
    theirs = BLOCK * 3 + 1
    await take(directory, 0, "acme", 5)
    for organisation, why in ((5, "lives in another pod"), (theirs, "not of the block")):
        claim_id = an_id()
        await directory.call("PUT", f"/v1/claims/{claim_id}", 7, {"kind": "path", "name": f"o{organisation}", "pod": 7})
        body = {"organisation_id": organisation}
        status, document = await directory.call("POST", f"/v1/claims/{claim_id}/confirm", 7, body)
        assert (status, why in document["message"]) == (409, True)
    assert (await directory.all())["moved"] == {}


async def test_claims_of_a_pod_are_listed_in_pages(directory: Served) -> None:
    ids = sorted([an_id() for _ in range(5)])
    for number, claim_id in enumerate(ids):
        await directory.call("PUT", f"/v1/claims/{claim_id}", 7, {"kind": "path", "name": f"n{number}", "pod": 7})
    await directory.call("POST", f"/v1/claims/{ids[1]}/confirm", 7, {})
    await take(directory, 0, "other")
    status, first = await directory.call("GET", "/v1/claims?pod=7&state=tentative&limit=2", 7)
    assert (status, [claim["claim_id"] for claim in first]) == (200, [ids[0], ids[2]])
    assert first[0].keys() == {"claim_id", "kind", "name", "pod", "state", "organisation_id", "created_at"}
    _, rest = await directory.call("GET", f"/v1/claims?pod=7&state=tentative&after={ids[2]}", 7)
    assert [claim["claim_id"] for claim in rest] == ids[3:]
    await directory.call("DELETE", f"/v1/claims/{ids[4]}", 7)
    _, held = await directory.call("GET", "/v1/claims?pod=7", 7)
    assert [claim["claim_id"] for claim in held] == ids[:4]
    _, released = await directory.call("GET", "/v1/claims?pod=7&state=released", 7)
    assert [claim["claim_id"] for claim in released] == ids[4:]


async def test_keys_are_public_ones(directory: Served) -> None:
    key = {**public_keys(directory.rings[7])["keys"][0], "d": "secret"}
    status, document = await directory.call("PUT", "/v1/pods/7", 7, {"public_keys": {"keys": [key]}})
    assert (status, "only the owner" in document["message"]) == (400, True)


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("PUT", "/v1/pods/8192", {"name": "x"}, "number"),
        ("PUT", "/v1/pods/3", {"name": "a b"}, "name: 'a b' cannot be the name of a pod"),
        ("PUT", "/v1/pods/3", {"name": "x", "address": "nowhere"}, "'nowhere' is not host:port"),
        ("PUT", "/v1/pods/3", {"name": "x", "address": "h:70000"}, "is not host:port"),
        ("PUT", "/v1/pods/3", {"name": "x", "weight": -1}, "weight: is -1"),
        ("PUT", "/v1/pods/3", {"name": "x", "state": "removed"}, "state: must be active or draining"),
        ("PUT", "/v1/pods/3", {"name": "x", "public_keys": {"keys": [{}]}}, "must be a JSON web key"),
        ("PUT", "/v1/pods/3", {"name": "x", "other": 1}, "other"),
        ("PUT", "/v1/claims/x", {"kind": "path", "name": "x", "pod": 0}, "claim_id"),
        ("PUT", CLAIM, {"kind": "color", "name": "x", "pod": 0}, "kind"),
        ("PUT", CLAIM, {"kind": "path", "name": "a/b", "pod": 0}, "'a/b' cannot be the path"),
        ("PUT", CLAIM, {"kind": "email", "name": "a.b", "pod": 0}, "must be an e-mail address"),
        ("GET", "/v1/directory?after=-1", None, "after"),
        ("PUT", "/v1/pods/3", {"name": "x" * 70_000}, "more than 65536 bytes"),
    ],
)
async def test_what_is_wrong_is_told(directory: Served, method: str, path: str, body: Any, said: str) -> None:
    status, document = await directory.call(method, path, body=body)
    assert status in (400, 413)
    assert said in document["message"]


async def test_a_claim_of_a_pod_that_is_not_there_is_refused(directory: Served) -> None:
    body = {"kind": "path", "name": "x", "pod": 3}
    assert (await directory.call("PUT", f"/v1/claims/{an_id()}", body=body))[0] == 404


async def test_health_needs_no_token(directory: Served) -> None:
    response = await directory.http.get("/-/health")
    assert (response.status_code, response.json()) == (200, {"message": "ok"})


async def test_a_name_says_where_it_lives_and_whether_it_is_a_persons(directory: Served) -> None:
    await take(directory, 7, "Acme", 7 * BLOCK + 1)
    await take(directory, 0, "ada")
    await take(directory, 0, "ada@example.org", kind="email")
    begun = {"kind": "path", "name": "begun", "pod": 7}
    assert (await directory.call("PUT", CLAIM, 7, begun))[0] == 200
    for shows in (directory.read, 0, 7):
        for name, document in (
            ("ACME", {"name": "acme", "pod": 7, "organisation_id": 7 * BLOCK + 1}),
            ("Ada", {"name": "ada", "pod": 0, "organisation_id": None}),
        ):
            assert await directory.call("GET", f"/v1/names/{name}", shows) == (200, document)
    for name, status in (("begun", 404), ("nobody", 404), ("ada@example.org", 400)):
        assert (await directory.call("GET", f"/v1/names/{name}", 7))[0] == status
    await directory.call("DELETE", CLAIM, 7)
    assert (await directory.call("GET", "/v1/names/begun", 7))[0] == 404
    assert (await directory.call("GET", "/v1/names/ada", "nonsense"))[0] == 401
