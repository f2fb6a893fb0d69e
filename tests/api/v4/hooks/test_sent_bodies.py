"""What webhooks send, key by key, held against the tables of `docs/webhooks.md`; and notes, as hooks hear of them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from domain.hooks.webhooks import FLAGS, Event
from models.columns import table_of
from models.repositories.hooks import webhook_events
from models.repositories.hooks.webhook_events import Happening
from models.tables.hooks import Hook, HookEvent
from models.tables.merge_requests import MergeRequest
from models.tables.pipelines import Pipeline
from tests.activities.receiver import NETWORK, Receiver, receiving
from tests.api.v4.hooks.delivering import told, until
from tests.api.v4.hooks.sent_fields import Sent
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site, open_site, serving
from tests.git.serving import git
from tests.waiting import eventually

SECTION = {"Confidential Note Hook": "Note Hook"}
CONFIG = """
workflow: {name: Checked}
test:
  script: make check
  artifacts: {paths: [out]}
  rules: [{when: always}]
  environment: {name: live, url: 'https://live.example'}
"""


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation that may reach the receivers of tests."""
    async with open_site(tmp_path, database_url, outbound_networks=NETWORK) as opened:
        yield opened


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with a first commit."""
    here = Merging(site)
    await here.begin(CONFIG)
    return here


async def hook(here: Merging, receiver: Receiver, *flags: str) -> dict[str, Any]:
    """A hook that hears of these events alone."""
    body = {"url": receiver.url, **dict.fromkeys(FLAGS, False), **dict.fromkeys(flags, True)}
    made: dict[str, Any] = await here.good("POST", "hooks", json=body)
    return made


async def quiet(here: Merging) -> None:
    """Wait until every delivery has ended."""

    async def none_is_open() -> bool:
        events = await here.good("GET", f"hooks/{(await here.rows(table_of(Hook)))[0].id}/events?per_page=100")
        return bool(events) and all(event["state"] != "open" for event in events)

    await eventually(none_is_open, "all is delivered")


async def write(here: Merging, statement: Any) -> None:
    async with here.site.services.database.write() as connection:
        await connection.execute(statement)


async def play(here: Merging, pipeline_id: int, state: str) -> None:
    """Run the one job of a pipeline, with an artifact."""
    job = await here.job_of(pipeline_id)
    assert (await here.site.world.upload(job, b"PK\5\6" + bytes(18))).status_code == 201
    reason = {"failure_reason": "script_failure"} if state == "failed" else {}
    assert (await here.site.world.put(job, state, b"", **reason)).status_code == 200
    await here.site.world.settle(pipeline_id)


async def live_through(here: Merging) -> None:
    """Whatever hooks hear of, once."""
    bea, cid = await here.site.person("bea", 30), await here.site.person("cid", 30)
    group = (await here.site.path()).rpartition("/")[0].replace("/", "%2F")
    async with here.site.client(here.site.root) as client:
        made = await client.post(f"/api/v4/groups/{group}/labels", json={"name": "wide", "color": "#00ff00"})
        assert made.status_code == 201, made.text
    await here.good("POST", "labels", json={"name": "near", "color": "red", "description": "about us"})
    milestone = await here.good("POST", "milestones", json={"title": "First"})
    await here.site.set_project(squash_option="default_on", config_path=".gitlab-ci.yml")
    await here.good("POST", "approvals", json={"approvals_before_merge": 1, "reset_approvals_on_push": True})
    plan = {"labels": "near,wide", "assignee_id": bea.id, "reviewer_ids": [cid.id], "milestone_id": milestone["id"]}
    request = await here.feature("feature", **plan)
    await write_notes(here, request)
    await here.good("POST", "merge_requests/1/approve", cid, json={})
    await here.commit("feature", {"more.txt": "more\n"})
    await here.good("POST", "merge_requests/1/approve", cid, json={})
    for pipeline, state in zip(await here.all_pipelines(), ("failed", "success"), strict=False):
        await play(here, pipeline["id"], state)
    await write(here, update(table_of(MergeRequest)).values(merge_error="told"))
    await here.good("PUT", "merge_requests/1", json={"description": "More"})
    assert (await here.merge(1)).status_code == 200
    await here.good("POST", "repository/tags", json={"tag_name": "v1", "ref": "main", "message": "the first"})
    link = {"name": "a", "url": "https://a.example/a"}
    await here.good("POST", "releases", json={"tag_name": "v1", "description": "one", "assets": {"links": [link]}})


async def write_notes(here: Merging, request: dict[str, Any]) -> None:
    """Notes on a merge request, its lines and a commit; one of a thread that is done is changed."""
    await here.good("POST", "merge_requests/1/notes", json={"body": "/review"})
    await here.good("POST", "merge_requests/1/notes", json={"body": "among us", "internal": True})
    refs = (await here.get(1))["diff_refs"]
    where = {**refs, "position_type": "text", "new_path": "feature.txt", "new_line": 1}
    thread = await here.good("POST", "merge_requests/1/discussions", json={"body": "Why?", "position": where})
    one = f"merge_requests/1/discussions/{thread['id']}"
    await here.good("PUT", f"{one}?resolved=true")
    await here.good("PUT", f"{one}/notes/{thread['notes'][0]['id']}", json={"body": "Why not?"})
    on_commit = {"note": "see", "path": "feature.txt", "line": 1}
    await here.good("POST", f"repository/commits/{request['sha']}/comments", json=on_commit)


async def test_every_key_of_every_hook_is_as_the_page_says(here: Merging) -> None:
    """A story with all of it, since a part of it would show but a part of the keys: some seconds."""
    sent = Sent()
    async with receiving() as receiver, told(here.site):
        await hook(here, receiver, *FLAGS)
        await live_through(here)
        variables = [{"key": "A", "value": "1"}]
        await here.good("POST", "pipeline", json={"ref": "main", "variables": variables})
        of_tries = await here.all_pipelines()
        for pipeline in of_tries[2:]:
            await play(here, pipeline["id"], "success")
        above = {"upstream_project_id": here.id, "upstream_id": of_tries[0]["id"], "bridge_id": 1}
        table = table_of(Pipeline)
        await write(here, update(table).where(table.c.id == of_tries[-1]["id"]).values(**above))
        for trigger in ("pipeline_events", "job_events"):
            await here.good("POST", f"hooks/1/test/{trigger}")
        await quiet(here)
    for one in receiver.got:
        kind = one.headers["X-Gitlab-Event"]
        sent.look(SECTION.get(kind, kind), one.body)
    assert set(receiver.kinds()) == set(sent.tables) & set(receiver.kinds()) | {"Confidential Note Hook"}
    assert "\n".join(sorted(set(sent.faults))) == ""
    assert "\n".join(sent.never()) == ""


async def test_a_pipeline_of_a_merge_request_tells_its_branch_and_the_request(here: Merging) -> None:
    async with receiving() as receiver, told(here.site):
        await hook(here, receiver, "pipeline_events")
        await here.commit("topic", {".gitlab-ci.yml": "j: {script: [echo], rules: [{when: always}]}\n"})
        request = await here.open("topic")
        await quiet(here)
    of_request = [one.body for one in receiver.got if one.body["object_attributes"]["source"] == "merge_request_event"]
    assert of_request
    for body in of_request:
        assert body["object_attributes"]["ref"] == "topic"
        told_of = body["merge_request"]
        assert (told_of["id"], told_of["iid"], told_of["title"]) == (request["id"], 1, "Bring topic")
        assert (told_of["source_branch"], told_of["target_branch"], told_of["state"]) == ("topic", "main", "opened")
        assert told_of["url"].endswith("/-/merge_requests/1")
        assert told_of["detailed_merge_status"]
    pushed = [one.body for one in receiver.got if one.body["object_attributes"]["source"] == "push"]
    assert [body["merge_request"] for body in pushed] == [None] * len(pushed)


async def test_options_of_a_push_are_told(here: Merging) -> None:
    async with receiving() as receiver, serving(here.site) as url, told(here.site):
        await hook(here, receiver, "push_events", "tag_push_events")
        tree = here.site.folder / "tree"
        remote = url.replace("://", f"://root:{here.site.root.token}@") + f"/{await here.site.path()}.git"
        await git("tag", "v1", cwd=tree)
        options = ("ci.skip", "ci.variable=A=1", "ci.variable=A=1", "mr.label=near", "nobody.knows")
        given = [word for option in options for word in ("-o", option)]
        await git("push", "-q", *given, remote, "main:refs/heads/topic", "v1", cwd=tree)
        await until(receiver, 2)
    for one in receiver.got:
        space = one.body["push_options"]
        assert space == {"ci": {"skip": True, "variable": {"A=1": 2}}, "merge_request": {"label": {"near": 1}}}


async def test_a_tag_is_told_with_its_commit(here: Merging) -> None:
    async with receiving() as receiver, told(here.site):
        await hook(here, receiver, "tag_push_events")
        await here.good("POST", "repository/tags", json={"tag_name": "v1", "ref": "main"})
        await until(receiver, 1)
        assert (await here.call("DELETE", "repository/tags/v1")).status_code == 204
        await until(receiver, 2)
    made, gone = (one.body for one in receiver.got)
    (commit,) = made["commits"]
    assert (commit["id"], made["total_commits_count"]) == (made["checkout_sha"], 1)
    assert sorted(commit["added"]) == [".gitlab-ci.yml", "README"]
    assert (gone["commits"], gone["total_commits_count"], gone["checkout_sha"]) == ([], 0, None)


async def test_internal_notes_are_told_to_those_alone_who_want_them(here: Merging) -> None:
    await here.feature("feature")
    async with receiving() as open_ear, receiving() as inner_ear, told(here.site):
        first = await hook(here, open_ear, "note_events")
        await hook(here, inner_ear, "confidential_note_events")
        assert (first["note_events"], first["confidential_note_events"]) == (True, False)
        none = await here.call("POST", f"hooks/{first['id']}/test/note_events")
        assert (none.status_code, none.json()["message"]) == (400, "Ensure the project has notes.")
        note = await here.good("POST", "merge_requests/1/notes", json={"body": "aloud"})
        await here.good("POST", "merge_requests/1/notes", json={"body": "among us", "internal": True})
        await here.good("PUT", f"merge_requests/1/notes/{note['id']}", json={"body": "louder"})
        await here.good("PUT", f"merge_requests/1/notes/{note['id']}", json={"body": "louder"})
        await here.good("PUT", "merge_requests/1", json={"title": "Noted by the server"})
        await until(open_ear, 2)
        await until(inner_ear, 1)
        await here.good("POST", f"hooks/{first['id']}/test/note_events")
        await until(open_ear, 3)
    shown = [(one.body["object_attributes"]["note"], one.body["object_attributes"]["action"]) for one in open_ear.got]
    assert shown == [("aloud", "create"), ("louder", "update"), ("louder", "create")]
    (inner,) = inner_ear.got
    assert (inner.headers["X-Gitlab-Event"], inner.body["event_type"]) == (
        "Confidential Note Hook",
        "confidential_note",
    )
    assert inner.body["object_attributes"]["internal"] is True
    assert inner.body["merge_request"]["iid"] == 1


OLD_COMMIT = {
    "id": "c" * 40,
    "message": "m",
    "title": "m",
    "timestamp": "2026-11-01T00:00:00+00:00",
    "author": {"name": "Ada", "email": "ada@example.com"},
}
OLD_REQUEST = {
    "id": 7,
    "iid": 1,
    "source_project_id": 1,
    "source_branch": "topic",
    "target_branch": "main",
    "author_id": 1,
    "title": "Draft: t",
    "description": "",
    "state": "opened",
    "labels": ["gone"],
    "milestone_id": None,
    "assignee_ids": [],
    "reviewer_ids": [1],
    "head_sha": "c" * 40,
    "merge_status": "unchecked",
    "merge_commit_sha": "",
    "squash_commit_sha": "",
    "merge_user_id": None,
    "merge_error": "",
    "auto_merge": "",
    "remove_source_branch": False,
    "created_at": "2026-11-01T00:00:00+00:00",
    "updated_at": "2026-11-01T00:00:00+00:00",
}
OF_BEFORE: dict[Event, dict[str, Any]] = {
    Event.TAG_PUSH: {
        "before": "0" * 40,
        "after": "c" * 40,
        "ref": "refs/tags/v1",
        "ref_protected": False,
        "checkout_sha": "c" * 40,
        "message": "",
        "commits": [],
        "total": 0,
    },
    Event.PUSH: {
        "before": "0" * 40,
        "after": "c" * 40,
        "ref": "refs/heads/main",
        "ref_protected": True,
        "checkout_sha": "c" * 40,
        "message": "",
        "commits": [{**OLD_COMMIT, "added": [], "modified": ["a"], "removed": []}],
        "total": 1,
    },
    Event.MERGE_REQUEST: {
        "action": "update",
        "oldrev": "",
        "system_action": "",
        "merge_request": OLD_REQUEST,
        "changes": {"title": ["a", "Draft: t"]},
        "people": [1],
        "detailed_merge_status": "draft_status",
        "head_pipeline_id": None,
        "commit": OLD_COMMIT,
    },
    Event.RELEASE: {
        "action": "create",
        "id": 1,
        "tag": "v1",
        "name": "v1",
        "description": "",
        "sha": "c" * 40,
        "released_at": "2026-11-01T00:00:00+00:00",
        "created_at": "2026-11-01T00:00:00+00:00",
        "links": [],
    },
}
"""Facts as they were stored at 337f6398: deliveries of them may be open when a newer process starts."""


async def test_what_an_older_process_noted_is_still_delivered(here: Merging) -> None:
    kinds = ("push_events", "tag_push_events", "merge_requests_events", "releases_events")
    async with receiving() as receiver, told(here.site):
        await hook(here, receiver, *kinds)
        now = here.site.services.clock()
        happened = [Happening(here.id, kind, here.site.root.id, facts=facts) for kind, facts in OF_BEFORE.items()]
        async with here.site.services.database.write() as connection:
            await webhook_events.note(connection, happened, now)
        await until(receiver, len(OF_BEFORE))
    assert len(await here.rows(table_of(HookEvent))) == len(OF_BEFORE)
    sent = Sent()
    for one in receiver.got:
        if one.headers["X-Gitlab-Event"] != "Release Hook":  # its commit is not in the repository
            sent.look(one.headers["X-Gitlab-Event"], one.body)
    assert sent.faults == []
