"""The page of integrations: saved, tried out, removed; what became of messages; secrets that are not shown."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from models.repositories.accounts import accounts
from tests.activities.mail_server import MailServer
from tests.activities.receiver import receiving
from tests.api.pages.accounts.test_sign_in import PASSWORD, browser, sign_in
from tests.api.v4.site import Site
from tests.application.notifications.desk import Desk, delivering, open_desk


@pytest.fixture
async def desk(tmp_path: Path, database_url: str) -> AsyncIterator[Desk]:
    """An installation that sends e-mails."""
    async with open_desk(tmp_path, database_url) as opened:
        hashed = await opened.site.services.passwords.hashed(PASSWORD)
        async with opened.site.services.database.write() as connection:
            await accounts.change(connection, opened.site.root.id, password_hash=hashed)
        yield opened


async def page_of(site: Site) -> str:
    return f"/{await site.path()}/-/settings/integrations"


async def test_a_chat_from_saving_to_removing(desk: Desk) -> None:
    site = desk.site
    page = await page_of(site)
    async with receiving(200, "no_service") as receiver, browser(site) as client, delivering(desk):
        await sign_in(client, "root", PASSWORD)
        first = await client.get(page)
        assert first.status_code == 200, first.text
        assert first.text.count("<form") >= 3
        webhook = f"{receiver.url}/s3cret"
        form = {"webhook": webhook, "channel": "#<b>ci</b>", "pipeline_events": "true", "active": "true"}
        saved = await client.post(f"{page}/slack", data=form)
        assert (saved.status_code, saved.headers["location"]) == (303, f"{page}?notice=saved"), saved.text
        shown = await client.get(page)
        assert "s3cret" not in shown.text
        assert "#&lt;b&gt;ci&lt;/b&gt;" in shown.text
        tried = await client.post(f"{page}/slack/test")
        assert "The test message has arrived." in tried.text
        assert "test message" in tried.text
        again = await client.post(f"{page}/slack/test")
        assert "The test message did not arrive. The chat answered 400: no_service" in again.text
        kept = await client.post(f"{page}/slack", data={"webhook": "", "channel": "", "active": "true"})
        assert kept.status_code == 303, "an empty webhook stays as it is"
        assert (await client.post(f"{page}/slack/remove")).headers["location"] == f"{page}?notice=removed"
        assert (await client.post(f"{page}/slack/remove")).status_code == 404
    first_message = receiver.got[0].body
    assert "Administrator has sent this message to see whether it arrives" in first_message["text"]
    assert receiver.got[0].path == "/s3cret"


async def test_a_list_of_addresses(desk: Desk) -> None:
    page = await page_of(desk.site)
    server: MailServer = desk.server
    async with browser(desk.site) as client, delivering(desk):
        await sign_in(client, "root", PASSWORD)
        form: dict[str, Any] = {"recipients": "a@b.example\r\nc@d.example", "active": "true", "pipeline_events": "true"}
        assert (await client.post(f"{page}/pipelines-email", data=form)).status_code == 303
        tried = await client.post(f"{page}/pipelines-email/test")
        assert "The test message has arrived." in tried.text
        wrong = await client.post(f"{page}/pipelines-email", data={"recipients": "<b>x</b>"})
        assert wrong.status_code == 400
        assert "is not an e-mail address" in wrong.text
        assert "<b>x" not in wrong.text
    assert sorted(one.to[0] for one in server.taken) == ["a@b.example", "c@d.example"]


async def test_without_a_mail_server_the_page_says_so(tmp_path: Path, database_url: str) -> None:
    async with open_desk(tmp_path, database_url, mails=False) as desk:
        page = await page_of(desk.site)
        async with desk.site.client(desk.site.root, headers={"Accept": "text/html"}) as client:
            assert "This server sends no e-mails" in (await client.get(page)).text
            saved = await client.post(
                f"{page}/pipelines-email",
                data={"recipients": "a@b.example"},
                headers={"Origin": desk.site.services.settings.url},
            )
            assert saved.status_code == 303, saved.text
            tried = await client.post(
                f"{page}/pipelines-email/test", headers={"Origin": desk.site.services.settings.url}
            )
            assert tried.status_code == 400
            assert "No mail server is set" in tried.text


async def test_it_is_for_maintainers(desk: Desk) -> None:
    page = await page_of(desk.site)
    for level, expected in ((0, 404), (30, 403), (40, 200)):
        person = await desk.site.person(f"person{level}", level)
        async with desk.site.client(person, headers={"Accept": "text/html"}) as client:
            assert (await client.get(page)).status_code == expected
