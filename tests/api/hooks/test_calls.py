"""A forge calls: its pushes are fetched, its pull requests get their pipelines, and nobody else is believed."""

import asyncio
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import orjson
import pytest
from sqlalchemy import select

from loops.due_rows import HELD
from loops.pull_requests import PATIENCE, PullRequestLoop
from models.repositories.accounts import accounts
from models.repositories.hooks import incoming_hooks
from tests.api.v4.site import Person
from tests.application.mirrors.conftest import Mirrored
from tests.git.serving import git, new_commit


def address(mirrored: Mirrored, rest: str = "") -> str:
    return f"/api/v4/projects/{mirrored.site.world.project_id}/incoming_hooks{rest}"


async def hook_of(mirrored: Mirrored, forge: str = "github", person: Person | None = None) -> dict[str, Any]:
    async with mirrored.site.client(person or mirrored.site.root) as client:
        response = await client.post(address(mirrored), json={"forge": forge})
    assert response.status_code == 201, response.text
    hook: dict[str, Any] = response.json()
    return hook


def signed(forge: str, secret: str, event: str, body: bytes, delivery: str = "d-1") -> dict[str, str]:
    right = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "github": {
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": delivery,
            "X-Hub-Signature-256": f"sha256={right}",
        },
        "gitea": {"X-Gitea-Event": event, "X-Gitea-Delivery": delivery, "X-Gitea-Signature": right},
        "forgejo": {"X-Forgejo-Event": event, "X-Forgejo-Delivery": delivery, "X-Forgejo-Signature": right},
        "gitlab": {"X-Gitlab-Event": event, "Idempotency-Key": delivery, "X-Gitlab-Token": secret},
    }[forge]


async def call(
    mirrored: Mirrored,
    hook: Mapping[str, Any],
    event: str = "push",
    document: Mapping[str, Any] | None = None,
    *,
    delivery: str = "d-1",
    **headers: str,
) -> httpx.Response:
    body = orjson.dumps(document or {"ref": "refs/heads/main"})
    sent = signed(hook["forge"], hook["secret"], event, body, delivery) | headers
    async with mirrored.site.client() as forge:
        return await forge.post(f"/api/hooks/{hook['id']}", content=body, headers=sent)


def pull_request(sha: str, base: str) -> dict[str, Any]:
    def side(ref: str, commit: str) -> dict[str, Any]:
        return {"repo": {"full_name": "me/app"}, "ref": ref, "sha": commit}

    request = {"head": side("fix", sha), "base": side("main", base)}
    return {"action": "opened", "number": 7, "pull_request": request}


async def deliveries(mirrored: Mirrored) -> Sequence[Any]:
    async with mirrored.site.services.database.read() as connection:
        return (await connection.execute(select(incoming_hooks.delivery))).all()


FORGES = [
    ("github", "push"),
    ("gitea", "push"),
    ("forgejo", "push"),
    ("gitlab", "Push Hook"),
    ("gitlab", "Tag Push Hook"),
]


@pytest.mark.parametrize(("forge", "event"), FORGES)
async def test_a_push_elsewhere_is_fetched_and_gets_its_pipeline_once(
    mirrored: Mirrored, forge: str, event: str
) -> None:
    person = await mirrored.site.person("ada", 40)
    given = {"url": mirrored.url, "auth_user": "root", "auth_password": mirrored.site.root.token}
    assert (await mirrored.call("PUT", person, **given)).status_code == 200
    await mirrored.loop().carry_out_due()
    hook = await hook_of(mirrored, forge, person)
    second = await new_commit(mirrored.tree, {"x": "1"}, "Second")
    await mirrored.push("main")
    response = await call(mirrored, hook, event)
    assert (response.status_code, response.json()["message"]) == (202, "202 Accepted: The mirror is pulled.")
    assert await mirrored.loop().carry_out_due() == 1
    again = await call(mirrored, hook, event)
    assert (again.status_code, "came before" in again.text) == (202, True)
    assert await mirrored.loop().carry_out_due() == 0
    row = (await mirrored.pipelines())[-1]
    assert (len(await mirrored.pipelines()), row.source, row.ref, row.sha) == (2, "push", "main", second)
    assert row.user_id == person.id


