"""Notes on merge requests over the REST API: written, listed, internal ones, and what the server notes by itself."""

from typing import Any

import pytest

from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with an open merge request."""
    here = Merging(site)
    await here.begin()
    await here.feature("feature")
    return here


NOTES = "merge_requests/1/notes"


async def bodies(here: Merging, query: str = "sort=asc&activity_filter=only_activity") -> list[str]:
    """The texts of notes, the oldest first."""
    return [note["body"] for note in await here.good("GET", f"{NOTES}?{query}")]


async def test_a_note_is_written_read_changed_and_deleted(here: Merging) -> None:
    ada, bob = await here.site.person("ada", 30), await here.site.person("bob", 20)
    note = await here.good("POST", NOTES, ada, json={"body": "Well done"})
    request = await here.get(1)
    assert (note["body"], note["author"]["username"], note["system"], note["type"]) == ("Well done", "ada", False, None)
    assert (note["noteable_type"], note["noteable_id"], note["noteable_iid"]) == ("MergeRequest", request["id"], 1)
    assert (note["project_id"], note["resolvable"], note["internal"]) == (here.id, False, False)
    assert "resolved" not in note
    assert request["user_notes_count"] == 1
    one = f"{NOTES}/{note['id']}"
    assert await here.good("GET", one, bob) == note
    assert (await here.call("PUT", one, bob, json={"body": "Mine"})).status_code == 403
    assert (await here.call("DELETE", one, bob)).status_code == 403
    changed = await here.good("PUT", one, ada, json={"body": "Done"})
    assert (changed["body"], changed["created_at"]) == ("Done", note["created_at"])
    assert (await here.good("PUT", one, json={"body": "A maintainer's"}))["body"] == "A maintainer's"
    assert (await here.call("DELETE", one, ada)).status_code == 204
    assert (await here.call("GET", one)).json() == {"message": "404 Note Not Found"}
    assert (await here.get(1))["user_notes_count"] == 0


async def test_notes_come_in_pages_and_are_checked(here: Merging) -> None:
    for number in range(3):
        await here.good("POST", NOTES, json={"body": f"note {number}"})
    response = await here.call("GET", f"{NOTES}?per_page=2")
    assert [note["body"] for note in response.json()] == ["note 2", "note 1"]
    assert (response.headers["x-total"], response.headers["x-next-page"]) == ("3", "2")
    assert await bodies(here, "sort=asc&page=2&per_page=2") == ["note 2"]
    assert await bodies(here) == []
    nothing = "body is missing"
    assert (await here.call("POST", NOTES, json={})).json() == {"message": nothing, "error": nothing}
    long = await here.call("POST", NOTES, json={"body": "x" * 1_000_001})
    faults = {"body": ["is too long (maximum is 1000000 characters)"]}
    assert (long.status_code, long.json()) == (400, {"message": faults})
    dated = await here.good("POST", NOTES, json={"body": "old", "created_at": "2020-01-31T12:00:00Z"})
    assert dated["created_at"] == "2020-01-31T12:00:00.000Z"
    await here.good("POST", "archive")
    assert (await here.call("POST", NOTES, json={"body": "late"})).status_code == 403


async def test_internal_ones_are_for_members(here: Merging) -> None:
    bob, stranger = await here.site.person("bob", 20), await here.site.person("eve", 0)
    await here.site.set_project(visibility="public")
    secret = await here.good("POST", NOTES, bob, json={"body": "secret", "internal": True})
    assert (secret["internal"], secret["confidential"]) == (True, True)
    plain = await here.good("POST", NOTES, stranger, json={"body": "hello"})
    for who, seen in ((bob, {"secret", "hello"}), (stranger, {"hello"})):
        assert {note["body"] for note in await here.good("GET", NOTES, who)} == seen
        threads = await here.good("GET", "merge_requests/1/discussions", who)
        assert {thread["notes"][0]["body"] for thread in threads} == seen
    assert (await here.call("GET", f"{NOTES}/{secret['id']}", stranger)).status_code == 404
    refused = await here.call("POST", NOTES, stranger, json={"body": "x", "internal": True})
    assert refused.status_code == 403
    assert (await here.call("PUT", f"{NOTES}/{plain['id']}", bob, json={"body": "x"})).status_code == 403
    async with here.site.client(None) as client:
        response = await client.post(f"/api/v4/projects/{here.id}/{NOTES}", json={"body": "x"})
    assert response.status_code == 401


async def test_what_happens_is_noted(here: Merging) -> None:
    ada = await here.site.person("ada", 30)
    change: dict[str, Any] = {"title": "Draft: Bring feature", "assignee_ids": [ada.id], "description": "why"}
    await here.good("PUT", "merge_requests/1", json=change)
    await here.good("PUT", "merge_requests/1", json={"title": "Bring features", "reviewer_ids": [ada.id]})
    assert await bodies(here) == [
        "marked this merge request as **draft**",
        "changed the description",
        "assigned to @ada",
        "marked this merge request as **ready**",
        "changed title from **Bring feature** to **Bring feature{+s+}**",
        "requested review from @ada",
    ]
    note = (await here.good("GET", NOTES))[0]
    assert (note["system"], note["author"]["username"]) == (True, "root")
    assert (await here.call("DELETE", f"{NOTES}/{note['id']}")).status_code == 403
    assert (await here.get(1))["user_notes_count"] == 0


async def test_pushes_approvals_and_states_are_noted(here: Merging) -> None:
    ada = await here.site.person("ada", 30)
    sha = await here.commit("feature", {"b.txt": "b\n"}, message="More <b>")
    await here.good("POST", "merge_requests/1/approve", ada)
    await here.good("POST", "merge_requests/1/unapprove", ada)
    await here.good("POST", "merge_requests/1/approve", ada)
    last = await here.commit("feature", {"c.txt": "c\n"})
    await here.good("PUT", "merge_requests/1", json={"state_event": "close"})
    await here.good("PUT", "merge_requests/1", json={"state_event": "reopen"})
    await here.good("PUT", "merge_requests/1/merge", json={"merge_when_pipeline_succeeds": True})
    await here.good("POST", "merge_requests/1/cancel_merge_when_pipeline_succeeds")
    await here.play((await here.pipelines(1))[0]["id"])
    assert (await here.merge(1)).status_code == 200
    assert await bodies(here) == [
        f"added 1 commit\n\n<ul><li>{sha[:8]} - More &lt;b&gt;</li></ul>",
        "approved this merge request",
        "unapproved this merge request",
        "approved this merge request",
        f"added 1 commit\n\n<ul><li>{last[:8]} - Change</li></ul>",
        "reset approvals from @ada by pushing to the branch",
        "closed",
        "reopened",
        f"enabled an automatic merge when all merge checks for {last} pass",
        "canceled the automatic merge",
        "merged",
    ]


async def test_notes_go_with_their_merge_request(here: Merging) -> None:
    await here.good("POST", NOTES, json={"body": "Well done"})
    await here.good("POST", "merge_requests/1/discussions", json={"body": "Why?"})
    assert (await here.call("DELETE", "merge_requests/1")).status_code == 204
    assert (await here.call("GET", NOTES)).status_code == 404
