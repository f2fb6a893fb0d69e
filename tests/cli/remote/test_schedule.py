"""`perdure schedule` against a server."""

from typing import Any

import pytest

from cli.remote.documents import SCHEDULE, schema
from tests.api.v4.site import Site
from tests.cli.remote.matching import matches, matches_list
from tests.cli.remote.shell import Shell
from tests.cli.remote.test_pipeline import document

NIGHTLY = ("nightly", "--cron", "0 4 * * 1-5", "--timezone", "Europe/Berlin", "--ref", "main")


async def stored(site: Site, number: int) -> dict[str, Any]:
    """What the server has of a schedule."""
    async with site.client(site.root) as client:
        response = await client.get(f"/api/v4/projects/{site.world.project_id}/pipeline_schedules/{number}")
        response.raise_for_status()
        found: dict[str, Any] = response.json()
        return found


async def test_a_schedule_from_its_making_to_its_end(site: Site, shell: Shell) -> None:
    await site.commit({".gitlab-ci.yml": "a: {script: x}\n"})
    made = await document(shell, "schedule", "create", *NIGHTLY, "--var", "DEEP=yes")
    assert matches(made, schema(SCHEDULE))
    assert (made["ref"], made["owner"], made["active"]) == ("refs/heads/main", "root", True)
    number = str(made["id"])
    kept = await stored(site, made["id"])
    assert [(one["key"], one["value"]) for one in kept["variables"]] == [("DEEP", "yes")]
    assert (kept["active"], kept["cron_timezone"]) == (True, "Europe/Berlin")
    assert matches_list(await document(shell, "schedule", "list"), schema(SCHEDULE))
    assert (await document(shell, "schedule", "show", number))["id"] == made["id"]
    assert (await document(shell, "schedule", "edit", number, "--cron", "0 5 * * *"))["cron"] == "0 5 * * *"
    assert (await document(shell, "schedule", "pause", number))["active"] is False
    assert "paused" in (await shell("schedule", "list")).out
    assert (await document(shell, "schedule", "resume", number))["active"] is True
    assert (await document(shell, "schedule", "take-ownership", number))["owner"] == "root"
    refused = await shell("schedule", "delete", number)
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert (await stored(site, made["id"]))["description"] == "nightly"
    assert (await shell("schedule", "delete", number, "--yes")).code == 0
    gone = await shell("schedule", "play", number)
    assert (gone.code, "perdure schedule list" in gone.err) == (3, True)


async def test_one_that_is_made_paused_stays_so(site: Site, shell: Shell) -> None:
    await site.commit({".gitlab-ci.yml": "a: {script: x}\n"})
    made = await document(shell, "schedule", "create", *NIGHTLY, "--var", "A=b", "--paused")
    assert made["active"] is False
    assert (await stored(site, made["id"]))["active"] is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("create", "nightly", "--cron", "often", "--ref", "main"), "cron"),
        (("create", "nightly", "--cron", "0 4 * * *", "--ref", "main", "--timezone", "Mars/Olympus"), "cron_timezone"),
        (("edit", "1"), "Nothing to change"),
    ],
)
async def test_what_is_wrong_is_explained(site: Site, shell: Shell, words: tuple[str, ...], said: str) -> None:
    await site.commit({".gitlab-ci.yml": "a: {script: x}\n"})
    done = await shell("schedule", *words)
    assert (done.code, said in done.err) == (2, True), done.err


async def test_a_wrong_variable_leaves_no_schedule_that_runs_without_it(site: Site, shell: Shell) -> None:
    await site.commit({".gitlab-ci.yml": "a: {script: x}\n"})
    done = await shell("schedule", "create", *NIGHTLY, "--var", "A-B=c")
    assert (done.code, "key" in done.err) == (2, True), done.err
    assert [one["active"] for one in await document(shell, "schedule", "list")] == [False]
