"""The page of a merge request and its buttons: what it says, to whom, and what each button does."""

import re
from typing import Any

import httpx
import pytest

from tests import forms
from tests.api.pages.markup import foreign_markup
from tests.api.pages.test_pages import EVIL, browser
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Person, Site

OURS = {"Sec-Fetch-Site": "same-origin"}


class Pages:
    """Merge requests of a site, read and changed by pages."""

    def __init__(self, site: Site) -> None:
        """As root unless told otherwise."""
        self.site = site
        self.merging = Merging(site)

    async def get(self, place: str, who: Person | None = None, status: int = 200) -> str:
        """A page below the project's merge requests."""
        async with browser(self.site, who or self.site.root) as client:
            response = await client.get(f"/{await self.site.path()}/-/merge_requests{place}")
        assert response.status_code == status, response.text
        assert foreign_markup(response.text) == []
        return response.text

    async def press(self, place: str, who: Person | None = None, /, **fields: Any) -> httpx.Response:
        """Send a form."""
        async with browser(self.site, who or self.site.root, **OURS, **forms.TOKEN) as client:
            address = f"/{await self.site.path()}/-/merge_requests{place}"
            return await client.post(address, data=fields)

    async def done(self, place: str, who: Person | None = None, /, **fields: Any) -> str:
        """Send a form that leads back to a page; its address."""
        response = await self.press(place, who, **fields)
        assert response.status_code == 303, response.text
        return response.headers["location"]


@pytest.fixture
async def pages(site: Site) -> Pages:
    """A project with a first commit."""
    pages = Pages(site)
    await pages.merging.begin()
    return pages


async def test_a_merge_request_says_what_it_brings_and_what_stands_in_its_way(pages: Pages) -> None:
    await pages.merging.commit("fix", {"README": "fixed\n"}, message=EVIL)
    made = await pages.merging.open("fix", title=EVIL, description=f"**bold** {EVIL} ![x](http://away.example/x.png)")
    place = f"/{made['iid']}"
    text = await pages.get(place)
    assert "&lt;script&gt;alert" in text
    assert "<strong>bold</strong>" in text
    assert f'/-/pipelines/{made["head_pipeline"]["id"]}"' in text
    assert "It can be merged." in text
    assert f"perdure mr merge {made['iid']}" in text
    assert "fixed" in await pages.get(f"{place}/diffs")
    assert "the source branch" in await pages.get(f"{place}/pipelines")
    assert "&lt;script&gt;" in await pages.get(f"{place}/commits")
    await pages.done(f"{place}/draft")
    assert "It is a draft" in await pages.get(place)
    await pages.done(f"{place}/ready")
    assert "It can be merged." in await pages.get(place)
    await pages.get(f"{place}0000", status=404)


async def test_it_is_merged_by_its_button(pages: Pages) -> None:
    made = await pages.merging.feature("one")
    place = f"/{made['iid']}"
    assert (await pages.press(f"{place}/merge", sha="0" * 40)).status_code == 409
    await pages.done(f"{place}/merge", sha=made["sha"], squash="false", merge_commit_message="By hand")
    merged = await pages.merging.get(made["iid"])
    assert merged["state"] == "merged"
    assert "By hand" in await pages.merging.git("log", "-1", "--format=%s", "main")
    text = await pages.get(place)
    assert f'/-/commit/{merged["merge_commit_sha"]}"' in text
    assert "Merged" in text
    again = await pages.press(f"{place}/merge")
    assert again.status_code == 405
    assert 'role="alert"' in again.text


async def test_it_is_merged_when_its_pipeline_succeeds_or_not_at_all(pages: Pages) -> None:
    made = await pages.merging.feature("one")
    place = f"/{made['iid']}"
    await pages.done(f"{place}/merge", auto_merge="true", sha=made["sha"])
    assert "Cancel auto-merge" in await pages.get(place)
    await pages.done(f"{place}/cancel_auto_merge")
    text = await pages.get(place)
    assert "Merge when pipeline succeeds" in text
    assert "canceled the automatic merge" in text
    assert (await pages.press(f"{place}/cancel_auto_merge")).status_code == 409
    await pages.done(f"{place}/merge", auto_merge="true", sha=made["sha"])
    await pages.merging.play(made["head_pipeline"]["id"])
    await pages.merging.loop.step()
    assert (await pages.merging.get(made["iid"]))["state"] == "merged"


async def test_a_target_that_has_moved_makes_the_pipeline_stale(pages: Pages) -> None:
    made = await pages.merging.feature("one")
    place = f"/{made['iid']}"
    assert "Stale" not in await pages.get(place)
    await pages.merging.commit("main", {"other": "1\n"})
    await pages.merging.commit("main", {"another": "2\n"})
    text = await pages.get(place)
    assert "has moved on by 2 commits since" in text
    assert "rebase it" in text
    await pages.done(f"{place}/rebase")
    assert "Stale" not in await pages.get(place)


