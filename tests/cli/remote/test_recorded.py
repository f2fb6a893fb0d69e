"""`perdure schedule` and `trigger` against GitLab's documented shapes (`recorded.py`)."""

from collections.abc import AsyncIterator

import pytest

from cli.remote.documents import SCHEDULE, TRIGGER, schema
from tests.cli.remote.matching import matches, matches_list
from tests.cli.remote.recorded import TOKEN as GOOD
from tests.cli.remote.recorded import Recorded, recorded
from tests.cli.remote.shell import Shell
from tests.cli.remote.test_pipeline import document


@pytest.fixture
async def state(nobody: Shell) -> AsyncIterator[Recorded]:
    """The server, which `nobody` means from now on."""
    async with recorded() as (state, url):
        nobody.env |= {"PERDURE_SERVER": url, "PERDURE_TOKEN": GOOD, "PERDURE_PROJECT": "29"}
        yield state


async def test_a_schedule_from_its_making_to_its_end(state: Recorded, nobody: Shell) -> None:
    cron = ("--cron", "0 4 * * 1-5", "--timezone", "Europe/Berlin")
    made = await document(nobody, "schedule", "create", "nightly", *cron, "--var", "DEEP=yes")
    assert matches(made, schema(SCHEDULE))
    assert (made["ref"], made["owner"], made["last_pipeline_id"]) == ("trunk", "ada", 332)
    assert state.asked[1][2] == {"key": "DEEP", "value": "yes"}
    assert matches_list(await document(nobody, "schedule", "list"), schema(SCHEDULE))
    number = str(made["id"])
    assert (await document(nobody, "schedule", "edit", number, "--cron", "0 5 * * *"))["cron"] == "0 5 * * *"
    assert (await document(nobody, "schedule", "pause", number))["active"] is False
    assert "paused" in (await nobody("schedule", "list")).out
    assert (await document(nobody, "schedule", "resume", number))["active"] is True
    assert (await nobody("schedule", "play", number)).code == 0
    assert state.asked[-1][1].endswith(f"/{number}/play")
    assert (await document(nobody, "schedule", "take-ownership", number))["owner"] == "ada"
    refused = await nobody("schedule", "delete", number)
    assert (refused.code, bool(state.schedules)) == (2, True)
    assert (await nobody("schedule", "delete", number, "--yes")).code == 0
    assert state.schedules == {}
    gone = await nobody("schedule", "play", number)
    assert (gone.code, "perdure schedule list" in gone.err) == (3, True)


async def test_a_wrong_schedule_is_explained(state: Recorded, nobody: Shell) -> None:
    done = await nobody("schedule", "create", "nightly", "--cron", "often")
    assert (done.code, "cron syntax is invalid" in done.err) == (2, True)
    assert (await nobody("schedule", "edit", "1")).code == 2


async def test_triggers(state: Recorded, nobody: Shell) -> None:
    done = await nobody("trigger", "create", "from outside")
    assert done.out == "glptt-6d056f63e50fe6f8c5f8f4aa10edb7\n"
    assert "/trigger/pipeline" in done.err
    listed = await document(nobody, "trigger", "list")
    assert matches_list(listed, schema(TRIGGER))
    assert "glptt" not in (await nobody("trigger", "list")).out
    assert (await nobody("trigger", "delete", str(listed[0]["id"]), "-y")).code == 0
    assert (await nobody("trigger", "delete", "1", "-y")).code == 3
