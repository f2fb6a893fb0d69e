"""Threads of merge requests over the REST API: begun, answered, resolved, and what they keep from being merged."""

from typing import Any

import pytest

from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site
from tests.api.v4.told_faults import told_faults

THREADS = "merge_requests/1/discussions"


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with an open merge request that no pipeline holds up."""
    here = Merging(site)
    await here.begin("test: {script: make, rules: [{if: '$NEVER'}]}\n")
    await here.feature("feature")
    return here


def place(request: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The position of the first line of what a merge request changes."""
    return {**request["diff_refs"], "position_type": "text", "new_path": "feature.txt", "new_line": 1, **more}


async def test_a_thread_is_begun_answered_and_resolved(here: Merging) -> None:
    ada, bob = await here.site.person("ada", 30), await here.site.person("bob", 20)
    thread = await here.good("POST", THREADS, bob, json={"body": "Why?"})
    one = f"{THREADS}/{thread['id']}"
    (first,) = thread["notes"]
    assert (thread["individual_note"], first["type"], first["resolvable"]) == (False, "DiscussionNote", True)
    assert (first["resolved"], first["resolved_by"], len(thread["id"])) == (False, None, 40)
    response = await here.good("POST", f"{one}/notes", ada, json={"body": "Because"})
    assert (response["type"], response["body"]) == ("DiscussionNote", "Because")
    assert [note["id"] for note in (await here.good("GET", one))["notes"]] == [first["id"], response["id"]]
    assert (await here.get(1))["blocking_discussions_resolved"] is False
    assert (await here.good("GET", "merge_requests"))[0]["blocking_discussions_resolved"] is False
    assert (await here.call("PUT", one, bob, json={"resolved": True})).status_code == 403
    done = await here.good("PUT", f"{one}?resolved=true", ada)
    assert [(note["resolved"], note["resolved_by"]["username"]) for note in done["notes"]] == [(True, "ada")] * 2
    assert (await here.get(1))["blocking_discussions_resolved"] is True
    note = await here.good("PUT", f"{one}/notes/{response['id']}", ada, json={"resolved": False})
    assert (note["resolved"], note["resolved_at"]) == (False, None)
    changed = await here.good("PUT", f"{one}/notes/{response['id']}", ada, json={"body": "Since"})
    assert changed["body"] == "Since"
    both = await here.call("PUT", f"{one}/notes/{response['id']}", ada, json={"body": "x", "resolved": True})
    assert both.status_code == 400
    for key in (response["id"], first["id"]):
        assert (await here.call("DELETE", f"{one}/notes/{key}")).status_code == 204
    assert (await here.call("GET", one)).json() == {"message": "404 Discussion Not Found"}
    assert (await here.get(1))["blocking_discussions_resolved"] is True


async def test_a_note_by_itself_becomes_a_thread_when_it_is_answered(here: Merging) -> None:
    note = await here.good("POST", "merge_requests/1/notes", json={"body": "Well done"})
    await here.good("PUT", "merge_requests/1", json={"title": "Other"})
    alone, system = await here.good("GET", THREADS)
    assert (alone["individual_note"], alone["notes"][0]["id"]) == (True, note["id"])
    assert (system["individual_note"], system["notes"][0]["system"]) == (True, True)
    assert (await here.call("PUT", f"{THREADS}/{alone['id']}?resolved=true")).status_code == 400
    assert (await here.call("POST", f"{THREADS}/{system['id']}/notes", json={"body": "x"})).status_code == 400
    await here.good("POST", f"{THREADS}/{alone['id']}/notes", json={"body": "Thanks"})
    thread = await here.good("GET", f"{THREADS}/{alone['id']}")
    assert (thread["individual_note"], [one["type"] for one in thread["notes"]]) == (False, ["DiscussionNote"] * 2)
    wrong = await here.call("GET", f"{THREADS}/{system['id']}/notes/{note['id']}")
    assert wrong.status_code == 404


async def test_a_diff_note_keeps_its_position(here: Merging) -> None:
    where = place(await here.get(1))
    thread = await here.good("POST", THREADS, json={"body": "Here", "position": where})
    (first,) = thread["notes"]
    assert first["type"] == "DiffNote"
    assert first["position"] == {**where, "old_path": None, "old_line": None, "line_range": None}
    response = await here.good("POST", f"{THREADS}/{thread['id']}/notes", json={"body": "There"})
    assert (response["type"], response["position"]) == ("DiffNote", first["position"])
    form = {f"position[{name}]": str(value) for name, value in where.items()}
    assert (await here.call("POST", THREADS, data={"body": "By form", **form})).status_code == 201


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"head_sha": "main"}, "position.head_sha is invalid"),
        ({"position_type": "word"}, "position.position_type does not have a valid value"),
        ({"new_line": 0}, "position.new_line must be greater than or equal to 1"),
        ({"new_line": None}, "position is invalid: name the line by new_line"),
        ({"new_path": None}, "position is invalid: name the file by new_path"),
        ({"line_range": {"start": {}}}, "position.line_range.end is missing"),
    ],
)
async def test_a_position_that_is_none_is_refused(here: Merging, wrong: dict[str, Any], message: str) -> None:
    where = place(await here.get(1), **wrong)
    response = await here.call("POST", THREADS, json={"body": "Here", "position": where})
    assert (response.status_code, message in told_faults(response)) == (400, True), response.text


async def test_a_merge_waits_until_all_threads_are_resolved(here: Merging) -> None:
    thread = await here.good("POST", THREADS, json={"body": "Why?"})
    assert (await here.get(1))["detailed_merge_status"] == "mergeable"
    setting = {"only_allow_merge_if_all_discussions_are_resolved": True}
    async with here.site.client(here.site.root) as client:
        changed = await client.put(f"/api/v4/projects/{here.id}", json=setting)
    assert setting.items() <= changed.json().items()
    assert (await here.get(1))["detailed_merge_status"] == "discussions_not_resolved"
    refused = await here.merge(1)
    assert (refused.status_code, "discussions_not_resolved" in refused.text) == (405, True)
    assert (await here.merge(1, auto_merge=True)).status_code == 200
    await here.loop.step()
    assert (await here.get(1))["state"] == "opened"
    await here.good("PUT", f"{THREADS}/{thread['id']}", json={"resolved": True})
    await here.loop.step()
    assert (await here.get(1))["state"] == "merged"