async def test_a_pull_request_gets_a_pipeline_of_who_set_up_the_hook_as_soon_as_its_commit_is_here(
    mirrored: Mirrored,
) -> None:
    await mirrored.set_up()
    await mirrored.loop().carry_out_due()
    base = await git("rev-parse", "HEAD", cwd=mirrored.tree)
    await git("checkout", "-q", "-b", "fix", cwd=mirrored.tree)
    sha = await new_commit(mirrored.tree, {"x": "1"}, "Fix")
    await mirrored.push("fix")
    person = await mirrored.site.person("ada", 40)
    hook = await hook_of(mirrored, person=person)
    assert (await call(mirrored, hook, "pull_request", pull_request(sha, base))).status_code == 202
    loop = PullRequestLoop(mirrored.site.services)
    assert await loop.carry_out_due() == 1  # too early: the commit is elsewhere
    assert len(await mirrored.pipelines()) == 1
    assert await mirrored.loop().carry_out_due() == 1
    clock = mirrored.site.services.clock
    later = replace(mirrored.site.services, clock=lambda: clock() + timedelta(seconds=5))
    (waiting,) = await deliveries(mirrored)
    assert "not here yet" in waiting.error
    assert await PullRequestLoop(later).carry_out_due() == 1
    assert await PullRequestLoop(later).carry_out_due() == 0
    row = (await mirrored.pipelines())[-1]
    expected = ("external_pull_request_event", "fix", False, sha, person.id)
    assert (row.source, row.ref, row.tag, row.sha, row.user_id) == expected
    assert [one.source for one in await mirrored.pipelines()] == ["push", "push", "external_pull_request_event"]
    await mirrored.site.world.settle(row.id)
    job = await mirrored.site.world.job()
    told = {item["key"]: item["value"] for item in job["variables"]}
    prefix = "CI_EXTERNAL_PULL_REQUEST"
    variables = {
        "CI_PIPELINE_SOURCE": "external_pull_request_event",
        f"{prefix}_IID": "7",
        f"{prefix}_SOURCE_REPOSITORY": "me/app",
        f"{prefix}_TARGET_REPOSITORY": "me/app",
        f"{prefix}_SOURCE_BRANCH_NAME": "fix",
        f"{prefix}_SOURCE_BRANCH_SHA": sha,
        f"{prefix}_TARGET_BRANCH_NAME": "main",
        f"{prefix}_TARGET_BRANCH_SHA": base,
        "GITLAB_USER_LOGIN": "ada",
    }
    assert {key: told[key] for key in variables} == variables


async def arrived(mirrored: Mirrored, message: str = "Fix") -> tuple[dict[str, Any], dict[str, Any], Person]:
    """A hook that has told of a pull request whose commit is here, and nothing else was done."""
    base = await git("rev-parse", "HEAD", cwd=mirrored.tree)
    await mirrored.site.services.repositories.create(mirrored.site.world.project_id, "main")
    await git("checkout", "-q", "-b", "fix", cwd=mirrored.tree)
    sha = await new_commit(mirrored.tree, {"x": "1"}, message)
    ours = mirrored.site.services.repositories.path(mirrored.site.world.project_id)
    await git("push", "-q", ours, "fix", cwd=mirrored.tree)
    person = await mirrored.site.person("ada", 40)
    hook = await hook_of(mirrored, person=person)
    document = pull_request(sha, base)
    assert "not mirrored" in (await call(mirrored, hook, "pull_request", document)).text
    return hook, document, person


async def test_a_pull_request_that_is_told_again_makes_nothing_twice(mirrored: Mirrored) -> None:
    hook, document, _ = await arrived(mirrored)
    for delivery in ("d-1", "another-name-that-nobody-signed"):
        response = await call(mirrored, hook, "pull_request", document, delivery=delivery)
        assert "came before" in response.text
    await PullRequestLoop(mirrored.site.services).carry_out_due()
    (row,) = await deliveries(mirrored)
    async with mirrored.site.services.database.read() as connection:
        (late,) = await incoming_hooks.OWED.hold_due(connection, mirrored.site.services.clock(), row.created_at, 1) or (
            None,
        )
    assert late is None
    assert len(await mirrored.pipelines()) == 1


async def test_two_processes_make_one_pipeline(mirrored: Mirrored) -> None:
    await arrived(mirrored)
    services = mirrored.site.services
    now = services.clock()
    async with services.database.write() as connection:
        (row,) = await incoming_hooks.OWED.hold_due(connection, now, now + HELD, 1)
    await asyncio.gather(PullRequestLoop(services).carry_out(row), PullRequestLoop(services).carry_out(row))
    assert len(await mirrored.pipelines()) == 1


