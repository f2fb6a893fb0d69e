"""What people choose to hear, by python-gitlab: of everything, of groups, of projects."""

import asyncio

import gitlab
import pytest

from domain.notifications.levels import EVENTS
from tests.api.v4.site import Site, serving
from tests.api.v4.told_faults import told_faults


async def test_by_python_gitlab(site: Site) -> None:
    def play(url: str) -> None:
        gl = gitlab.Gitlab(url, private_token=site.root.token)
        gl.session.trust_env = False
        mine = gl.notificationsettings.get()
        assert (mine.level, mine.notification_email, mine.emails_are_sent) == ("participating", "root@127.0.0.1", False)
        mine.level = "watch"
        mine.save()
        assert gl.notificationsettings.get().level == "watch"
        project = gl.projects.get(site.world.project_id)
        group = gl.groups.get(project.namespace["id"])
        for place in (project, group):
            of_place = place.notificationsettings.get()
            assert of_place.level == "global"
            assert not hasattr(of_place, "events")
            of_place.level = "custom"
            of_place.new_note = True
            of_place.save()
            found = place.notificationsettings.get()
            assert found.level == "custom"
            assert set(found.events) == set(EVENTS)
            chosen = {name for name, value in found.events.items() if value}
            assert chosen == {"new_note", "failed_pipeline", "fixed_pipeline", "moved_project"}
            place.notificationsettings.update(new_data={"failed_pipeline": False, "success_pipeline": True})
            events = place.notificationsettings.get().events
            assert (events["failed_pipeline"], events["success_pipeline"], events["new_note"]) == (False, True, True)
        gl.session.close()

    async with serving(site) as url:
        await asyncio.to_thread(play, url)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"level": "global"}, "level is invalid"),
        ({"level": "loud"}, "level does not have a valid value"),
        ({"failed_pipeline": "perhaps"}, "failed_pipeline is invalid"),
        ({"notification_email": "other@example.com"}, "notification_email is invalid"),
    ],
)
async def test_bad_input_is_explained(site: Site, body: dict[str, str], said: str) -> None:
    async with site.client(site.root) as client:
        response = await client.put("/api/v4/notification_settings", json=body)
        assert response.status_code == 400, response.text
        assert said in told_faults(response)
        assert (await client.get("/api/v4/notification_settings")).json()["level"] == "participating"


async def test_each_has_their_own(site: Site) -> None:
    ada, bob = await site.person("ada", 10), await site.person("bob", 10)
    path = f"/api/v4/projects/{site.world.project_id}/notification_settings"
    async with site.client(ada) as client:
        assert (await client.put(path, json={"level": "watch"})).status_code == 200
    async with site.client(bob) as client:
        assert (await client.get(path)).json()["level"] == "global"
    async with site.client(await site.person("stranger")) as client:
        assert (await client.get(path)).status_code == 404
    async with site.client() as client:
        assert (await client.get("/api/v4/notification_settings")).status_code == 401
