"""The REST API of pipeline schedules: GitLab's fields, faults and rights."""

from typing import Any

import pytest

from models.repositories.projects import project_removal
from tests.application.schedules.planned import SIDE, Planned, schedule_table, tick_table, variable_table
from tests.git.serving import git

DEVELOPER, MAINTAINER, REPORTER = 30, 40, 20


async def test_a_schedule_is_shown_as_gitlab_shows_it(here: Planned) -> None:
    made = await here.schedule("0 4 * * 1-5", cron_timezone="Berlin", inputs=[{"name": "n", "value": [1]}])
    (listed,) = (await here.call("GET")).json()
    assert listed == {
        "id": made["id"],
        "description": "nightly",
        "ref": "refs/heads/main",
        "cron": "0 4 * * 1-5",
        "cron_timezone": "Berlin",
        "next_run_at": "2026-03-03T03:00:00.000Z",
        "active": True,
        "created_at": "2026-03-02T12:00:30.000Z",
        "updated_at": "2026-03-02T12:00:30.000Z",
        "owner": listed["owner"],
        "overlap_policy": "allow_all",
        "catch_up": "last",
        "catch_up_window": 3600,
    }
    assert listed["owner"]["username"] == "root"
    details = {"last_pipeline": None, "variables": [], "inputs": [{"name": "n", "value": [1]}]}
    assert made == (await here.call("GET", f"/{made['id']}")).json() == {**listed, **details}


async def test_active_and_inactive_ones_are_told_apart(here: Planned) -> None:
    on, off = await here.schedule(), await here.schedule(active=False)
    for scope, expected in (("", [on, off]), ("?scope=active", [on]), ("?scope=inactive", [off])):
        response = await here.call("GET", scope)
        assert [item["id"] for item in response.json()] == [each["id"] for each in expected]
    assert (await here.call("GET", "?scope=other")).status_code == 400


SYNTAX = "is invalid syntax:"
NO_MARS = f"{SYNTAX} there is no time zone 'Mars/Olympus'; it takes names as Europe/Berlin, America/New_York or UTC."
MINUTE = f"{SYNTAX} '99' is wrong in the minute, which takes 0 to 59."
FIVE = "instead of 5: minute, hour, day of the month, month, day of the week."
FAULTS: list[tuple[dict[str, Any], Any]] = [
    ({"cron": "every day"}, {"cron": [f"{SYNTAX} it has 2 fields {FIVE}"]}),
    ({"cron": "99 * * * *"}, {"cron": [MINUTE]}),
    (
        {"cron": "0 0 30 2 *"},
        {"cron": ["is invalid syntax: none of its months has such a day, so it would never run."]},
    ),
    ({"cron": "* * * * * *"}, {"cron": [f"{SYNTAX} it has 6 fields {FIVE}"]}),
    ({"cron_timezone": "Mars/Olympus"}, {"cron_timezone": [NO_MARS]}),
    (
        {"cron": "99 * * * *", "cron_timezone": "Europe/Berln"},
        {
            "cron": [MINUTE],
            "cron_timezone": [f"{SYNTAX} there is no time zone 'Europe/Berln'; did you mean 'Europe/Berlin'?"],
        },
    ),
    ({"description": " "}, {"description": ["can't be blank"]}),
    ({"ref": "nowhere"}, {"ref": ["Reference not found"]}),
    ({"ref": ""}, {"ref": ["can't be blank"]}),
    ({"overlap_policy": "sometimes"}, "overlap_policy does not have a valid value"),
    ({"inputs": [{"name": f"n{n}"} for n in range(21)]}, {"inputs": ["exceeds the limit of 20."]}),
]


@pytest.mark.parametrize(("fields", "message"), FAULTS, ids=[str(fields)[:40] for fields, _ in FAULTS])
async def test_faults_are_told_in_gitlabs_words(here: Planned, fields: dict[str, Any], message: Any) -> None:
    good = {"description": "d", "ref": "main", "cron": "* * * * *"}
    body = {"message": message} if isinstance(message, dict) else {"message": message, "error": message}
    response = await here.call("POST", **{**good, **fields})
    assert (response.status_code, response.json()) == (400, body)
    made = await here.schedule()
    response = await here.call("PUT", f"/{made['id']}", **fields)
    assert (response.status_code, response.json()) == (400, body)
    assert (await here.call("GET", f"/{made['id']}")).json() == made


async def test_what_is_missing_is_named(here: Planned) -> None:
    response = await here.call("POST", cron="* * * * *")
    missing = "description is missing, ref is missing"
    assert response.json() == {"message": missing, "error": missing}


