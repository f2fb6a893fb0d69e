"""nginx before several pods: each call comes to the pod that it is for, by itself, whatever it looks like."""

import base64
import json
import random
import string
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from domain.pods.addresses import TABLE
from domain.pods.directory import Directory, Pod
from domain.pods.routable_token import Route, spelled
from domain.pods.routing import Head, ToPod, decide
from domain.pods.token_prefixes import DEPLOY, JOB, PERSONAL, RANDOM, RUNNER
from tests.deploy.pods import MOVED, NUMBERS, Cluster, cluster_in, sent
from tests.waiting import eventually

CHANCE = random.Random(33)
HEADS = 400
PLACES = ("RUNNER-TOKEN", "JOB-TOKEN", "PRIVATE-TOKEN", "Authorization", "X-GitLab-Last-Update", "Cookie")


def of(pod: int, prefix: str = PERSONAL, **route: int) -> str:
    """A token of a pod, one that nobody had before."""
    return spelled(prefix, Route(pod, **route), CHANCE.randbytes(16))


def signed(pod: int, **claims: int) -> str:
    """What a pod signs, as far as a router looks at it."""
    parts = ({"alg": "EdDSA"}, {"iss": f"perdure:{NUMBERS.get(pod, 'gone')}", "sub": str(CHANCE.random()), **claims})
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), "x"]
    )


def basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def known(pod: int) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Calls of which it is plain that they are for this pod."""
    block, path = pod << 40, {0: "nobody", 1: "acme", 7: "GLOBEX"}[pod]
    for method, asked in (("GET", "/api/v4/user"), ("POST", "/api/v4/jobs/request"), ("PUT", "/api/v4/jobs/9?a=/b//c")):
        yield method, asked, {"RUNNER-TOKEN": of(pod, RUNNER, runner_type=1)}
        yield method, asked, {"PRIVATE-TOKEN": of(pod, user_id=block + 3)}
        yield method, asked, {"JOB-TOKEN": JOB + signed(pod)}
        yield method, asked, {"Authorization": f"Bearer {of(pod)}"}
        yield method, asked, {"PRIVATE-TOKEN": of(pod), "Cookie": f"perdure_session={signed(1 if pod else 7)}"}
    yield "GET", f"/{path}/app.git/info/refs?service=git-upload-pack", {"Authorization": basic("ada", of(pod))}
    yield "POST", f"/{path}/app.git/git-upload-pack", {"Authorization": basic("gitlab-ci-token", JOB + signed(pod))}
    yield "GET", f"/api/v4/projects/{block + 9}/jobs/5/trace", {}
    yield "GET", f"/api/v4/projects/{path}%2Ftools%2Fapp/pipelines?per_page=100#top", {}
    yield "POST", f"/api/v4/jobs/{block + 5}/artifacts", {"JOB-TOKEN": "not ours"}
    yield "POST", f"/api/hooks/{block + 5}", {}
    yield "GET", f"/{path}/app/-/pipelines/4", {}
    yield "GET", f"//{path}//app", {}
    yield "GET", f"/groups/{path}/", {}
    yield "GET", "/", {"Cookie": f"a=b; perdure_session={signed(pod)}"}
    if pod == 7:
        yield "GET", "/api/v4/user", {"PRIVATE-TOKEN": of(1, organisation_id=2**40 + 3)}
    if pod == 0:
        yield "GET", "/api/v4/runners", {}
        yield "GET", "/-/health", {}
        yield "GET", "/api/v4/user", {"PRIVATE-TOKEN": PERSONAL + "x" * 20}


@pytest.mark.parametrize("cached", [False, True], ids=["asked each time", "cached"])
async def test_a_call_comes_to_its_pod_without_the_router(tmp_path: Path, folder: Path, cached: bool) -> None:
    """What is expected was said when the calls were made, not by who decides."""
    async with cluster_in(tmp_path, *_cache(folder, cached)) as cluster:
        calls = [(pod, call) for pod in NUMBERS for call in known(pod)] * 2
        CHANCE.shuffle(calls)
        for pod, (method, path, headers) in calls:
            status, said = await sent(cluster.nginx, method, path, headers)
            assert (status, json.loads(said)["pod"]) == (200, pod), (method, path, headers)
            assert json.loads(said)["path"] == path
            assert not json.loads(said)["routed"], (method, path)
            assert json.loads(said)["client"] == "127.0.0.1"


@pytest.mark.parametrize(("moved", "pods"), [({}, NUMBERS), (MOVED, [0] * len(NUMBERS))], ids=["nothing", "something"])
async def test_a_ticket_leads_to_its_pod_until_something_has_moved(
    tmp_path: Path, moved: dict[int, int], pods: Sequence[int]
) -> None:
    """Afterwards the router reads the body, which has no token here."""
    async with cluster_in(tmp_path, moved=moved) as cluster:
        for pod, answers in zip(NUMBERS, pods, strict=True):
            headers = {"X-GitLab-Last-Update": f"q1.{pod}.0badcafe.12.x"}
            status, said = await sent(cluster.nginx, "POST", "/api/v4/jobs/request", headers)
            found = json.loads(said)
            assert (status, found["pod"], found["routed"]) == (200, answers, bool(moved))


def token() -> str:
    pod = CHANCE.choice([0, 1, 5, 7])
    made = CHANCE.choice(
        [
            of(pod, CHANCE.choice(RANDOM)),
            of(pod, DEPLOY, organisation_id=CHANCE.choice([1, 2**40 + 3])),
            JOB + signed(pod),
            JOB + signed(pod, organisation=2**40 + 3),
            "".join(CHANCE.choices(string.printable[:94], k=CHANCE.randrange(60))),
            "",
        ]
    )
    return made if CHANCE.random() < 0.8 or not made else made[:-1] + CHANCE.choice("aB7")


def header() -> str:
    one, ticket = token(), CHANCE.choice(["0", "7", "5", "12345", ""])
    forms = (one, one, f"Bearer {one}", basic("x", one), basic(one, ""), f"Basic {one}", f"perdure_session={one}; a=b")
    return CHANCE.choice([*forms, f"q1.{ticket}.{one}"]).strip()


def path() -> str:
    start = "/".join(CHANCE.choice(TABLE).start)
    segments = [
        "",
        "7",
        str((7 << 40) + 1),
        str((5 << 40) + 1),
        "acme",
        "Globex%2Fapp",
        "x" * 30,
        "%C3%BC",
        "%2e",
        "trigger/pipeline",
    ]
    rest = "/".join(CHANCE.choices(segments, k=CHANCE.randrange(5)))
    query = CHANCE.choice(["", "?a=//b", "#c", "?" + token().replace(" ", "")])
    return CHANCE.choice(["/", "/", "//"]) + start + CHANCE.choice(["/", "/", "//", ""]) + rest + query


@pytest.mark.parametrize("cached", [False, True], ids=["asked each time", "cached"])
async def test_nginx_goes_where_the_decision_says_and_else_to_the_router(
    tmp_path: Path, folder: Path, cached: bool
) -> None:
    """Random heads, half of which were seen before: an answer that was kept is never that of another call."""
    differ = 0
    async with cluster_in(tmp_path, *_cache(folder, cached)) as cluster:
        heads = [
            (
                CHANCE.choice(["GET", "POST", "DELETE", "PUT"]),
                path(),
                {name: header() for name in CHANCE.sample(PLACES, CHANCE.randrange(3))},
            )
            for _ in range(HEADS)
        ]
        heads += [(method, "/api/v4/runners", {}) for method in ("GET", "POST", "DELETE", "PUT")]
        for method, target, headers in heads + CHANCE.choices(heads, k=HEADS):
            if target.startswith("/-/front"):
                continue  # nginx answers for itself there
            bare = target.partition("#")[0].partition("?")[0]
            small = {name.lower(): value for name, value in headers.items()}
            decision = decide(Head(method, bare, small), cluster.directory)
            status, said = await sent(cluster.nginx, method, target, headers)
            if isinstance(decision, ToPod):
                assert status == 200, (method, target, headers)
                document = json.loads(said)
                assert (status, document["pod"], document["routed"]) == (200, decision.pod, False), (target, headers)
                differ += decision.pod != 0
            elif status == 200:
                assert b'"pod"' not in said or json.loads(said)["routed"], (decision, target, headers)
    assert differ > HEADS / 10, "hardly anything but the first pod was asked"


async def test_what_no_pod_shall_hear_of_is_refused_as_by_the_router(tmp_path: Path) -> None:
    mistyped = of(7)[:-1] + "!"
    refused: list[tuple[str, dict[str, str], int]] = [
        ("/api/v4/user", {"PRIVATE-TOKEN": of(5)}, 404),
        ("/api/v4/user", {"PRIVATE-TOKEN": mistyped}, 401),
        ("/acme/app.git/info/refs", {"Authorization": basic("x", mistyped)}, 401),
        ("/api/v4/user", {"PRIVATE-TOKEN": of(7), "JOB-TOKEN": JOB + signed(1)}, 400),
    ]
    async with cluster_in(tmp_path) as cluster:
        for target, headers, status in refused:
            found = await sent(cluster.nginx, "GET", target, headers)
            assert found[0] == status
            assert found == await sent(cluster.router, "GET", target, headers)


async def test_a_token_in_the_body_is_found_by_the_router(tmp_path: Path) -> None:
    async with cluster_in(tmp_path) as cluster:
        for pod in NUMBERS:
            body = json.dumps({"token": of(pod, RUNNER, runner_type=1)}).encode()
            for method, target in (("POST", "/api/v4/jobs/request"), ("POST", "/api/v4/runners/verify")):
                status, said = await sent(cluster.nginx, method, target, {}, body)
                document = json.loads(said)
                assert (status, document["pod"], document["routed"]) == (200, pod, True)
                assert (document["size"], document["client"]) == (len(body), "127.0.0.1")


@pytest.mark.parametrize("cached", [False, True], ids=["asked each time", "cached"])
async def test_a_directory_that_changed(tmp_path: Path, folder: Path, cached: bool) -> None:
    """Organisations move at once, but for what was kept; to a pod's new address the router goes until nginx reads it.

    What was kept of an earlier version is not used any more as soon as nginx has read the later one.
    """
    async with cluster_in(tmp_path, *_cache(folder, cached)) as cluster:
        assert await _where(cluster, "/acme") == (1, False)
        await cluster.routed.aclose()
        seven = cluster.directory.by_number[7]
        later = Directory(
            4, (cluster.directory.first, Pod(1, "one", seven.address), seven), {"acme": 7, "globex": 1, "new": 7}
        )
        await cluster.route(later)
        assert await _where(cluster, "/acme") == ((1, False) if cached else (7, False))
        assert await _where(cluster, "/globex") == (7, True)
        assert await _where(cluster, "/new") == (7, False)
        await cluster.tell_nginx(later)

        async def has_read_it() -> bool:
            return await _where(cluster, "/globex") == (7, False)

        await eventually(has_read_it, "nginx goes to the new address")
        assert await _where(cluster, "/acme") == (7, False)


async def _where(cluster: Cluster, target: str) -> tuple[int, bool]:
    """Which pod answers, and whether by way of the router."""
    status, said = await sent(cluster.nginx, "GET", target, {})
    assert status == 200
    return json.loads(said)["pod"], json.loads(said)["routed"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that nginx's worker comes into, also where root has started it and it is somebody else."""
    with tempfile.TemporaryDirectory(prefix="perdure-decisions-") as found:
        Path(found).chmod(0o711)
        yield Path(found)


def _cache(folder: Path, wanted: bool) -> tuple[str, ...]:
    return ("--cache", str(folder / "decisions"), "--cache-seconds", "600") if wanted else ()
