"""The page on which people choose what they hear of."""

from domain.notifications.levels import Level, Setting
from models.repositories.notifications import notification_settings
from models.repositories.owner import Owner
from tests.api.pages.accounts.test_sign_in import PASSWORD, ada, browser, sign_in
from tests.api.v4.site import Site

PAGE = "/-/profile/notifications"


async def test_levels_are_chosen_and_shown(site: Site) -> None:
    person = await ada(site)
    path = await site.path()
    async with browser(site) as client:
        await sign_in(client, "ada", PASSWORD)
        first = await client.get(PAGE)
        assert first.status_code == 200, first.text
        assert "This server sends no e-mails" in first.text
        assert "ada@example.com" in first.text
        form = {"level": "custom", "kind": "project", "path": f"/{path}/", "events": ["success_pipeline"]}
        saved = await client.post(PAGE, data=form)
        assert (saved.status_code, saved.headers["location"]) == (303, f"{PAGE}?notice=saved")
        assert (await client.post(PAGE, data={"level": "watch"})).status_code == 303
        group = {"level": "disabled", "kind": "group", "path": path.rpartition("/")[0]}  # private: not ada's to see
        assert (await client.post(PAGE, data=group)).status_code == 303
        shown = await client.get(f"{PAGE}?notice=saved")
        assert "Saved." in shown.text
        assert f'<a href="/{path}">' in shown.text
        assert '<option value="watch" selected>' in shown.text
    async with site.services.database.read() as connection:
        of_project = await notification_settings.find(connection, person.id, Owner(project_id=site.world.project_id))
        of_all = await notification_settings.find(connection, person.id, Owner())
    assert of_project is not None
    assert of_all is not None
    assert (of_project.level, of_all.level) == (Level.CUSTOM, Level.WATCH)
    assert of_project.wants("success_pipeline")
    assert not of_project.wants("failed_pipeline"), "what is not ticked is left out"


async def test_what_is_wrong_is_said(site: Site) -> None:
    await ada(site)
    async with browser(site) as client:
        await sign_in(client, "ada", PASSWORD)
        for form, said in (
            ({"level": "loud"}, "There is no such level"),
            ({"level": "global"}, "There is no such level"),
            ({"level": "watch", "kind": "project"}, "Say which project or group"),
            ({"level": "watch", "kind": "project", "path": "no/where"}, "There is no project &#39;no/where&#39;"),
            ({"level": "watch", "kind": "planet", "path": "x"}, "for a project or for a group"),
        ):
            response = await client.post(PAGE, data=form)
            assert response.status_code == 400, response.text
            assert said in response.text


async def test_a_place_that_was_lost_is_not_named(site: Site) -> None:
    person = await site.person("gone")
    async with site.services.database.write() as connection:
        owner = Owner(project_id=site.world.project_id)
        await notification_settings.put(connection, person.id, owner, Setting(Level.WATCH), site.services.clock())
    async with site.client(person) as client:
        response = await client.get(PAGE, headers={"Accept": "text/html"})
    assert response.status_code == 200
    assert await site.path() not in response.text


async def test_strangers_sign_in_first(site: Site) -> None:
    async with browser(site) as client:
        for response in (await client.get(PAGE), await client.post(PAGE, data={"level": "watch"})):
            assert response.headers["location"] == f"/users/sign_in?next={PAGE}"