async def test_a_name_of_both_a_branch_and_a_tag_is_ambiguous(here: Planned) -> None:
    tree = here.site.folder / "tree"
    await git("push", "-q", here.site.services.repositories.path(here.project_id), "main:refs/tags/main", cwd=tree)
    fields: dict[str, Any] = {"description": "d", "cron": "* * * * *"}
    (fault,) = (await here.call("POST", ref="main", **fields)).json()["message"]["ref"]
    assert fault.startswith("is ambiguous: `main` is the name of a branch and of a tag. Say `refs/heads/main`")
    assert (await here.call("POST", ref="refs/tags/main", **fields)).json()["ref"] == "refs/tags/main"


async def test_inputs_are_changed_one_by_one(here: Planned) -> None:
    made = await here.schedule(inputs=[{"name": "a", "value": 1}, {"name": "b", "value": 2}])
    changes = [{"name": "a", "destroy": True}, {"name": "b", "value": "x"}, {"name": "c", "value": None}]
    response = await here.call("PUT", f"/{made['id']}", inputs=changes)
    assert response.json()["inputs"] == [{"name": "b", "value": "x"}, {"name": "c", "value": None}]


async def test_variables_are_added_changed_and_removed(here: Planned) -> None:
    base = f"/{(await here.schedule())['id']}"
    added = await here.call("POST", f"{base}/variables", key="A", value="1")
    shown = {"key": "A", "variable_type": "env_var", "value": "1", "raw": False}
    assert (added.status_code, added.json()) == (201, shown)
    again = await here.call("POST", f"{base}/variables", key="A", value="2")
    assert (again.status_code, again.json()) == (400, {"message": {"key": ["has already been taken"]}})
    bad = await here.call("POST", f"{base}/variables", key="A-B", value="2")
    assert bad.json() == {"message": {"key": ["can contain only letters, digits and '_'."]}}
    changed = await here.call("PUT", f"{base}/variables/A", value="3", variable_type="file")
    assert changed.json() == {**shown, "value": "3", "variable_type": "file"}
    assert (await here.call("GET", f"{base}/variables/A")).json() == changed.json()
    assert (await here.call("GET", base)).json()["variables"] == [changed.json()]
    removed = await here.call("DELETE", f"{base}/variables/A")
    assert (removed.status_code, removed.json()) == (202, changed.json())
    for method in ("GET", "PUT", "DELETE"):
        assert (await here.call(method, f"{base}/variables/A")).status_code == 404
    assert (await here.call("GET", base)).json()["variables"] == []


async def test_of_an_archived_project_no_variable_changes(here: Planned) -> None:
    """That of a schedule could be removed."""
    base = f"/{(await here.schedule())['id']}"
    await here.call("POST", f"{base}/variables", key="A", value="1")
    await here.site.set_project(archived=True)
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("POST", "", {"key": "B", "value": "1"}),
        ("PUT", "/A", {"value": "2"}),
        ("DELETE", "/A", {}),
    )
    for method, rest, body in calls:
        assert (await here.call(method, f"{base}/variables{rest}", **body)).status_code == 403, method
    assert (await here.call("GET", f"{base}/variables/A")).json()["value"] == "1"


async def test_pipelines_and_ticks_are_listed_newest_first(here: Planned) -> None:
    base = f"/{(await here.schedule())['id']}"
    await here.pass_to(1)
    await here.pass_to(2)
    pipelines = (await here.call("GET", f"{base}/pipelines")).json()
    ticks = await here.call("GET", f"{base}/ticks?per_page=1")
    assert pipelines[0]["id"] > pipelines[1]["id"]
    assert ticks.headers["x-total"] == "2"
    assert ticks.json()[0] == {
        "id": ticks.json()[0]["id"],
        "due_at": "2026-03-02T12:02:00.000Z",
        "outcome": "started",
        "reason": None,
        "by_hand": False,
        "pipeline_id": pipelines[0]["id"],
        "created_at": "2026-03-02T12:02:30.000Z",
        "updated_at": "2026-03-02T12:02:30.000Z",
    }
    last = (await here.call("GET", base)).json()["last_pipeline"]
    assert last == pipelines[0]
    assert (last["source"], last["ref"]) == ("schedule", "main")


WHO: dict[str, tuple[int, int, int, int, int, int, int]] = {
    # list, create, change, play, see variables, take over, delete
    "owner": (200, 201, 200, 201, 200, 201, 204),
    "developer": (200, 201, 403, 201, 403, 403, 403),
    "maintainer": (200, 201, 403, 201, 200, 201, 204),
    "reporter": (200, 403, 403, 403, 403, 403, 403),
    "stranger": (404, 404, 404, 404, 404, 404, 404),
    "root": (200, 201, 200, 201, 200, 201, 204),
}
LEVELS = {"owner": DEVELOPER, "developer": DEVELOPER, "maintainer": MAINTAINER, "reporter": REPORTER, "stranger": 0}


