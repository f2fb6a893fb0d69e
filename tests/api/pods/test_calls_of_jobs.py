"""Jobs of one pod that call projects of another with their token: through their own pod, which keeps the token."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import orjson
import pytest

from api.pods.job_calls_elsewhere import _PASSED
from application.pipelines.sealed_values import opened_variables
from auth.pod_calls import PodCall, service_token
from domain.pipelines.bridges import LOOP, TEXT_OF
from domain.pods.job_calls import HEADER, MAX_BODY
from models.repositories.accounts import accounts, visits
from models.repositories.namespaces import job_token_access
from models.repositories.projects import projects
from tests.api.v4.site import serving
from tests.application.bridges.two_pods import PERSON, TwoPods, two_pods
from tests.git.serving import git
from tests.models.world import pipeline

pytestmark = pytest.mark.slow
"""Two pods for each test; a second and more of each."""

FILES = {".gitlab-ci.yml": "made: {script: make}\n", "a/file": "content\n"}


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[TwoPods]:
    async with two_pods(tmp_path, ("", "")) as both:
        await both.far.here.commit(both.target, FILES)
        yield both


async def running(two: TwoPods) -> dict[str, Any]:
    """A job of the near pod, run by the person."""
    await two.near.here.begin({".gitlab-ci.yml": "use: {script: make}\n"}, user_id=two.ada)
    return await two.near.here.site.world.job()


async def let_in(two: TwoPods, **source: int) -> None:
    """The far project lets in the jobs of the near one, or what is named."""
    source = source or {"source_project_id": two.near.here.world.project_id}
    async with two.far.here.world.database.write() as connection:
        await job_token_access.add(connection, two.target, two.far.here.world.now(), "near/app", **source)


async def call(two: TwoPods, job: dict[str, Any], method: str, rest: str, **options: Any) -> httpx.Response:
    """A call of the far project that a job makes where its token leads: in the near pod."""
    headers = {"JOB-TOKEN": job["token"], **options.pop("headers", {})}
    async with two.near.here.site.client(headers=headers) as client:
        return await client.request(method, f"/api/v4/projects/{two.target}{rest}", **options)


async def test_a_job_reads_what_its_user_may_where_the_project_lets_it_in(two: TwoPods) -> None:
    job = await running(two)
    assert (await call(two, job, "GET", "/repository/branches")).status_code == 404, "it is not let in yet"
    await let_in(two)
    response = await call(two, job, "GET", "/repository/branches?search=ma")
    assert response.status_code == 200, response.text
    assert [branch["name"] for branch in response.json()] == ["main"]
    raw = await call(two, job, "GET", f"/repository/files/{quote('a/file', safe='')}/raw", params={"ref": "main"})
    assert (raw.status_code, raw.text) == (200, "content\n")
    head = await call(two, job, "HEAD", "/repository/branches")
    assert (head.status_code, head.content, head.headers["x-total"]) == (200, b"", "1")
    assert (await call(two, job, "GET", "/repository/files/nothing/raw")).status_code == 404


async def test_the_path_names_the_project_as_well_as_the_id(two: TwoPods) -> None:
    job = await running(two)
    await let_in(two)
    path = quote(await two.target_path(), safe="")
    async with two.near.here.site.client(headers={"JOB-TOKEN": job["token"]}) as client:
        response = await client.get(f"/api/v4/projects/{path}/repository/branches")
    assert (response.status_code, len(response.json())) == (200, 1)


@pytest.mark.parametrize("shown", ["header", "private", "bearer", "query"])
async def test_the_token_stays_in_its_pod_wherever_it_is_shown(two: TwoPods, shown: str) -> None:
    seen: list[httpx.Request] = []

    async def note(request: httpx.Request) -> None:
        seen.append(request)

    two.line.before = note
    job = await running(two)
    await let_in(two)
    token = job["token"]
    headers = {
        "header": {"JOB-TOKEN": token},
        "private": {"PRIVATE-TOKEN": token},
        "bearer": {"Authorization": f"Bearer {token}"},
        "query": {},
    }[shown]
    params = {"job_token": token, "search": "ma"} if shown == "query" else {"search": "ma"}
    async with two.near.here.site.client(headers={**headers, "Cookie": "secret=1"}) as client:
        path = f"/api/v4/projects/{two.target}/repository/branches"
        assert (await client.get(path, params=params)).status_code == 200
    (request,) = seen
    everything = f"{request.url} {request.headers} {request.content!r}"
    assert token not in everything
    assert "secret" not in everything
    allowed = {*_PASSED, HEADER.lower(), "authorization", "host", "content-length", "connection", "accept"}
    assert set(request.headers) <= allowed


async def test_a_job_changes_what_its_user_may_change(two: TwoPods) -> None:
    job = await running(two)
    await let_in(two)
    release = {"tag_name": "v1", "ref": "main", "name": "One"}
    made = await call(two, job, "POST", "/releases", json=release)
    assert made.status_code == 201, made.text
    assert made.json()["author"]["username"] == PERSON
    assert (await call(two, job, "GET", "/releases/v1")).json()["name"] == "One"
    assert (await call(two, job, "DELETE", "/releases/v1")).status_code == 200
    assert (await call(two, job, "GET", "/hooks")).status_code == 404, "no job calls that, within a pod neither"


async def test_the_same_call_with_the_same_key_is_carried_out_once(two: TwoPods) -> None:
    job = await running(two)
    await let_in(two)
    keyed = {"headers": {"Idempotency-Key": "k1"}, "json": {"tag_name": "v1", "ref": "main"}}
    first = await call(two, job, "POST", "/releases", **keyed)
    again = await call(two, job, "POST", "/releases", **keyed)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["idempotent-replayed"] == "true"


async def test_a_group_around_the_jobs_project_lets_it_in(two: TwoPods) -> None:
    job = await running(two)
    async with two.near.here.world.database.read() as connection:
        project = await projects.find(connection, two.near.here.world.project_id)
    assert project is not None
    await let_in(two, namespace_id=project.namespace_id)
    assert (await call(two, job, "GET", "/repository/branches")).status_code == 200


async def test_an_open_project_is_open_to_jobs_whose_user_nobody_knows_there(two: TwoPods) -> None:
    await two.set_account(home_id=two.ada + 1)  # the account is somebody else's
    job = await running(two)
    await let_in(two)
    assert (await call(two, job, "GET", "/repository/branches")).status_code == 404
    async with two.far.here.world.database.write() as connection:
        await projects.change(connection, two.target, visibility="public")
    assert (await call(two, job, "GET", "/repository/branches")).status_code == 200
    assert (await call(two, job, "POST", "/releases", json={"tag_name": "v1", "ref": "main"})).status_code == 401


async def test_a_job_that_has_ended_calls_nobody(two: TwoPods) -> None:
    job = await running(two)
    await let_in(two)
    await two.near.here.world.end(job["id"])
    refused = await call(two, job, "GET", "/repository/branches")
    assert (refused.status_code, refused.headers["job-status"]) == (403, "success")
    assert two.line.seen == []


async def test_who_is_blocked_in_either_pod_calls_nobody(two: TwoPods) -> None:
    job = await running(two)
    await let_in(two)
    await two.set_account(state=accounts.BLOCKED)
    assert (await call(two, job, "GET", "/repository/branches")).status_code == 404
    await two.set_account(state=accounts.ACTIVE)
    async with two.near.here.world.database.write() as connection:
        await accounts.change(connection, two.ada, state=accounts.BLOCKED)
    assert (await call(two, job, "GET", "/repository/branches")).status_code == 401


async def test_a_pod_that_is_away_is_503_and_nothing_is_lost(two: TwoPods) -> None:
    job = await running(two)
    await let_in(two)
    two.line.lose_requests = 1
    away = await call(two, job, "GET", "/repository/branches")
    assert (away.status_code, "retry-after" in away.headers) == (503, True)
    assert "Pod far is away" in away.json()["message"]
    assert (await call(two, job, "GET", "/repository/branches")).status_code == 200


async def test_a_body_that_cannot_be_signed_is_refused_by_name(two: TwoPods) -> None:
    job = await running(two)
    refused = await call(two, job, "POST", "/releases", content=b"x" * (MAX_BODY + 1))
    assert refused.status_code == 413
    assert "calls of jobs to other pods" in refused.json()["message"]


@pytest.mark.parametrize("form", [True, False])
async def test_a_job_starts_a_pipeline_there(two: TwoPods, form: bool) -> None:
    job = await running(two)
    await let_in(two)
    body = {"token": job["token"], "ref": "main", "variables[COLOUR]": "red"}
    document = {"token": job["token"], "ref": "main", "variables": {"COLOUR": "red"}}
    async with two.near.here.site.client() as client:
        path = f"/api/v4/projects/{two.target}/trigger/pipeline"
        response = await (client.post(path, data=body) if form else client.post(path, json=document))
    assert response.status_code == 201, response.text
    (made,) = await two.made()
    assert (made.id, made.source, made.user_id) == (response.json()["id"], "pipeline", two.visitor)
    variables = opened_variables(two.far.here.site.services.sealer, made.variables)
    assert {"key": "COLOUR", "value": "red"} in variables
    assert job["token"] not in str(variables)
    origin = {name: made.origin[name] for name in ("upstream_job_id", "upstream_project_id")}
    assert origin == {"upstream_job_id": job["id"], "upstream_project_id": two.near.here.world.project_id}


async def test_pipelines_that_jobs_start_back_and_forth_come_to_an_end(two: TwoPods) -> None:
    """Each knows what has led to it, in either pod."""
    near, far = two.near.here, two.far.here
    await let_in(two)
    async with near.world.database.write() as connection:
        path = await far.path(two.target)
        source = {"source_project_id": two.target}
        await job_token_access.add(connection, near.world.project_id, near.world.now(), path, **source)
        await visits.note_ticket(connection, two.ada, 1, near.world.now())
    await near.begin({".gitlab-ci.yml": "use: {script: make}\n"}, user_id=two.ada)
    sides, starts = [(near, two.target), (far, near.world.project_id)], 0
    while starts < 20:
        here, there = sides[starts % 2]
        await here.carry_out()
        job = await here.site.world.job()
        async with here.site.client(headers={"JOB-TOKEN": job["token"]}) as client:
            response = await client.post(f"/api/v4/projects/{there}/trigger/pipeline", json={"ref": "main"})
        if response.status_code != 201:
            break
        starts += 1
    assert response.status_code == 400
    assert TEXT_OF[LOOP] in response.text
    assert 2 <= starts < 20


async def test_a_trigger_by_somebody_without_rights_is_refused_as_within_a_pod(two: TwoPods) -> None:
    job = await running(two)
    body = {"token": job["token"], "ref": "main"}
    async with two.near.here.site.client() as client:
        response = await client.post(f"/api/v4/projects/{two.target}/trigger/pipeline", json=body)
        assert (response.status_code, response.json()) == (404, {"message": "404 Not Found"})
        personal = await two.near.here.site.with_token(two.ada, PERSON)
        wrong = await client.post(
            f"/api/v4/projects/{two.target}/trigger/pipeline", json={**body, "token": personal.token}
        )
        assert wrong.status_code == 404
    assert await two.far.here.world.rows(pipeline) == []


async def clone(two: TwoPods, url: str, job: dict[str, Any], folder: Path) -> None:
    host = url.removeprefix("http://")
    address = f"http://gitlab-ci-token:{job['token']}@{host}/{await two.target_path()}.git"
    await git("clone", "-q", address, folder, cwd=folder.parent)


async def test_git_clones_a_project_of_another_pod(two: TwoPods, tmp_path: Path) -> None:
    job = await running(two)
    await let_in(two)
    async with serving(two.near.here.site) as url:
        await clone(two, url, job, tmp_path / "clone")
        assert (tmp_path / "clone" / "a" / "file").read_text() == "content\n"
        host, path = url.removeprefix("http://"), await two.target_path()
        address = f"http://gitlab-ci-token:{job['token']}@{host}/{path}.git"
        with pytest.raises(Exception, match="a job token cannot push"):
            await git("push", "-q", address, "HEAD:other", cwd=tmp_path / "clone")


async def test_git_says_that_the_other_pod_is_away(two: TwoPods, tmp_path: Path) -> None:
    job = await running(two)
    await let_in(two)
    two.line.lose_requests = 1
    async with serving(two.near.here.site) as url:
        with pytest.raises(Exception, match=r"remote: .*Pod far is away"):
            await clone(two, url, job, tmp_path / "clone")


async def test_git_says_why_a_project_is_closed_to_the_job(two: TwoPods, tmp_path: Path) -> None:
    job = await running(two)
    async with serving(two.near.here.site) as url:
        with pytest.raises(Exception, match="does not let its jobs in"):
            await clone(two, url, job, tmp_path / "clone")


def signed(two: TwoPods, document: dict[str, Any], path: str, **changes: Any) -> dict[str, str]:
    """Headers of a call that the near pod has signed, for the job that `document` tells of."""
    job = orjson.dumps(document)
    call = PodCall(**{"method": "GET", "path": path, "job": job, **changes})
    token = service_token(two.near.cluster.signing_keys, "far", call)
    return {"Authorization": f"Bearer {token}", HEADER: base64.urlsafe_b64encode(job).decode()}


async def test_only_what_a_pod_has_signed_counts(two: TwoPods) -> None:
    """Whoever reaches a pod directly may write every header."""
    await let_in(two)
    async with two.near.here.world.database.read() as connection:
        project = await projects.find(connection, two.near.here.world.project_id)
    assert project is not None
    document = {
        "id": 7,
        "project_id": project.id,
        "full_path": project.full_path,
        "group_ids": [project.namespace_id],
        "username": PERSON,
        "home_id": two.ada,
        "pipeline_id": 8,
        "ancestors": [],
        "hierarchy": 1,
    }
    path = f"/api/v4/projects/{two.target}/repository/branches"
    good = signed(two, document, path)
    wrong = {
        "no signature": {HEADER: good[HEADER]},
        "for another path": signed(two, document, f"{path}?page=2"),
        "for another method": signed(two, document, path, method="POST"),
        "for another body": signed(two, document, path, body=b"x"),
        "for another job": {**good, HEADER: signed(two, {**document, "id": 9}, path)[HEADER]},
        "of the other kind": signed(two, document, path, job=b"") | {HEADER: good[HEADER]},
        "no job": good | {HEADER: "bm90aGluZw=="},
        "no base64": good | {HEADER: "!"},
    }
    async with two.far.here.site.client() as client:
        assert (await client.get(path, headers=good)).status_code == 200
        for what, headers in wrong.items():
            response = await client.get(path, headers=headers)
            assert (response.status_code, response.json()) == (401, {"message": "401 Unauthorized"}), what
        theirs = {**document, "group_ids": [two.target]}
        elsewhere = {**document, "full_path": await two.target_path()}
        for speaks in (theirs, elsewhere):
            refused = await client.get(path, headers=signed(two, speaks, path))
            assert refused.status_code == 503, "a pod speaks for its own organisations only"
        for not_for_jobs in ("/hooks", "/variables"):
            other = f"/api/v4/projects/{two.target}{not_for_jobs}"
            assert (await client.get(other, headers=signed(two, document, other))).status_code in {401, 404}


async def test_the_body_of_a_stranger_is_not_read(two: TwoPods) -> None:
    """It may be large, and come slowly."""
    read = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(10):
            read += 1
            yield b"x" * 1000

    path = f"/api/v4/projects/{two.target}/releases"
    headers = {HEADER: "bm90aGluZw==", "Authorization": "Bearer x.y.z"}
    async with two.far.here.site.client() as client:
        assert (await client.post(path, content=body(), headers=headers)).status_code == 401
    assert read == 0


async def test_each_job_has_a_share_of_its_own_of_what_may_be_at_work(two: TwoPods) -> None:
    """All of them come from one address: that of their pod. Their own pod has counted how many they were."""
    limit = two.far.here.site.services.settings.rates.anonymous_api_calls
    job = await running(two)
    await let_in(two)
    response = await call(two, job, "GET", "/repository/branches")
    assert response.headers.get_list("ratelimit-name") == ["throttle_authenticated_api"]
    assert int(response.headers["ratelimit-limit"]) > limit


async def test_a_maintainer_lists_projects_and_groups_of_other_pods(two: TwoPods) -> None:
    """Who may see them there; and the list says what they are called."""
    near = two.near.here
    async with near.world.database.write() as connection:
        await visits.note_ticket(connection, two.ada, 1, near.world.now())
        project = await projects.find(connection, near.world.project_id)
    assert project is not None
    person = await two.far.here.site.with_token(two.visitor, PERSON)
    scope = f"/api/v4/projects/{two.target}/job_token_scope"
    async with two.far.here.site.client(person) as client:
        added = await client.post(f"{scope}/allowlist", json={"target_project_id": project.id})
        assert added.status_code == 201, added.text
        assert added.json() == {"source_project_id": two.target, "target_project_id": project.id}
        again = await client.post(f"{scope}/allowlist", json={"target_project_id": project.id})
        assert again.status_code == 400
        listed = (await client.get(f"{scope}/allowlist")).json()
        assert [one["id"] for one in listed] == [two.target, project.id]
        assert listed[1]["full_path"] == project.full_path
        second = await client.get(f"{scope}/allowlist", params={"per_page": 1, "page": 2})
        assert ([one["id"] for one in second.json()], second.headers["x-total"]) == ([project.id], "2")
        missing = await client.post(f"{scope}/allowlist", json={"target_project_id": project.id + 1000})
        assert missing.status_code == 404
        group = {"target_group_id": project.namespace_id}
        assert (await client.post(f"{scope}/groups_allowlist", json=group)).status_code == 201
        (one,) = (await client.get(f"{scope}/groups_allowlist")).json()
        assert (one["id"], one["full_path"]) == (project.namespace_id, project.full_path.rpartition("/")[0])
        job = await running(two)
        assert (await call(two, job, "GET", "/repository/branches")).status_code == 200
        for path in (f"allowlist/{project.id}", f"groups_allowlist/{project.namespace_id}"):
            assert (await client.delete(f"{scope}/{path}")).status_code == 204
        assert (await call(two, job, "GET", "/repository/branches")).status_code == 404
        two.line.lose_requests = 1
        away = await client.post(f"{scope}/allowlist", json={"target_project_id": project.id})
        assert away.status_code == 503
