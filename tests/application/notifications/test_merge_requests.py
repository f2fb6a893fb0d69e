"""Merge requests by e-mail: who is asked to approve, who hears of approvals, merges, and merges that were given up."""

import pytest

from domain.merge_requests.merge_request import AutoMerge
from loops.merge_requests import MergeLoop
from models.repositories.accounts import accounts
from models.repositories.merge_requests import merge_requests
from tests.api.v4.merge_requests.merging import Merging
from tests.application.notifications.desk import Desk


@pytest.fixture
async def here(desk: Desk) -> Merging:
    """The project with a first commit, which needs an approval."""
    here = Merging(desk.site)
    await here.begin()
    await desk.site.set_project(approvals_required=1)
    return here


async def subjects(desk: Desk) -> list[str]:
    """To whom which occasion went since the last look."""
    await desk.told()
    found = sorted(f"{one.to[0].split('@')[0]} {one.mail['X-Perdure-Occasion']}" for one in desk.server.taken)
    desk.server.taken.clear()
    return found


async def test_from_opening_to_merge(desk: Desk, here: Merging) -> None:
    bea, cem, watcher = [await desk.site.person(name, 40) for name in ("bea", "cem", "watcher")]
    await desk.choose(watcher, "watch", desk.of_project)
    await here.feature("feature", reviewer_ids=[bea.id], assignee_id=cem.id)
    assert await subjects(desk) == ["bea approval_needed"]
    await here.good("PUT", "merge_requests/1", json={"reviewer_ids": [bea.id, cem.id]})
    assert await subjects(desk) == ["cem approval_needed"]
    async with desk.site.client(bea) as client:
        path = f"/api/v4/projects/{desk.site.world.project_id}/merge_requests/1/approve"
        assert (await client.post(path)).status_code == 201
    assert await subjects(desk) == ["cem approved", "root approved", "watcher approved"]
    assert (await here.merge(1)).status_code == 200
    assert await subjects(desk) == ["bea merged", "cem merged", "watcher merged"]


async def test_a_draft_asks_nobody_before_it_is_ready(desk: Desk, here: Merging) -> None:
    bea = await desk.site.person("bea", 40)
    await here.feature("feature", title="Draft: x", reviewer_ids=[bea.id])
    assert await subjects(desk) == []
    await here.good("PUT", "merge_requests/1", json={"title": "x"})
    assert await subjects(desk) == ["bea approval_needed"]


async def test_who_may_not_approve_is_not_asked(desk: Desk, here: Merging) -> None:
    reporter = await desk.site.person("reporter", 20)
    await here.feature("feature", reviewer_ids=[reporter.id])
    assert await subjects(desk) == []


async def test_those_who_chose_it_hear_of_whatever_needs_approval(desk: Desk, here: Merging) -> None:
    bea, reporter = await desk.site.person("bea", 40), await desk.site.person("reporter", 20)
    for person in (bea, reporter):
        await desk.choose(person, "custom", approver=True)
    await here.feature("feature")
    assert await subjects(desk) == ["bea approval_needed"]


async def test_a_project_that_asks_for_no_approval_asks_nobody(desk: Desk, here: Merging) -> None:
    await desk.site.set_project(approvals_required=0)
    bea = await desk.site.person("bea", 40)
    await here.feature("feature", reviewer_ids=[bea.id])
    assert await subjects(desk) == []


async def test_a_merge_that_was_given_up(desk: Desk, here: Merging) -> None:
    services = desk.site.services
    bea = await desk.site.person("bea", 40)
    made = await here.feature("feature")
    async with services.database.write() as connection:
        await merge_requests.change(
            connection, made["id"], services.clock(), auto_merge=AutoMerge.MERGE, auto_merge_user_id=bea.id
        )
        await accounts.change(connection, bea.id, name="B\r\nBcc: evil@example.com")
    await here.commit("feature", {"more.txt": "more\n"})
    assert await subjects(desk) == ["bea auto_merge_failed"], "not the one who pushed"
    async with services.database.write() as connection:
        await merge_requests.change(
            connection,
            made["id"],
            services.clock(),
            auto_merge=AutoMerge.MERGE,
            auto_merge_user_id=bea.id,
            title="Draft: x",
        )
    await MergeLoop(services).step()
    assert await subjects(desk) in (["bea auto_merge_failed", "root auto_merge_failed"], [])


async def test_hostile_titles_stay_text(desk: Desk, here: Merging) -> None:
    title = "<script>alert(1)</script>\u202e =?utf-8?q?x?= {{ 7 * 7 }}"
    bea = await desk.site.person("bea", 40)
    await here.feature("feature", title=title, reviewer_ids=[bea.id])
    await desk.told()
    (taken,) = desk.server.taken
    assert taken.mail["Bcc"] is None
    assert "<script>" not in taken.part("html")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in taken.part("html")
    assert "{{ 7 * 7 }}" in taken.part("plain")
    subject = taken.mail["Subject"].replace("\u200b", "")
    assert "<script>alert(1)</script> =?utf-8?q?x?= {{ 7 * 7 }} (!1)" in subject