async def test_rights_are_those_of_gitlab(here: Planned) -> None:
    people = {name: await here.site.person(name, level) for name, level in LEVELS.items()}
    people["root"] = here.site.root
    new = {"description": "d", "ref": SIDE, "cron": "* * * * *"}
    found: dict[str, tuple[int, ...]] = {}
    for name, person in people.items():
        base = f"/{(await here.schedule(person=people['owner'], ref=SIDE))['id']}"
        calls: list[tuple[str, str, dict[str, Any]]] = [
            ("GET", "", {}),
            ("POST", "", new),
            ("PUT", base, {"description": "changed"}),
            ("POST", f"{base}/play", {}),
            ("GET", f"{base}/variables", {}),
            ("POST", f"{base}/take_ownership", {}),
            ("DELETE", base, {}),
        ]
        found[name] = tuple([(await here.call(way, rest, person, **body)).status_code for way, rest, body in calls])
    assert found == WHO


async def test_variables_and_inputs_are_for_those_who_may_see_them(here: Planned) -> None:
    base = f"/{(await here.schedule())['id']}"
    for level, sees in ((DEVELOPER, False), (MAINTAINER, True)):
        response = await here.call("GET", base, await here.site.person(f"level{level}", level))
        assert ("variables" in response.json(), "inputs" in response.json()) == (sees, sees)


async def test_who_takes_over_owns_and_may_change(here: Planned) -> None:
    base = f"/{(await here.schedule())['id']}"
    ada = await here.site.person("ada", MAINTAINER)
    assert (await here.call("PUT", base, ada, cron="@daily")).status_code == 403
    assert (await here.call("POST", f"{base}/take_ownership", ada)).json()["owner"]["username"] == "ada"
    assert (await here.call("PUT", base, ada, cron="@daily")).json()["cron"] == "@daily"
    await here.pass_to(12 * 60)
    (tick,) = (await here.call("GET", f"{base}/ticks")).json()
    assert tick["outcome"] == "started"


async def test_schedules_of_a_public_project_are_public_but_not_what_they_hold(here: Planned) -> None:
    base = f"/{(await here.schedule())['id']}"
    await here.site.set_project(visibility="public")
    async with here.site.client() as nobody:
        response = await nobody.get(here.path(base))
        assert "variables" not in response.json()
        assert (await nobody.post(here.path(f"{base}/play"))).status_code == 401


async def test_a_protected_ref_is_for_those_who_may_run_on_it(here: Planned) -> None:
    ada = await here.site.person("ada", DEVELOPER)
    fields: dict[str, Any] = {"description": "d", "cron": "* * * * *"}
    assert (await here.call("POST", person=ada, ref="main", **fields)).status_code == 403
    base = f"/{(await here.schedule(person=ada, ref=SIDE))['id']}"
    assert (await here.call("PUT", base, ada, ref="main")).status_code == 403
    other = f"/{(await here.schedule())['id']}"
    assert (await here.call("POST", f"{other}/play", ada)).status_code == 403
    assert (await here.call("GET", base)).json()["ref"] == f"refs/heads/{SIDE}"


async def test_values_of_variables_are_sealed_at_rest(here: Planned) -> None:
    base = f"/{(await here.schedule())['id']}"
    await here.call("POST", f"{base}/variables", key="A", value="very secret")
    await here.call("POST", f"{base}/variables", key="B", value="x")
    await here.call("PUT", f"{base}/variables/B", value="very secret")
    stored = [row.value for row in await here.rows(variable_table, order="key")]
    assert len(stored) == 2
    assert not any("secret" in value for value in stored)
    assert (await here.call("GET", f"{base}/variables/B")).json()["value"] == "very secret"


async def test_schedules_go_with_their_project(here: Planned) -> None:
    base = f"/{(await here.schedule())['id']}"
    await here.call("POST", f"{base}/variables", key="A", value="1")
    await here.pass_to(1)
    async with here.site.services.database.write() as connection:
        await project_removal.remove(connection, here.project_id)
    for table, order in ((schedule_table, "id"), (tick_table, "id"), (variable_table, "key")):
        assert await here.rows(table, order=order) == []


async def test_who_changed_what_is_written_down(here: Planned) -> None:
    base = f"/{(await here.schedule())['id']}"
    await here.call("PUT", base, active=False)
    await here.call("POST", f"{base}/take_ownership")
    await here.call("POST", f"{base}/variables", key="A", value="s3cret")
    await here.call("PUT", f"{base}/variables/A", value="s3cret")
    await here.call("DELETE", f"{base}/variables/A")
    await here.call("DELETE", base)
    async with here.site.client(here.site.root) as client:
        response = await client.get(f"/api/v4/projects/{here.site.world.project_id}/audit_events")
    found = [item["event_name"] for item in response.json() if item["event_name"].startswith("schedule")]
    variables = [f"schedule_variable_{what}" for what in ("added", "changed", "removed")]
    wanted = ["schedule_created", "schedule_changed", "schedule_taken_over", *variables, "schedule_removed"]
    assert list(reversed(found)) == wanted
    assert "s3cret" not in response.text
