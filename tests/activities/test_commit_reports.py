"""Reports of commit statuses: real receivers that speak as GitHub, Gitea and GitLab, on both databases."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from activities.commit_reports import ReportActivities
from activities.hooks.deliveries import NotYet
from auth.encryption import open_sealer
from domain.messages import ReportCommit
from domain.pipelines.status import Status
from domain.sealed_for import FORGE
from models.columns import table_of
from models.repositories.hooks import forge_links
from models.tables.hooks import CommitReport
from outbound.post import Poster
from settings import Settings, TimeLimits
from tests.activities.receiver import Receiver, local_poster, receiving
from tests.models.world import BEGIN, World

URL = "http://perdure.example"
reports = table_of(CommitReport)


@dataclass
class Desk:
    """A world that is linked to a forge, and the activity that reports to it."""

    world: World
    folder: Path
    poster: Poster = field(default_factory=local_poster)
    late: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        self.settings = Settings(home=self.folder, external_url=URL, times=TimeLimits(hook_patience=1000))
        self.sealer = open_sealer(self.settings)

    def now(self) -> datetime:
        return BEGIN + timedelta(minutes=1) + self.late

    async def link(self, receiver: Receiver, kind: str = "github", repository: str = "acme/tool") -> None:
        values = {
            "repository_url": f"{receiver.url}/{repository}",
            "api_url": f"{receiver.url}/api",
            "repository": repository,
            "token": self.sealer.seal("t0ken", FORGE),
        }
        async with self.world.database.write() as connection:
            await forge_links.put(connection, self.world.project_id, kind, self.now(), **values)

    async def tell(self) -> str:
        """A look of the workflow at the only report."""
        activities = ReportActivities(self.world.database, self.poster, self.sealer, self.now, self.settings)
        try:
            is_more = await activities.report_commit(ReportCommit((await self.row()).id))
        except NotYet as later:
            return f"again in {(later.next_retry_delay or timedelta()).total_seconds():g}"
        return "more" if is_more else "done"

    async def row(self) -> Any:
        return await self.world.row(reports)


@pytest.fixture
def desk(world: World, tmp_path: Path) -> Desk:
    """The desk of a test."""
    return Desk(world, tmp_path)


async def played(desk: Desk, status: Status = Status.SUCCESS) -> int:
    """A pipeline to its end, reported after each step."""
    world = desk.world
    pipeline_id = await world.create("one: {script: x}")
    await desk.tell()
    await world.settle(pipeline_id)
    await desk.tell()
    job_id = await world.take()
    await desk.tell()
    await world.end(job_id, status, reason="script_failure" if status is Status.FAILED else "")
    await world.settle(pipeline_id)
    await desk.tell()
    return pipeline_id


@pytest.mark.parametrize(
    ("kind", "path", "header", "states"),
    [
        ("github", "/api/repos/acme/tool/statuses/c0ffee", ("Authorization", "Bearer t0ken"), "pending failure"),
        ("gitea", "/api/repos/acme/tool/statuses/c0ffee", ("Authorization", "token t0ken"), "pending failure"),
        ("forgejo", "/api/repos/acme/tool/statuses/c0ffee", ("Authorization", "token t0ken"), "pending failure"),
        ("gitlab", "/api/projects/acme%2Ftool/statuses/c0ffee", ("PRIVATE-TOKEN", "t0ken"), "pending running failed"),
    ],
)
async def test_each_forge_hears_in_its_own_words(
    desk: Desk, kind: str, path: str, header: tuple[str, str], states: str
) -> None:
    async with receiving(201) as receiver:
        await desk.link(receiver, kind)
        pipeline_id = await played(desk, Status.FAILED)
    assert [one.body["state"] for one in receiver.got] == states.split(), "what says nothing new is not said"
    assert {one.path for one in receiver.got} == {path}
    assert {one.headers[header[0]] for one in receiver.got} == {header[1]}
    last = receiver.got[-1].body
    assert last["context"] == "perdure/pipeline"
    assert last["target_url"] == f"{URL}/acme/tool/-/pipelines/{pipeline_id}"
    assert last["description"] == f"Pipeline {pipeline_id} failed"
    row = await desk.row()
    assert (row.state, row.told, row.wanted, row.response_status) == ("done", row.wanted, 4, 201)


async def test_an_outage_ends_with_the_newest_and_nothing_old(desk: Desk) -> None:
    async with receiving(503) as receiver:
        await desk.link(receiver)
        pipeline_id = await desk.world.create("one: {script: x}")
        assert [await desk.tell(), await desk.tell()] == ["again in 5", "again in 10"]
        await desk.world.settle(pipeline_id)
        await desk.world.end(await desk.world.take())
        await desk.world.settle(pipeline_id)
        receiver.statuses = [201]
        receiver.got.clear()
        assert await desk.tell() == "done"
    assert [one.body["state"] for one in receiver.got] == ["success"]
    assert (await desk.row()).state == "done"


async def test_a_change_during_a_call_is_told_next(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    world = desk.world
    async with receiving(201) as receiver:
        await desk.link(receiver, "gitlab")
        pipeline_id = await world.create("one: {script: x}")
        await world.settle(pipeline_id)
        post = desk.poster.post

        async def slow(*order: Any, **options: Any) -> Any:
            reply = await post(*order, **options)
            if len(receiver.got) == 1:
                await world.take()
            return reply

        monkeypatch.setattr(desk.poster, "post", slow)
        assert [await desk.tell(), await desk.tell(), await desk.tell()] == ["more", "done", "done"]
    assert [one.body["state"] for one in receiver.got] == ["pending", "running"]


async def test_an_older_pipeline_of_the_commit_is_not_reported_over_a_newer_one(desk: Desk) -> None:
    async with receiving(201) as receiver:
        await desk.link(receiver)
        old = await desk.world.create("one: {script: x}")
        new = await played(desk)
        await desk.world.settle(old)
        await desk.world.end(await desk.world.take(), Status.FAILED, reason="script_failure")
        await desk.world.settle(old)
        assert await desk.tell() == "done"
    assert (receiver.got[-1].body["state"], receiver.got[-1].body["description"]) == (
        "success",
        f"Pipeline {new} passed",
    )


async def test_a_refusal_is_final_until_there_is_something_new(desk: Desk) -> None:
    async with receiving(401) as receiver:
        await desk.link(receiver)
        pipeline_id = await desk.world.create("one: {script: x}")
        assert await desk.tell() == "done"
        row = await desk.row()
        assert (row.state, row.response_status) == ("failed", 401)
        assert "answered 401" in row.error
        assert "t0ken" not in row.error
        await desk.world.settle(pipeline_id)
        receiver.statuses = [201]
        assert await desk.tell() == "done"
    assert (await desk.row()).state == "done"


async def test_gitlab_that_has_the_state_already_is_content(desk: Desk) -> None:
    async with receiving('{"message":"Cannot transition status via :enqueue from :pending"}') as receiver:
        await desk.link(receiver, "gitlab")
        await desk.world.create("one: {script: x}")
        assert await desk.tell() == "done"
    assert (await desk.row()).state == "done"


async def test_it_is_given_up_when_patience_ends(desk: Desk) -> None:
    async with receiving(500) as receiver:
        await desk.link(receiver)
        await desk.world.create("one: {script: x}")
        assert await desk.tell() == "again in 5"
        desk.late = timedelta(seconds=940)
        assert await desk.tell() == "done"
    assert (await desk.row()).state == "failed"
