"""A mirror follows its origin, by one process at a time, and leads nowhere else."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import select

from application.mirrors import pull as mirror_pull
from application.mirrors.pull import checked_url
from application.pushes import push
from domain.errors import Invalid
from git import git_process
from git.transport.mirroring import fetch
from loops import mirrors as mirror_loop
from loops.due_rows import HELD
from loops.mirrors import MirrorLoop
from models.repositories.accounts import accounts
from models.repositories.projects import mirrors
from models.rows.mirrors import MirrorRow
from tests.application.mirrors.conftest import Mirrored
from tests.git.serving import git, new_commit
from tests.waiting import eventually


async def test_a_mirror_follows_what_moves_comes_and_goes_and_each_gets_its_pipeline(mirrored: Mirrored) -> None:
    response = (await mirrored.set_up()).json()
    assert (response["url"], response["update_status"], response["last_error"]) == (mirrored.url, "none", None)
    assert mirrored.site.root.token not in str(response)
    assert await mirrored.loop().carry_out_due() == 1
    first = await git("rev-parse", "HEAD", cwd=mirrored.tree)
    assert await mirrored.refs() == {"refs/heads/main": first}
    (row,) = await mirrored.pipelines()
    expected = ("push", "main", False, first, "0" * 40, mirrored.site.root.id)
    assert (row.source, row.ref, row.tag, row.sha, row.before_sha, row.user_id) == expected
    done = (await mirrored.call("GET")).json()
    assert (done["update_status"], done["last_error"]) == ("finished", None)
    assert done["last_successful_update_at"] == done["last_update_at"] is not None

    second = await new_commit(mirrored.tree, {"x": "1"}, "Second")
    await mirrored.push("main", "main:refs/heads/side", "main:refs/tags/v1")
    assert await mirrored.loop().carry_out_due() == 0  # not its turn
    assert (await mirrored.call("POST")).json()["update_status"] == "scheduled"
    assert await mirrored.loop().carry_out_due() == 1
    assert await mirrored.refs() == dict.fromkeys(["refs/heads/main", "refs/heads/side", "refs/tags/v1"], second)
    made = [(row.ref, row.tag, row.before_sha) for row in (await mirrored.pipelines())[1:]]
    assert sorted(made) == [("main", False, first), ("side", False, "0" * 40), ("v1", True, "0" * 40)]

    local = mirrored.site.services.repositories.path(mirrored.site.world.project_id)
    await git("push", "-q", local, "main:refs/heads/ours", cwd=mirrored.tree)
    await git("reset", "-q", "--hard", first, cwd=mirrored.tree)
    await mirrored.push("--force", "main", ":refs/heads/side")
    assert await mirrored.loop(later=1801).carry_out_due() == 1  # by its timer
    found = await mirrored.refs()
    assert found == {"refs/heads/main": first, "refs/heads/ours": second, "refs/tags/v1": second}
    assert [(row.ref, row.sha) for row in (await mirrored.pipelines())[4:]] == [("main", first)]


async def test_two_processes_pull_once(mirrored: Mirrored) -> None:
    await mirrored.set_up()
    started = await asyncio.gather(*(mirrored.loop().carry_out_due() for _ in range(4)))
    assert sum(started) == 1
    assert len(await mirrored.pipelines()) == 1


@pytest.mark.parametrize(
    ("where", "name", "is_noted"),
    [(mirror_pull, "fetch", False), (mirror_pull, "follow", True), (push, "finish", True)],
)
async def test_a_process_that_dies_on_the_way_loses_no_pipeline_and_doubles_none(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch, where: ModuleType, name: str, is_noted: bool
) -> None:
    await mirrored.set_up()
    real = getattr(where, name)

    async def dies(*arguments: Any) -> None:
        if name == "follow":
            await real(*arguments)  # git has moved the refs
        raise asyncio.CancelledError

    monkeypatch.setattr(where, name, dies)
    dying = mirrored.loop()
    assert await dying.start_due() == 1
    await asyncio.wait(dying._under_way.values())
    monkeypatch.undo()
    assert await mirrored.pipelines() == []
    assert await mirrored.loop().carry_out_due() == 0  # still held
    assert await push.finish_abandoned(mirrored.site.services, all_of_them=True) == int(is_noted)
    later = HELD.total_seconds() + 1
    assert await mirrored.loop(later=later).carry_out_due() == 1
    assert [row.ref for row in await mirrored.pipelines()] == ["main"]


async def test_failures_are_told_without_the_password_and_come_later_and_later(mirrored: Mirrored) -> None:
    await mirrored.set_up(auth_password="s3cret-and-wrong")
    await mirrored.loop().carry_out_due()
    failed = (await mirrored.call("GET")).json()
    assert failed["update_status"] == "failed"
    assert failed["last_error"]
    assert "s3cret" not in str(failed)
    assert failed["last_successful_update_at"] is None
    async with mirrored.site.services.database.read() as connection:
        row = await mirrors.of_project(connection, mirrored.site.world.project_id)
    assert row is not None
    assert row.next_at is not None
    assert row.last_update_at is not None
    assert "s3cret" not in row.credentials
    assert (row.failures, row.next_at > row.last_update_at) == (1, True)


async def test_no_credentials_are_on_the_command_line(mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Sequence[str | Path], Mapping[str, str]]] = []
    real = git_process.begin

    def spying(arguments: Sequence[str | Path], variables: Mapping[str, str]) -> git_process.Begun:
        seen.append((arguments, variables))
        return real(arguments, variables)

    monkeypatch.setattr(git_process, "begin", spying)
    await mirrored.set_up()
    await mirrored.loop().carry_out_due()
    ((arguments, environment),) = [one for one in seen if "fetch" in one[0]]
    assert mirrored.site.root.token not in str(arguments)
    assert "followRedirects" in str(environment)
    assert len(await mirrored.pipelines()) == 1


async def test_a_mirror_does_not_lead_into_the_network_of_the_server(mirrored: Mirrored) -> None:
    await mirrored.set_up()
    assert await MirrorLoop(mirrored.site.services).carry_out_due() == 1
    assert "not on the public internet" in (await mirrored.call("GET")).json()["last_error"]
    assert await mirrored.pipelines() == []


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc",
        "ssh://git@host/x.git",
        "ext::sh -c id",
        "https://",
        "https://h/x?a=1",
        "http://a b/",
        "https://ä/x",
        "https://u:p%0aX-Evil:1@host/x.git",
        "-oProxyCommand=id",
        "http://h:99999/x",
    ],
)
async def test_only_plain_addresses_are_taken(mirrored: Mirrored, url: str) -> None:
    with pytest.raises(Invalid, match="url is invalid"):
        checked_url(url)
    assert (await mirrored.call("PUT", url=url)).status_code == 400


async def test_the_credentials_of_an_address_never_go_to_another_one(mirrored: Mirrored) -> None:
    assert checked_url("https://me:p%40ss@Host.example:8443/g/p.git") == (
        "https://host.example:8443/g/p.git",
        "me:p@ss",
    )
    await mirrored.set_up()

    async def kept() -> Any:
        async with mirrored.site.services.database.read() as connection:
            return (await connection.execute(select(mirrors.mirror.c.credentials))).scalar_one()

    before = await kept()
    await mirrored.call("PUT", interval=600)
    assert await kept() == before
    await mirrored.call("PUT", url=mirrored.url)
    assert await kept() == before
    await mirrored.call("PUT", url="https://evil.example/x.git")
    assert await kept() == ""


async def test_who_set_it_up_must_still_be_a_maintainer(mirrored: Mirrored) -> None:
    person = await mirrored.site.person("ada", 40)
    developer = await mirrored.site.person("dev", 30)
    assert (await mirrored.call("GET")).status_code == 404
    assert (await mirrored.call("POST")).json() == {"message": "The project is not mirrored"}
    assert (await mirrored.call("PUT", developer, url=mirrored.url)).status_code == 403
    given = {"url": mirrored.url, "auth_user": "root", "auth_password": mirrored.site.root.token}
    assert (await mirrored.call("PUT", person, **given)).status_code == 200
    assert (await mirrored.call("POST", developer)).status_code == 200
    async with mirrored.site.services.database.write() as connection:
        rule = accounts.user.c.id == person.id
        await connection.execute(accounts.user.update().where(rule).values(state="blocked"))
    await mirrored.loop().carry_out_due()
    assert "is blocked" in (await mirrored.call("GET")).json()["last_error"]
    assert await mirrored.pipelines() == []
    assert (await mirrored.call("DELETE")).status_code == 204
    assert (await mirrored.call("GET")).status_code == 404


async def test_without_trigger_builds_refs_move_and_nothing_runs(mirrored: Mirrored) -> None:
    await mirrored.set_up(mirror_trigger_builds=False)
    await mirrored.loop().carry_out_due()
    assert len(await mirrored.refs()) == 1
    assert await mirrored.pipelines() == []


async def test_a_lease_is_renewed_while_a_pull_lasts(mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch) -> None:
    await mirrored.set_up()
    go = asyncio.Event()
    monkeypatch.setattr(mirror_loop, "RENEWED", 0.01)

    async def slow(*arguments: Any) -> None:
        await go.wait()
        await fetch(*arguments)

    monkeypatch.setattr(mirror_pull, "fetch", slow)
    loop = mirrored.loop()
    await loop.start_due()

    async def held() -> datetime | None:
        async with mirrored.site.services.database.read() as connection:
            row: MirrorRow | None = await mirrors.of_project(connection, mirrored.site.world.project_id)
        assert row is not None
        return row.held_until

    first = await held()

    async def renewed() -> bool:
        return await held() != first

    await eventually(renewed, "the lease is renewed")
    go.set()
    await asyncio.gather(*loop._under_way.values())
    assert (await mirrored.call("GET")).json()["update_status"] == "finished"
