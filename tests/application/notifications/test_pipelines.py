"""Pipelines by e-mail: who is told what, once, and what the e-mail says."""

from pathlib import Path

import pytest

from domain.messages import Command
from domain.pipelines.status import Status
from models.repositories.accounts import accounts, members
from models.repositories.owner import Owner
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import projects
from tests.api.runner.world import SHA
from tests.application.notifications.desk import Desk, open_desk


async def test_failed_and_fixed_go_to_whoever_started_it(desk: Desk) -> None:
    await desk.site.person("watcher", 30)
    await desk.pipeline("success")
    await desk.pipeline("failed")
    await desk.pipeline("failed")
    await desk.pipeline("success")
    await desk.pipeline("success")
    path = await desk.site.path()
    to = desk.server
    assert await desk.told() == sorted(
        [
            f"root@127.0.0.1: {path} | Failed pipeline for main | {SHA[:8]}",
            f"root@127.0.0.1: {path} | Failed pipeline for main | {SHA[:8]}",
            f"root@127.0.0.1: {path} | Fixed pipeline for main | {SHA[:8]}",
        ]
    )
    assert len(set(to.ids)) == 3
    assert {row.state for row in await desk.messages()} == {"delivered"}
    assert {row.state for row in await desk.notices()} == {"done"}
    assert await desk.deliver_all() == []


async def test_what_the_e_mail_says(desk: Desk) -> None:
    pipeline_id = await desk.pipeline("failed")
    await desk.told()
    (taken,) = desk.server.taken
    url, path = desk.site.services.settings.url, await desk.site.path()
    (job_id,) = (await desk.notices())[0].facts["failed"]
    mail = taken.mail
    assert mail["From"] == "Perdure <ci@perdure.example>"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["X-GitLab-Project-Path"] == path
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert mail["List-Unsubscribe"].startswith(f"<{url}/-/unsubscribe/{desk.site.world.project_id}/v1.")
    assert mail["Message-ID"].endswith("@127.0.0.1>")
    assert taken.raw.count(b"\r\n") == taken.raw.count(b"\n")
    assert max(len(line) for line in taken.raw.split(b"\r\n")) <= 998
    for part in (taken.part("plain"), taken.part("html")):
        assert f"{url}/{path}/-/pipelines/{pipeline_id}" in part
        assert f"{url}/{path}/-/jobs/{job_id}" in part
        assert "check" in part
        assert "/-/profile/notifications" in part
    text = taken.part("plain")
    assert text.startswith(f"Pipeline #{pipeline_id} of branch main by Administrator has failed in 00:0")
    assert "- check (test): Its script failed" in text or "- check (test): " in text


async def test_a_retry_that_succeeds_is_a_fix(desk: Desk) -> None:
    pipeline_id = await desk.pipeline("failed")

    (job_id,) = (await desk.notices())[0].facts["failed"]
    await desk.settle(pipeline_id, Command("retry_job", "k", job_id))
    job = await desk.site.world.job()
    await desk.site.world.put(job, "success")
    await desk.settle(pipeline_id)
    assert [row.kind for row in await desk.notices()] == ["pipeline_failed", "pipeline_fixed"]


async def test_an_older_pipeline_that_ends_late_fixes_nothing(desk: Desk) -> None:
    world = desk.site.world
    older = await world.pipeline("check: {stage: test, script: x}\n")
    job = await world.job()
    await desk.pipeline("failed")
    await world.put(job, "success")
    await desk.settle(older)
    assert [row.kind for row in await desk.notices()] == ["pipeline_failed", "pipeline_succeeded"]
    await desk.pipeline("success")
    assert (await desk.notices())[-1].kind == "pipeline_fixed"


async def test_refs_do_not_mend_each_other(desk: Desk) -> None:
    world, services = desk.site.world, desk.site.services
    await desk.pipeline("failed")
    async with services.database.write() as connection:
        for ref, tag in (("topic", False), ("main", True)):
            request = PipelineRequest(world.project_id, world.user_id, ref, SHA, "push", tag=tag)
            await pipelines.create_ended(connection, request, Status.SUCCESS, services.clock(), seal=str)
    assert [row.kind for row in await desk.notices()] == [
        "pipeline_failed", "pipeline_succeeded", "pipeline_succeeded"
    ]  # fmt: skip