async def test_the_result_of_a_merge_that_is_stale_is_made_again(pages: Pages) -> None:
    await pages.site.set_project(merge_pipelines_enabled=True)
    made = await pages.merging.feature("one")
    place = f"/{made['iid']}"
    await pages.merging.commit("main", {"other": "1\n"})
    assert "Run the pipeline again" in await pages.get(place)
    await pages.done(f"{place}/pipelines")
    assert "Stale" not in await pages.get(place)


async def test_a_train_shows_who_is_before(pages: Pages) -> None:
    await pages.site.set_project(merge_trains_enabled=True, merge_pipelines_enabled=True)
    first, second = await pages.merging.feature("one"), await pages.merging.feature("two")
    for made in (first, second):
        await pages.merging.play((await pages.merging.get(made["iid"]))["head_pipeline"]["id"])
        await pages.done(f"/{made['iid']}/train", sha=made["sha"])
    await pages.merging.loop.step()
    text = await pages.get(f"/{second['iid']}")
    assert "place 2 of 2, 1 before it" in text
    assert "is tested upon what is before it" in text
    assert "place 1 of 2, the first" in await pages.get(f"/{first['iid']}")
    async with browser(pages.site, pages.site.root) as client:
        trains = (await client.get(f"/{await pages.site.path()}/-/merge_trains")).text
    assert trains.index(f"!{first['iid']} ") < trains.index(f"!{second['iid']} ")
    await pages.done(f"/{first['iid']}/leave_train")
    assert "place 1 of 1" in await pages.get(f"/{second['iid']}")
    assert (await pages.press(f"/{first['iid']}/leave_train")).status_code == 409


async def test_approvals_are_given_and_taken_back(pages: Pages) -> None:
    await pages.site.set_project(approvals_required=1)
    made = await pages.merging.feature("one")
    place = f"/{made['iid']}"
    assert "It needs more approvals." in await pages.get(place)
    other = await pages.site.person("other", 30)
    await pages.done(f"{place}/approve", other, sha=made["sha"])
    text = await pages.get(place, other)
    assert "1 of 1 approval" in text
    assert "Revoke approval" in text
    await pages.done(f"{place}/unapprove", other)
    assert (await pages.press(f"{place}/unapprove", other)).status_code == 409
    assert "0 of 1 approval" in await pages.get(place)


async def test_comments_are_text_and_threads_are_resolved(pages: Pages) -> None:
    await pages.site.set_project(only_merge_if_resolved=True)
    made = await pages.merging.feature("one")
    place = f"/{made['iid']}"
    await pages.done(
        f"{place}/notes", body=f"# Read\n\n{EVIL} [x](javascript:alert(1)) ![y](https://away.example/y.png)"
    )
    text = await pages.get(place)
    assert "&lt;script&gt;alert" in text
    empty = await pages.press(f"{place}/notes", body="  ")
    assert (empty.status_code, "The comment is empty" in empty.text) == (400, True)
    thread = await pages.merging.good("POST", f"merge_requests/{made['iid']}/discussions", json={"body": "Why?"})
    assert "Threads of it are not resolved." in await pages.get(place)
    await pages.done(f"{place}/discussions/{thread['id']}/resolve", resolved="true")
    assert "It can be merged." in await pages.get(place)


async def test_it_is_edited_closed_and_opened_again(pages: Pages) -> None:
    made = await pages.merging.feature("one")
    place = f"/{made['iid']}"
    assert "Bring one" in await pages.get(f"{place}/edit")
    fields = {"merge_request[title]": EVIL, "merge_request[description]": "New\r\nlines"}
    await pages.done(place, **fields)
    now = await pages.merging.get(made["iid"])
    assert (now["title"], now["description"]) == (EVIL, "New\nlines")
    refused = await pages.press(place, **{"merge_request[title]": ""})
    assert refused.status_code == 400
    await pages.done(f"{place}/close")
    assert "It is closed" in await pages.get(place)
    await pages.done(f"{place}/reopen")
    assert (await pages.merging.get(made["iid"]))["state"] == "opened"


async def test_what_somebody_may_not_do_is_not_offered_and_refused(pages: Pages) -> None:
    made = await pages.merging.feature("one")
    place = f"/{made['iid']}"
    reader = await pages.site.person("reader", 20)
    text = await pages.get(place, reader)
    actions = set(re.findall(r'action="[^"]*/-/merge_requests/\d+/(\w+)"', text))
    assert actions == {"notes"}
    for action in ("merge", "close", "draft", "approve", "rebase", "pipelines", "train"):
        refused = await pages.press(f"{place}/{action}", reader)
        assert refused.status_code == 403, action
    assert (await pages.press(f"{place}/merge", await pages.site.person("stranger"))).status_code == 404
    async with browser(pages.site, pages.site.root) as client:
        foreign = await client.post(f"/{await pages.site.path()}/-/merge_requests{place}/merge")
    assert foreign.status_code == 403
    assert (await pages.merging.get(made["iid"]))["state"] == "opened"
