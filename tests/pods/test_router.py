"""Two pods behind one address, and a client that knows of neither: the embedded router, and nginx in front of it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography import x509

from auth.key_certificates import certificate
from domain.pods.routable_token import Route, spelled
from domain.pods.token_prefixes import RUNNER
from pods.router import field_in
from tests.api.v4.site import serving
from tests.cli.running import run
from tests.pods.two_pods import Cluster, call, two_pods
from tests.waiting import eventually


@pytest.fixture(params=["embedded", "nginx"])
async def cluster(tmp_path: Path, migrated_file: Path, request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """Two pods that serve, and their router."""
    async with two_pods(tmp_path, migrated_file, behind_nginx=request.param == "nginx") as made:
        yield made


async def test_each_request_reaches_its_pod(cluster: Cluster) -> None:
    for number, site in cluster.sites.items():
        headers = {"PRIVATE-TOKEN": cluster.tokens[number]}
        status, person = await call(cluster, "GET", "/api/v4/user", headers=headers)
        assert (status, person["id"]) == (200, site.root.id)
        path = (await site.path()).replace("/", "%2F")
        status, project = await call(cluster, "GET", f"/api/v4/projects/{path}", headers=headers)
        assert (status, project["id"]) == (200, site.world.project_id)
        await site.world.pipeline("job: {script: make}\n")
        body = {"token": cluster.runners[number], "info": {"features": {}}}
        status, job = await call(cluster, "POST", "/api/v4/jobs/request", json=body)
        assert (status, job["job_info"]["project_id"]) == (201, site.world.project_id)
        running = {"token": job["token"], "state": "running"}
        assert (await call(cluster, "PUT", f"/api/v4/jobs/{job['id']}", json=running))[0] == 200
        trace = {"JOB-TOKEN": job["token"], "Content-Range": "0-4"}
        assert (await call(cluster, "PATCH", f"/api/v4/jobs/{job['id']}/trace", data=b"hello", headers=trace))[0] == 202


async def test_what_no_pod_shall_hear_of(cluster: Cluster) -> None:
    unknown = spelled(RUNNER, Route(5, 0, 1), bytes(16))
    mistyped = cluster.runners[7][:-1] + ("x" if cluster.runners[7][-1] != "x" else "y")
    both = {"PRIVATE-TOKEN": cluster.tokens[0], "RUNNER-TOKEN": cluster.runners[7]}
    for _, stack in cluster.servers.items():
        await stack.aclose()
    found = [
        (await call(cluster, "POST", "/api/v4/jobs/request", json={"token": token}))[0] for token in (unknown, mistyped)
    ]
    assert found == [404, 401]
    assert (await call(cluster, "GET", "/api/v4/user", headers=both))[0] == 400
    large = b'{"token": "' + b"x" * 70_000 + b'"}'
    assert (await call(cluster, "POST", "/api/v4/jobs/request", data=large))[0] == 413


async def test_the_keys_of_all_pods_are_one_document(cluster: Cluster) -> None:
    own = []
    for site in cluster.sites.values():
        async with site.client() as client:
            own += (await client.get("/-/jwks")).json()["keys"]
    assert len(own) >= 2
    for path in ("/-/jwks", "/oauth/discovery/keys"):
        assert await call(cluster, "GET", path) == (200, {"keys": own})
    await cluster.servers[7].aclose()
    assert await call(cluster, "GET", "/-/jwks") == (200, {"keys": own}), "what a pod signed is still good"


async def test_a_registry_gets_the_certificates_of_all_pods(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path))
    monkeypatch.setenv("PERDURE_EXTERNAL_URL", cluster.url)
    printed = await asyncio.to_thread(run, "keys", "certificates", "--all")
    assert printed.code == 0, printed.err
    found = x509.load_pem_x509_certificates(printed.out.encode())
    rings = [site.services.identity_keys for site in cluster.sites.values()]
    assert found == [certificate(held.key) for ring in rings for held in ring.held()]
    assert len(found) >= 2


async def test_a_pod_that_is_away_is_felt_by_nobody_else(cluster: Cluster) -> None:
    await cluster.servers[7].aclose()
    headers = {number: {"PRIVATE-TOKEN": token} for number, token in cluster.tokens.items()}
    assert (await call(cluster, "GET", "/api/v4/user", headers=headers[7]))[0] == 503
    assert (await call(cluster, "GET", "/api/v4/user", headers=headers[0]))[0] == 200
    body = {"token": cluster.runners[7]}
    assert (await call(cluster, "POST", "/api/v4/jobs/request", json=body))[0] == 503
    await cluster.servers[7].enter_async_context(serving(cluster.sites[7]))

    async def is_back() -> bool:
        return (await call(cluster, "GET", "/api/v4/user", headers=headers[7]))[0] == 200

    await eventually(is_back, "the pod is back")


@pytest.mark.parametrize(
    ("body", "token"),
    [
        (b'{"token": "t"}', "t"),
        (b' {"token": 7}', ""),
        (b"token=t&x=1", "t"),
        (b"token=", ""),
        (b"{", ""),
        (b"[]", ""),
        (b"", ""),
        (b"\xff\xfe", ""),
        (b'{"a":' * 30_000, ""),
        (b"&".join(b"a=1" for _ in range(2_000)), ""),
    ],
)
def test_the_token_of_a_small_body(body: bytes, token: str) -> None:
    assert field_in(body, "token") == token


@pytest.mark.parametrize(
    ("content_type", "token"),
    [
        ("multipart/form-data; boundary=B", "t"),
        ("Multipart/Form-Data; boundary=B", "t"),
        ("multipart/form-data; boundary=C", ""),
        ("multipart/form-data", ""),
        ("text/plain", ""),
    ],
)
def test_the_token_of_a_form_as_curl_sends_it(content_type: str, token: str) -> None:
    names = "".join(
        f'--B\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in (("ref", "main"), ("token", "t"))
    )
    assert field_in(f"{names}--B--\r\n".encode(), "token", content_type) == token


async def test_a_trigger_reaches_the_pod_of_the_jobs_token_however_it_is_shown(cluster: Cluster) -> None:
    """The first pod says what it makes of a job of its own; by the path it would be the other one."""
    near, far = cluster.sites[0], cluster.sites[7]
    await near.world.pipeline("job: {script: make}\n")
    job = (await near.world.job())["token"]
    path = f"/api/v4/projects/{far.world.project_id}/trigger/pipeline"
    form = aiohttp.FormData({"token": job, "ref": "main"}, default_to_multipart=True)
    shown: list[dict[str, Any]] = [
        {"json": {"token": job, "ref": "main"}},
        {"data": {"token": job, "ref": "main"}},
        {"data": form},
        {"params": {"token": job, "ref": "main"}},
        {"headers": {"JOB-TOKEN": job}, "json": {"ref": "main"}},
    ]
    for options in shown:
        assert await call(cluster, "POST", path, **options) == (404, {"message": "404 Not Found"}), options
    wrong = {"token": job[:-1] + "x", "ref": "main"}
    assert (await call(cluster, "POST", path, json=wrong))[0] == 403
    large = {"token": job, "ref": "main", "variables": {"X": "x" * 100_000}}
    assert (await call(cluster, "POST", path, json=large))[0] == 403, "the pod of the path does not know the token"
