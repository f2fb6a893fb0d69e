"""Who may do what with a directory: the table row by row, and tokens that are not quite right."""

import base64
import time
from typing import Any
from uuid import uuid4

import jwt
import pytest

from auth.keys import Algorithm, SigningKey
from auth.signed_token import TokenKind, sign
from domain.pods.directory_access import ALLOWED, AUDIENCE, TOKEN_TYPE, Action, Role, Scope
from pods.directory.body_limit import MAX_BODY
from tests.pods.directory.served import KIND, Served, public_keys, ring_of, shown

CALLS: dict[Action, tuple[str, str, Any]] = {
    Action.READ: ("GET", "/v1/directory", None),
    Action.MAKE_POD: ("PUT", "/v1/pods/{pod}", {"weight": 3}),
    Action.CHANGE_POD: ("PUT", "/v1/pods/{pod}", {"address": "10.0.0.1:1"}),
    Action.REMOVE_POD: ("DELETE", "/v1/pods/{pod}", None),
    Action.CLAIM: ("PUT", "/v1/claims/{id}", {"kind": "path", "name": "acme", "pod": "{pod}"}),
    Action.LIST_CLAIMS: ("GET", "/v1/claims?pod={pod}", None),
    Action.MOVE: ("PUT", "/v1/organisations/mine", {"pod": 0, "expected": 7}),
}


@pytest.fixture
def directory_url() -> str:
    """One kind of database: what is decided here does not depend on it."""
    return ""


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("target", [7, 0])
async def test_the_table_is_what_happens(directory: Served, action: Action, role: Role, target: int) -> None:
    method, path, body = CALLS[action]
    claim = f"/v1/claims/{uuid4()}"
    await directory.call("PUT", claim, body={"kind": "path", "name": "mine", "pod": 7})
    await directory.call("POST", f"{claim}/confirm", body={})
    await directory.add_pod(3, "three")  # one that can be removed
    number = 3 if action is Action.REMOVE_POD else target
    said = {**body, "pod": number} if body and body.get("pod") == "{pod}" else body
    tokens: dict[Role, str | int] = {Role.ADMIN: directory.admin, Role.READER: directory.read, Role.POD: 7}
    status, document = await directory.call(method, path.format(pod=number, id=uuid4()), tokens[role], said)
    scope = ALLOWED[action].get(role)
    is_allowed = scope is Scope.ALL or (scope is Scope.OWN and number == 7)
    if is_allowed:
        assert status in (200, 204), document
    else:
        assert (status, "may" in document["message"]) == (403, True)


async def test_every_action_is_in_the_table() -> None:
    assert ALLOWED.keys() == set(Action) == CALLS.keys()


async def test_a_claim_of_another_pod_is_not_there(directory: Served) -> None:
    claim = f"/v1/claims/{uuid4()}"
    body = {"kind": "path", "name": "acme", "pod": 7}
    await directory.call("PUT", claim, 7, body)
    assert (await directory.call("POST", f"{claim}/confirm", 0, {}))[0] == 404
    assert (await directory.call("DELETE", claim, 0))[0] == 204
    assert (await directory.call("PUT", claim, 7, body))[1]["state"] == "tentative", "nothing was released"
    for method, path in (("POST", f"{claim}/confirm"), ("DELETE", claim)):
        assert (await directory.call(method, path, directory.read, {} if method == "POST" else None))[0] == 403


async def test_a_pod_changes_its_keys_by_the_old_ones(directory: Served) -> None:
    new = ring_of(directory.home, "new")
    both = {"keys": [*public_keys(directory.rings[7])["keys"], *public_keys(new)["keys"]]}
    signed_by_new = sign(new, KIND, {**_claims(), "iss": "perdure:seven"})
    assert (await directory.call("GET", "/v1/directory", signed_by_new))[0] == 401
    assert (await directory.call("PUT", "/v1/pods/7", 7, {"public_keys": both}))[0] == 200
    assert (await directory.call("PUT", "/v1/pods/7", signed_by_new, {"public_keys": public_keys(new)}))[0] == 200
    assert (await directory.call("GET", "/v1/directory", 7))[0] == 401
    assert (await directory.call("GET", "/v1/directory", signed_by_new))[0] == 200


def _claims() -> dict[str, Any]:
    now = int(time.time())
    return {"iat": now, "exp": now + 60}


async def test_a_token_that_is_not_quite_right_is_told_nothing(directory: Served, tmp_path: Any) -> None:
    ring, now = directory.rings[7], int(time.time())
    key = ring.signer()
    header = {"typ": TOKEN_TYPE, "kid": key.kid}
    good = {"iss": "perdure:seven", "aud": AUDIENCE, **_claims()}
    stranger = ring_of(tmp_path, "stranger")
    rsa = SigningKey.new(Algorithm.RS256)
    wrong = {
        "nothing": "",
        "a word": "x",
        "three parts of nothing": "x.y.z",
        "an issuer that is none": "x.eyJpc3MiOjd9.z",
        "claims that are none": "x.W10.z",
        "claims that never end": f"x.{base64.urlsafe_b64encode(b'[' * 5000).decode().rstrip('=')}.z",
        "admin token with more": directory.admin + "x",
        "of another pod's name": sign(ring, KIND, {**_claims(), "iss": "perdure:zero"}),
        "of no pod": sign(ring, KIND, {**_claims(), "iss": "perdure:nobody"}),
        "of nobody": sign(ring, KIND, {**_claims(), "iss": "seven"}),
        "a key that is not the pod's": sign(stranger, KIND, {**_claims(), "iss": "perdure:seven"}),
        "the pod's kid, another key": jwt.encode(good, stranger.signer().private, "EdDSA", {**header}),
        "of another algorithm": jwt.encode(good, rsa.private, "RS256", {**header}),
        "signed by the public key": jwt.encode(good, b"x" * 32, "HS256", {**header}),
        "not signed": jwt.encode(good, "", "none", {**header}),
        "of another type": jwt.encode(good, key.private, "EdDSA", {**header, "typ": "perdure-job+jwt"}),
        "with more in its header": jwt.encode(good, key.private, "EdDSA", {**header, "x": 1}),
        "for a job": sign(ring, TokenKind("perdure-job+jwt", "perdure:job"), _claims()),
        "for others too": shown(ring, aud=[AUDIENCE, "perdure:job"]),
        "over": shown(ring, exp=now - 31),
        "from tomorrow": shown(ring, iat=now + 100, exp=now + 200),
        "without an end": shown(ring, exp=None),
        "without a beginning": shown(ring, iat=None),
        "too long-lived": shown(ring, iat=now, exp=now + 601),
        "long": "x" * 9000,
    }
    assert (await directory.call("GET", "/v1/directory", 7))[0] == 200
    texts = set()
    for what, token in wrong.items():
        response = await directory.http.get("/v1/directory", headers={"Authorization": f"Bearer {token}"})
        assert response.status_code == 401, what
        texts.add(response.text)
    for header_text in ("", f"Basic {directory.admin}", directory.admin, "Bearer"):
        response = await directory.http.get("/v1/directory", headers={"Authorization": header_text})
        assert response.status_code == 401, header_text
        texts.add(response.text)
    assert texts == {'{"message":"401 Unauthorized"}'}


async def test_a_large_body_is_refused_whoever_sends_it(directory: Served) -> None:
    async def chunks() -> Any:
        for _ in range(MAX_BODY // 1000 + 1):
            yield b"x" * 1000

    response = await directory.http.put("/v1/pods/3", content=chunks())
    assert (response.status_code, "bytes" in response.text) == (413, True)
