"""Messages on their way: tried again, given up with the reason, never lost, twice only where nothing else can be."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from activities.messages import MessageActivities
from domain.notifications.integrations import Slug, Wishes
from domain.sealed_for import CHAT
from models.repositories.notifications import chat_integrations, messages, notices
from settings import TimeLimits
from tests.activities.mail_server import DIES, DIES_AFTER, OK, SILENT
from tests.activities.receiver import receiving
from tests.application.notifications.desk import Desk, open_desk
from tests.fault_point import held_at
from tests.waiting import eventually

LATER = "451 4.7.1 Greylisted"


async def one_message(desk: Desk) -> int:
    await desk.pipeline("failed")
    await desk.spread()
    (row,) = await desk.messages()
    return int(row.id)


async def test_a_refusal_for_now_is_tried_again_and_arrives_once(tmp_path: Path, database_url: str) -> None:
    async with open_desk(tmp_path, database_url, LATER, LATER, OK) as desk:
        key = await one_message(desk)
        assert [await desk.deliver(key) for _ in range(4)] == ["again in 5", "again in 10", "delivered", "delivered"]
        (row,) = await desk.messages()
        assert (row.state, row.attempts, row.status, row.error) == ("delivered", 3, 250, "")
        assert [one["status"] for one in row.tries] == [451, 451, 250]
        assert desk.server.ids == [f"<{row.uuid}@127.0.0.1>"]


async def test_a_refusal_for_good_is_given_up_and_says_why(tmp_path: Path, database_url: str) -> None:
    async with open_desk(tmp_path, database_url) as desk:
        desk.server.recipients = ["550 5.1.1 No such user here"]
        assert await desk.deliver(await one_message(desk)) == "failed"
        (row,) = await desk.messages()
        assert (row.state, row.status) == ("failed", 550)
        assert row.error == "The mail server refused it: 550 5.1.1 No such user here"


async def test_patience_ends(tmp_path: Path, database_url: str) -> None:
    times = TimeLimits(hook_patience=0.001)
    async with open_desk(tmp_path, database_url, LATER, times=times) as desk:
        assert await desk.deliver(await one_message(desk)) == "failed"


@pytest.mark.parametrize("fault", [DIES, DIES_AFTER])
async def test_one_that_is_gone_before_its_answer_is_asked_again(tmp_path: Path, database_url: str, fault: str) -> None:
    """Nobody can know whether it has the e-mail: it comes again with the same Message-ID, byte by byte the same."""
    async with open_desk(tmp_path, database_url, fault, OK) as desk:
        key = await one_message(desk)
        assert [await desk.deliver(key), await desk.deliver(key)] == ["again in 5", "delivered"]
        assert len(set(desk.server.ids)) == 1
        assert len({one.raw for one in desk.server.taken}) == 1
        assert len(desk.server.taken) == (2 if fault == DIES_AFTER else 1)


async def test_two_that_try_at_once_send_one(tmp_path: Path, database_url: str) -> None:
    async with open_desk(tmp_path, database_url) as desk:
        key = await one_message(desk)
        found = await asyncio.gather(*(desk.deliver(key) for _ in range(5)))
        assert found.count("delivered") >= 1
        assert set(found) <= {"delivered", "again in 15"}
        assert desk.server.asked == 1


async def test_a_slow_server_does_not_hold_others(tmp_path: Path, database_url: str) -> None:
    async with open_desk(tmp_path, database_url, SILENT, OK) as desk:
        await desk.pipeline("failed")
        await desk.pipeline("failed")
        await desk.spread()
        first, second = [row.id for row in await desk.messages()]
        slow = asyncio.create_task(desk.deliver(first))

        async def is_asked() -> bool:
            return desk.server.asked > 0

        await eventually(is_asked, "the mail server has the first one")
        assert await desk.deliver(second) == "delivered"
        assert not slow.done()
        slow.cancel()
        await asyncio.wait([slow])


class Killed(BaseException):
    """The process is gone here."""


def dies_in(monkeypatch: pytest.MonkeyPatch, place: Any, name: str, *, behind: bool) -> None:
    """Whoever gets to this point next is gone, before it is done or after."""
    real = getattr(place, name)

    async def fatal(*given: Any, **named: Any) -> Any:
        monkeypatch.setattr(place, name, real)
        if behind:
            await real(*given, **named)
        raise Killed

    monkeypatch.setattr(place, name, fatal)


SPREADING = [
    (notices, "due", True),
    (notices, "close", False),
    (notices, "close", True),
    (messages, "add", False),
    (messages, "add", True),
]
DELIVERING = [
    (messages, "find", True, 1),
    (messages, "hold", False, 1),
    (MessageActivities, "_address", False, 1),
    (MessageActivities, "_address", True, 1),
    (MessageActivities, "_mail", True, 2),
    (messages, "record", False, 2),
    (messages, "record", True, 2),
]
"""Points between an event and its mark as delivered, and how often the mail server takes the e-mail then."""


@pytest.mark.parametrize(
    ("place", "name", "behind"), SPREADING, ids=lambda value: getattr(value, "__name__", str(value))
)
async def test_killed_while_it_finds_out_whom_to_tell(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, behind: bool
) -> None:
    await desk.pipeline("failed")
    with monkeypatch.context() as fault:
        dies_in(fault, place, name, behind=behind)
        with pytest.raises(Killed):
            await desk.spread()
    assert len(await desk.told()) == 1
    assert len(await desk.messages()) == 1


@pytest.mark.parametrize(
    ("place", "name", "behind", "sent"), DELIVERING, ids=lambda value: getattr(value, "__name__", str(value))
)
async def test_killed_while_it_delivers(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, behind: bool, sent: int
) -> None:
    """Each message arrives, with one Message-ID; twice only if killed between the server's yes and the commit."""
    key = await one_message(desk)
    with monkeypatch.context() as fault:
        dies_in(fault, place, name, behind=behind)
        with pytest.raises(Killed):
            await desk.deliver(key)
    clock, late = desk.site.services.clock, timedelta(minutes=1)
    after = desk.at(lambda: clock() + late)
    assert await after.deliver(key) == "delivered"
    assert len(desk.server.taken) == sent
    assert len(set(desk.server.ids)) == 1
    (row,) = await desk.messages()
    assert row.state == "delivered"
    assert any("cut off" in one["error"] for one in row.tries) == (name not in {"find", "hold"})


