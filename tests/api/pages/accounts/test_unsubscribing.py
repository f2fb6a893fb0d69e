"""Links in e-mails that end them: by a page that asks, by one POST of a mail program, by nobody else."""

from typing import Any

import pytest

from application.notifications.unsubscribing import Ending, link
from domain.notifications.integrations import Slug, Wishes, wishes_of
from domain.notifications.levels import Level, Setting
from models.repositories.notifications import chat_integrations, notification_settings
from models.repositories.owner import Owner
from tests.api.v4.site import Site

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


def path_of(site: Site, **ending: Any) -> str:
    return link(site.services, Ending(site.world.project_id, **ending)).removeprefix(site.services.settings.url)


async def level(site: Site) -> Level | None:
    async with site.services.database.read() as connection:
        found = await notification_settings.find(connection, site.root.id, Owner(project_id=site.world.project_id))
    return None if found is None else found.level


async def test_a_visit_asks_and_one_post_ends_it(site: Site) -> None:
    path = path_of(site, account_id=site.root.id)
    async with site.client() as client:
        asked = await client.get(path)
        assert asked.status_code == 200
        assert "<form" in asked.text
        assert await level(site) is None, "programs that look at links change nothing"
        for _ in range(2):
            done = await client.post(path, data=ONE_CLICK)
            assert done.status_code == 200, done.text
            assert "Unsubscribed" in done.text
    assert await level(site) is Level.DISABLED


async def test_what_was_chosen_before_stays_chosen(site: Site) -> None:
    owner, now = Owner(project_id=site.world.project_id), site.services.clock()
    async with site.services.database.write() as connection:
        chosen = Setting(Level.CUSTOM, {"success_pipeline": True})
        await notification_settings.put(connection, site.root.id, owner, chosen, now)
    async with site.client() as client:
        await client.post(path_of(site, account_id=site.root.id), data=ONE_CLICK)
    async with site.services.database.read() as connection:
        found = await notification_settings.find(connection, site.root.id, owner)
    assert found is not None
    assert (found.level, found.events) == (Level.DISABLED, {"success_pipeline": True})


async def test_an_address_of_a_list_leaves_it(site: Site) -> None:
    wishes = Wishes(recipients=("a@b.example", "c@d.example"))
    project_id = site.world.project_id
    async with site.services.database.write() as connection:
        now = site.services.clock()
        await chat_integrations.put(connection, project_id, Slug.PIPELINES_EMAIL, now, wishes=wishes.document())
    async with site.client() as client:
        for _ in range(2):
            assert (await client.post(path_of(site, address="a@b.example"), data=ONE_CLICK)).status_code == 200
    async with site.services.database.read() as connection:
        row = await chat_integrations.find(connection, project_id, Slug.PIPELINES_EMAIL)
    assert row is not None
    assert wishes_of(row.wishes).recipients == ("c@d.example",)
    async with site.client(site.root) as client:
        events = (await client.get("/api/v4/audit_events")).json()
    assert [event["event_name"] for event in events].count("integration_recipient_left") == 1


@pytest.mark.parametrize("change", ["cut", "other", "nothing", "long", "foreign"])
async def test_a_link_that_is_not_ours_changes_nothing(site: Site, change: str) -> None:
    path = path_of(site, account_id=site.root.id)
    sealed_for_else = site.services.sealer.seal('{"project_id": 1, "account_id": 1}', "hook")
    bad = {
        "cut": path[:-3],
        "other": path[:-5] + ("A" if path[-5] != "A" else "B") + path[-4:],
        "nothing": "/-/unsubscribe/1/x",
        "long": "/-/unsubscribe/1/" + "x" * 1001,
        "foreign": f"/-/unsubscribe/1/{sealed_for_else}",
    }[change]
    async with site.client() as client:
        for response in (await client.get(bad), await client.post(bad, data=ONE_CLICK)):
            assert response.status_code in {404, 400, 422}, response.text
    assert await level(site) is None
