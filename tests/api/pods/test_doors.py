"""Who may come in by the doors for other pods: only the pod that the directory knows, for the very call."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import orjson
import pytest

from auth.key_ring import KeyRing, Purpose, Turns
from auth.pod_calls import PodCall, service_token
from auth.signed_token import TokenKind, sign
from domain.pods.directory import Directory, Pod, PodState
from tests.application.bridges.two_pods import PERSON, TwoPods, two_pods

pytestmark = pytest.mark.slow
"""Two pods for each test; a second and more of each."""

STATE = "/-/pods/bridges/1/pipeline"
OTHERS = (
    ("PUT", "/-/pods/bridges/1/pipeline"),
    ("GET", "/-/pods/bridges/1/pipeline"),
    ("PUT", "/-/pods/bridges/1/downstream"),
    ("POST", "/-/pods/needs"),
    ("POST", "/-/pods/sources"),
    ("PUT", "/-/pods/followers/1"),
    ("PUT", "/-/pods/visitors/1"),
    ("PUT", "/-/pods/visitors/1/pods/1"),
    ("DELETE", "/-/pods/followers/1/1"),
    ("POST", "/-/pods/followers/1/releases"),
)


_KIND = TokenKind("perdure-pod+jwt", "perdure:far")


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[TwoPods]:
    async with two_pods(tmp_path, ("", "")) as both:
        yield both


async def call(two: TwoPods, method: str, path: str, token: str, body: bytes = b"") -> httpx.Response:
    """A call of the far pod that shows this."""
    async with two.far.here.site.client(headers={"Authorization": f"Bearer {token}"} if token else {}) as client:
        return await client.request(method, path, content=body)


def near(two: TwoPods) -> KeyRing:
    return two.near.here.site.services.key


def crafted(ring: KeyRing, kind: TokenKind = _KIND, **claims: Any) -> str:
    """A token for `GET STATE`; `claims` replace those of a good one, None takes one away."""
    now = int(time.time())
    digest = PodCall("GET", STATE).digest
    good = {"iat": now, "exp": now + 60, "sub": "pod", "jti": uuid4().hex, "call": digest, **claims}
    return sign(ring, kind, {name: value for name, value in good.items() if value is not None})


async def test_the_pod_itself_comes_in(two: TwoPods) -> None:
    response = await call(two, "GET", STATE, crafted(near(two)))
    assert (response.status_code, response.json()) == (200, None)
    response = await call(two, "GET", STATE, service_token(near(two), "far", PodCall("GET", STATE)))
    assert response.status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"aud": "perdure:near"},
        {"aud": ["perdure:far", "perdure:near"]},
        {"aud": ""},
        {"aud": "perdure:directory"},
        {"iss": "perdure:far"},
        {"iss": "perdure:elsewhere"},
        {"iss": "near"},
        {"iss": ""},
        {"exp": 1},
        {"exp": int(time.time()) + 3_600},
        {"iat": int(time.time()) + 3_600},
        {"exp": None},
        {"iat": None},
        {"jti": None},
        {"sub": None},
        {"call": None},
        {"call": PodCall("PUT", STATE).digest},
        {"call": PodCall("GET", "/-/pods/bridges/2/pipeline").digest},
        {"call": PodCall("GET", STATE, b"x").digest},
    ],
)
async def test_one_wrong_claim_is_enough(two: TwoPods, wrong: dict[str, Any]) -> None:
    await refused(two, crafted(near(two), **wrong))


async def refused(two: TwoPods, token: str) -> None:
    """Every refusal has the same words."""
    response = await call(two, "GET", STATE, token)
    assert (response.status_code, response.json()) == (401, {"message": "401 Unauthorized"})


async def test_keys_and_kinds_of_others_are_refused(two: TwoPods, tmp_path: Path) -> None:
    far = two.far.here.site.services
    stranger = KeyRing(Purpose.SIGNING, tmp_path / "stranger", "perdure:near", Turns(0, 1000))
    for token in (
        "",
        "x",
        "a.b.c",
        f"{crafted(near(two))}x",
        crafted(stranger),
        crafted(far.key),
        crafted(far.key, iss="perdure:near"),
        crafted(near(two), TokenKind("perdure-directory+jwt", "perdure:far")),
        crafted(near(two), TokenKind("JWT", "perdure:far")),
        crafted(two.near.here.site.services.identity_keys),
        two.far.here.site.root.token,
    ):
        await refused(two, token)


async def test_what_was_signed_for_one_call_lets_no_other_in(two: TwoPods) -> None:
    """Whoever reads a token can repeat the call that it is for, and that changes nothing."""
    body = orjson.dumps({"not": "a request"})
    token = service_token(near(two), "far", PodCall("PUT", STATE, body))
    assert (await call(two, "PUT", STATE, token, body)).status_code == 400
    for method, path, other in (("PUT", STATE, b"{}"), ("GET", STATE, body), ("PUT", f"{STATE}/", body)):
        assert (await call(two, method, path, token, other)).status_code in {401, 404}
    assert (await call(two, "PUT", STATE, token, b"{}")).status_code == 401


async def test_a_pod_that_left_or_that_was_never_there_is_refused(two: TwoPods) -> None:
    first, second = two.directory.pods
    gone = Pod(first.number, first.name, first.address, state=PodState.REMOVED, public_keys=first.public_keys)
    for directory in (Directory(2, (gone, second)), Directory(2, (second,)), None):
        two.far.cluster.follower._directory = directory
        await refused(two, crafted(near(two)))


async def test_an_installation_of_one_pod_lets_nobody_in(two: TwoPods) -> None:
    object.__setattr__(two.far.here.site.services, "cluster", None)
    for method, path in OTHERS:
        body = b""
        response = await call(two, method, path, service_token(near(two), "far", PodCall(method, path, body)), body)
        assert (response.status_code, response.json()) == (401, {"message": "401 Unauthorized"})


def request_of(two: TwoPods, **changes: Any) -> dict[str, Any]:
    """A good request for a pipeline."""
    organisation = next(path for path, number in two.organisations.items() if number == 0 and path != PERSON)
    upstream = {"id": 7, "project_id": 8, "full_path": f"{organisation}/app", "visibility": "private"}
    document = {"username": PERSON, "home_id": two.ada, "path": "x/y", "branch": "", "variables": [], "inputs": {}}
    return {**document, "ancestors": [], "upstream": upstream, "hierarchy": 1, **changes}


async def put(two: TwoPods, bridge_id: int, document: Any) -> httpx.Response:
    path, body = f"/-/pods/bridges/{bridge_id}/pipeline", orjson.dumps(document)
    return await call(two, "PUT", path, service_token(near(two), "far", PodCall("PUT", path, body)), body)


async def test_a_pod_speaks_for_its_own_organisations_only(two: TwoPods) -> None:
    response = await put(two, 1, request_of(two))
    assert response.json() == {
        "pipeline": None,
        "reason": "downstream_bridge_project_not_found",
        "text": "The downstream project does not exist, or whoever runs this job may not see it: x/y",
    }
    target = await two.target_path()
    for path in (target, "nobody/app", ""):
        upstream = {"id": 7, "project_id": 8, "full_path": path, "visibility": "private"}
        assert (await put(two, 1, request_of(two, upstream=upstream))).status_code == 503


async def test_a_project_that_lives_elsewhere_by_now_is_asked_for_again(two: TwoPods) -> None:
    two.organisations["moved"] = 0
    response = await put(two, 1, request_of(two, path="moved/app"))
    assert response.status_code == 503
    assert "is in another pod" in response.json()["message"]


async def test_a_pod_asks_for_needs_of_its_own_organisations_only(two: TwoPods) -> None:
    own = request_of(two)["upstream"]["full_path"]
    two.organisations["moved"] = 0
    for full_path, path, status in ((own, "x/y", 200), ("nobody/app", "x/y", 503), (own, "moved/app", 503)):
        who = {"username": PERSON, "home_id": two.ada}
        document = {**who, "full_path": full_path, "path": path, "ref": "main", "job": "b", "seconds": 9}
        body = orjson.dumps(document)
        token = service_token(near(two), "far", PodCall("POST", "/-/pods/needs", body))
        response = await call(two, "POST", "/-/pods/needs", token, body)
        assert response.status_code == status
        if status == 200:
            assert (response.json()["token"], "was not found" in response.json()["fault"]) == ("", True)


async def test_one_bridge_is_one_pipelines(two: TwoPods) -> None:
    await two.begin()
    await two.carry_out()
    (made,) = await two.made()
    asked = request_of(two, path=await two.target_path())
    assert (await put(two, made.bridge_id, asked)).status_code == 409
    assert len(await two.made()) == 1


@pytest.mark.parametrize(
    "document", [[], {}, "x", {"username": 1}, {"username": "x", "upstream": {}, "hierarchy": "many"}]
)
async def test_what_cannot_be_read_is_a_bad_request(two: TwoPods, document: Any) -> None:
    response = await put(two, 1, document)
    assert response.status_code == 400
    assert response.json()["message"].startswith("400 Bad request: ")


async def test_a_pod_tells_of_and_asks_for_its_own_pipelines_only(two: TwoPods) -> None:
    """A third pod with a good key learns nothing of what is between two others, and changes nothing."""
    parent = await two.begin(", strategy: depend")
    await two.carry_out()
    (made,) = await two.made()
    ring = KeyRing(Purpose.SIGNING, two.near.here.folder / "third", "perdure:third", Turns(0, 1000))
    keys = tuple(held.key.public_document() for held in ring.held())
    third = Pod(2, "third", "third:1", public_keys=keys)
    directory = Directory(2, (*two.directory.pods, third), two.organisations)
    for pod in (two.near, two.far):
        pod.cluster.follower._directory = directory
    path = f"/-/pods/bridges/{made.bridge_id}/pipeline"
    response = await call(two, "GET", path, service_token(ring, "far", PodCall("GET", path)))
    assert response.status_code == 503
    own = await call(two, "GET", path, service_token(near(two), "far", PodCall("GET", path)))
    state = {**own.json(), "status": "success", "tick": 99}
    path, body = f"/-/pods/bridges/{made.bridge_id}/downstream", orjson.dumps(state)
    token = service_token(ring, "near", PodCall("PUT", path, body))
    async with two.near.here.site.client(headers={"Authorization": f"Bearer {token}"}) as client:
        told = await client.put(path, content=body)
    assert (told.status_code, (await two.bridge(parent)).status) == (409, "running")