async def test_who_died_while_holding_it_delays_it_only_so_long(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    key = await one_message(desk)
    with monkeypatch.context() as fault:
        dies_in(fault, MessageActivities, "_address", behind=False)
        with pytest.raises(Killed):
            await desk.deliver(key)
    assert await desk.deliver(key) == "again in 15"


async def test_two_that_spread_at_once_write_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await desk.pipeline("failed")
    async with held_at(monkeypatch, notices, "due", desk.spread(), behind=True):
        await desk.spread()
    assert len(await desk.messages()) == 1


async def test_one_notice_that_cannot_be_read_holds_no_other(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await desk.pipeline("failed")
    await desk.pipeline("failed")
    first, _ = await desk.notices()
    real = notices.close

    async def faulty(connection: Any, notice_id: int) -> bool:
        if notice_id == first.id:
            raise ZeroDivisionError
        return await real(connection, notice_id)

    with monkeypatch.context() as fault:
        fault.setattr(notices, "close", faulty)
        await desk.spread()
    assert [row.state for row in await desk.notices()] == ["open", "done"]
    assert (await desk.notices())[0].attempts == 1
    clock = desk.site.services.clock
    await desk.at(lambda: clock() + timedelta(seconds=6)).spread()
    assert [row.state for row in await desk.notices()] == ["done", "done"]


async def test_a_pipeline_that_is_gone_is_told_of_no_more(desk: Desk) -> None:
    await desk.pipeline("failed")
    async with desk.site.client(desk.site.root) as client:
        pipeline_id = (await desk.notices())[0].pipeline_id
        path = f"/api/v4/projects/{desk.site.world.project_id}/pipelines/{pipeline_id}"
        assert (await client.delete(path)).status_code == 204
    await desk.spread()
    (row,) = await desk.notices()
    assert (row.state, await desk.messages()) == ("failed", [])


async def put_chat(desk: Desk, slug: Slug, webhook: str, **wishes: Any) -> None:
    services = desk.site.services
    async with services.database.write() as connection:
        values = {"webhook": services.sealer.seal(webhook, CHAT), "wishes": Wishes(**wishes).document()}
        await chat_integrations.put(connection, desk.site.world.project_id, slug, services.clock(), **values)


@pytest.mark.parametrize("slug", [Slug.SLACK, Slug.MATTERMOST])
async def test_chats_get_one_document_each(tmp_path: Path, database_url: str, slug: Slug) -> None:
    async with open_desk(tmp_path, database_url, mails=False) as desk, receiving(500, 200) as receiver:
        await put_chat(desk, slug, receiver.url + "/services/T/s3cret", channel="#ci")
        await desk.pipeline("failed")
        await desk.pipeline("success")
        await desk.spread()
        (row,) = await desk.messages()
        assert [await desk.deliver(row.id), await desk.deliver(row.id)] == ["again in 5", "delivered"]
        first, second = receiver.got
        assert first.raw == second.raw
        assert (first.path, first.body["channel"]) == ("/services/T/s3cret", "#ci")
        assert "has failed" in first.body["text"]
        assert first.body["attachments"][0]["color"] == "danger"
        stored = [*await desk.messages(), *await desk.notices()]
        assert "s3cret" not in str(stored)


async def test_a_chat_that_says_no_more_is_given_up(tmp_path: Path, database_url: str) -> None:
    async with open_desk(tmp_path, database_url, mails=False) as desk, receiving("no_service") as receiver:
        await put_chat(desk, Slug.SLACK, receiver.url)
        await desk.pipeline("failed")
        await desk.spread()
        assert await desk.deliver_all() == ["failed"]
        (row,) = await desk.messages()
        assert (row.status, row.error) == (400, "The chat answered 400: no_service")


async def test_no_chat_leads_into_our_network(tmp_path: Path, database_url: str) -> None:
    async with open_desk(tmp_path, database_url, mails=False) as desk:
        await put_chat(desk, Slug.SLACK, "http://10.1.2.3/hook")
        await desk.pipeline("failed")
        await desk.spread()
        assert await desk.deliver_all() == ["failed"]
        (row,) = await desk.messages()
        assert "is not on the public internet" in row.error


async def test_what_was_switched_off_meanwhile_is_not_sent(tmp_path: Path, database_url: str) -> None:
    async with open_desk(tmp_path, database_url, mails=False) as desk, receiving() as receiver:
        await put_chat(desk, Slug.SLACK, receiver.url)
        await desk.pipeline("failed")
        await desk.spread()
        services = desk.site.services
        async with services.database.write() as connection:
            await chat_integrations.put(
                connection, desk.site.world.project_id, Slug.SLACK, services.clock(), active=False
            )
        assert await desk.deliver_all() == ["failed"]
        await desk.pipeline("failed")
        assert len(await desk.notices()) == 1, "nobody hears of the project any more"
        assert receiver.got == []


async def test_a_list_and_a_person_on_it_get_one_each(desk: Desk) -> None:
    services = desk.site.services
    wishes = Wishes(recipients=("team@example.com", "ROOT@127.0.0.1"), notify_only_broken_pipelines=False)
    async with services.database.write() as connection:
        slug, now = Slug.PIPELINES_EMAIL, services.clock()
        await chat_integrations.put(connection, desk.site.world.project_id, slug, now, wishes=wishes.document())
    await desk.pipeline("failed")
    assert [one.split(":")[0] for one in await desk.told()] == ["root@127.0.0.1", "team@example.com"]
    to_list = next(one for one in desk.server.taken if one.to == ["team@example.com"])
    assert "has put your address on its list" in to_list.part("plain")
    assert "profile" not in to_list.part("plain")


async def test_old_messages_go(desk: Desk) -> None:
    await desk.pipeline("failed")
    await desk.told()
    services = desk.site.services
    async with services.database.write() as connection:
        assert await notices.forget(connection, services.clock() - timedelta(days=1)) == 0
        assert await notices.forget(connection, services.clock()) == 2
    assert await desk.messages() == await desk.notices() == []