async def test_a_pull_request_whose_commit_asks_for_no_pipeline_is_skipped(mirrored: Mirrored) -> None:
    await arrived(mirrored, "Fix [skip ci]")
    await PullRequestLoop(mirrored.site.services).carry_out_due()
    assert [(row.source, row.status) for row in await mirrored.pipelines()] == [
        ("external_pull_request_event", "skipped")
    ]


async def test_who_set_up_the_hook_must_still_be_there(mirrored: Mirrored) -> None:
    _, _, person = await arrived(mirrored)
    async with mirrored.site.services.database.write() as connection:
        rule = accounts.user.c.id == person.id
        await connection.execute(accounts.user.update().where(rule).values(state="blocked"))
    await PullRequestLoop(mirrored.site.services).carry_out_due()
    (row,) = await deliveries(mirrored)
    assert (row.done_at is not None, "is blocked" in row.error) == (True, True)
    assert await mirrored.pipelines() == []


async def test_a_commit_that_never_comes_is_given_up(mirrored: Mirrored) -> None:
    hook = await hook_of(mirrored)
    await call(mirrored, hook, "pull_request", pull_request("a" * 40, "b" * 40))
    clock = mirrored.site.services.clock
    later = replace(mirrored.site.services, clock=lambda: clock() + PATIENCE + timedelta(minutes=1))
    assert await PullRequestLoop(later).carry_out_due() == 1
    (row,) = await deliveries(mirrored)
    assert (row.done_at is not None, "not here yet" in row.error) == (True, True)


async def test_only_who_has_the_secret_is_believed(mirrored: Mirrored) -> None:
    await mirrored.set_up()
    await mirrored.loop().carry_out_due()
    hook = await hook_of(mirrored)
    forged: dict[str, Any] = {"X-Hub-Signature-256": "sha256=" + "0" * 64}
    wrong = await call(mirrored, hook, **forged)
    unknown = await call(mirrored, {**hook, "id": 999_999})
    empty = await call(mirrored, {**hook, "id": 999_999, "secret": ""})
    other = await hook_of(mirrored)
    foreign = await call(mirrored, {**hook, "secret": other["secret"]})
    refused = [wrong, unknown, empty, foreign]
    expected = (401, {"message": "401 Unauthorized"})
    assert [(one.status_code, one.json()) for one in refused] == [expected] * 4
    assert await deliveries(mirrored) == []
    assert await mirrored.loop().carry_out_due() == 0


async def test_a_rotated_secret_is_the_only_one(mirrored: Mirrored) -> None:
    hook = await hook_of(mirrored)
    async with mirrored.site.client(mirrored.site.root) as client:
        fresh = (await client.post(address(mirrored, f"/{hook['id']}/rotate"))).json()
        (listed,) = (await client.get(address(mirrored))).json()
        async with mirrored.site.services.database.read() as connection:
            row = await incoming_hooks.find(connection, hook["id"])
        old = await call(mirrored, hook)
        new = await call(mirrored, fresh)
        removed = await client.delete(address(mirrored, f"/{hook['id']}"))
        gone = await call(mirrored, fresh)
    assert "secret" not in listed
    assert row is not None
    assert fresh["secret"] not in row.secret
    assert [one.status_code for one in (old, new, removed, gone)] == [401, 202, 204, 401]
    developer = await mirrored.site.person("dev", 30)
    async with mirrored.site.client(developer) as client:
        assert (await client.post(address(mirrored), json={"forge": "github"})).status_code == 403


async def test_bodies_are_bounded_and_must_be_json(mirrored: Mirrored) -> None:
    hook = await hook_of(mirrored)
    async with mirrored.site.client() as forge:
        large = await forge.post(f"/api/hooks/{hook['id']}", content=b"x" * 5_300_000)
        body = b"payload=%7B%7D"
        headers = signed("github", hook["secret"], "push", body)
        of_form = await forge.post(f"/api/hooks/{hook['id']}", content=body, headers=headers)
    assert (large.status_code, "PERDURE_HOOK_BYTES" in large.text) == (413, True)
    assert (of_form.status_code, "application/json" in of_form.text) == (400, True)