async def test_one_whose_configuration_is_wrong_says_so(desk: Desk) -> None:
    world, services = desk.site.world, desk.site.services
    async with services.database.write() as connection:
        request = PipelineRequest(world.project_id, world.user_id, "main", SHA, "push")
        wrong = {"reason": "config_error", "errors": "jobs: <b>no</b> job"}
        await pipelines.create_ended(connection, request, Status.FAILED, services.clock(), seal=str, **wrong)
    await desk.told()
    (taken,) = desk.server.taken
    assert "Its configuration is not valid: jobs: <b>no</b> job" in taken.part("plain")
    assert "jobs: &lt;b&gt;no&lt;/b&gt; job" in taken.part("html")


async def test_levels_of_places(desk: Desk) -> None:
    root, project = desk.site.root, desk.of_project
    await desk.choose(root, "disabled")
    await desk.pipeline("failed")
    assert await desk.told() == []
    await desk.choose(root, "custom", project, success_pipeline=True, failed_pipeline=False)
    await desk.pipeline("failed")
    await desk.pipeline("success")
    await desk.pipeline("success")
    told = await desk.told()
    assert [subject.split(" | ")[1] for subject in told] == ["Fixed pipeline for main", "Successful pipeline for main"]


async def test_of_a_group_around(desk: Desk) -> None:
    async with desk.site.services.database.read() as connection:
        project = await projects.find(connection, desk.site.world.project_id)
    assert project is not None
    group = project.namespace_id
    await desk.choose(desk.site.root, "disabled", Owner(namespace_id=group))
    await desk.pipeline("failed")
    assert await desk.told() == []
    await desk.choose(desk.site.root, "participating", desk.of_project)
    await desk.pipeline("failed")
    assert len(await desk.told()) == 1


async def test_blocked_people_and_those_who_lost_access_get_nothing(desk: Desk) -> None:
    site, services = desk.site, desk.site.services
    ada, bob, eve = [await site.person(name, 30) for name in ("ada", "bob", "eve")]
    for person in (ada, bob, eve):
        async with services.database.write() as connection:
            request = PipelineRequest(site.world.project_id, person.id, person.username, SHA, "push")
            await pipelines.create_ended(connection, request, Status.FAILED, services.clock(), seal=str)
    await site.block(ada)
    async with services.database.write() as connection:
        await members.remove_from_project(connection, site.world.project_id, bob.id)
    await desk.spread()
    assert [row.recipient for row in await desk.messages()] == ["eve@example.com"]
    async with services.database.write() as connection:
        await members.remove_from_project(connection, site.world.project_id, eve.id)
    assert await desk.deliver_all() == ["failed"]
    (row,) = await desk.messages()
    assert row.error == "Whoever it was for may not read the project any more."
    assert desk.server.asked == 0


async def test_blocked_meanwhile_and_another_address(desk: Desk) -> None:
    await desk.pipeline("failed")
    await desk.pipeline("failed")
    await desk.spread()
    first, second = await desk.messages()
    async with desk.site.services.database.write() as connection:
        await accounts.change(connection, desk.site.root.id, email="new@example.com")
    assert await desk.deliver(first.id) == "delivered"
    assert desk.server.taken[0].to == ["new@example.com"]
    assert desk.server.taken[0].mail["To"] == "new@example.com"
    await desk.site.block(desk.site.root)
    assert await desk.deliver(second.id) == "failed"


@pytest.mark.parametrize("address", ["", "nobody", "ä@example.com", "a@b\r\nBcc: c@d.example"])
async def test_who_has_no_address_that_can_be_used_gets_nothing(desk: Desk, address: str) -> None:
    async with desk.site.services.database.write() as connection:
        await accounts.change(connection, desk.site.root.id, email=address)
    await desk.pipeline("failed")
    assert await desk.told() == []
    assert await desk.messages() == []


async def test_without_a_mail_server_nothing_is_kept(tmp_path: Path, database_url: str) -> None:
    async with open_desk(tmp_path, database_url, mails=False) as desk:
        await desk.pipeline("failed")
        await desk.spread()
        assert await desk.notices() == []
        assert await desk.messages() == []


async def test_a_mail_server_that_is_taken_away_ends_it(desk: Desk) -> None:
    await desk.pipeline("failed")
    await desk.spread()
    bare = desk.without_mail()
    await bare.spread()
    await bare.pipeline("failed")
    await bare.spread()
    (row,) = await bare.messages()
    assert await bare.deliver(row.id) == "again in 5"
    (row,) = await bare.messages()
    assert row.error == "No mail server is set (PERDURE_SMTP_URL)."
    assert len(await bare.notices()) == 1
