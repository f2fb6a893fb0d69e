"""What pages of pipelines and jobs offer does something, whatever state these are in."""

import re
from collections.abc import Callable, Mapping

import pytest
from sqlalchemy import update

from domain.errors import Refused
from domain.pipelines import operations
from domain.pipelines.operations import Changes
from domain.pipelines.pipeline import Pipeline
from domain.pipelines.status import COMPLETE, Status
from models.repositories.pipelines import loading
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site
from tests.models.world import job, pipeline
from tests.permissions.offers import offers_of

DOES: Mapping[str, Callable[[Pipeline, int], Changes]] = {
    "pipelines/cancel": lambda found, _: operations.cancel_pipeline(found),
    "pipelines/retry": lambda found, _: operations.retry_pipeline(found),
    "jobs/cancel": operations.cancel_job,
    "jobs/retry": operations.retry_job,
    "jobs/play": operations.play_job,
    "jobs/unschedule": operations.unschedule_job,
}
"""What each button asks of a pipeline, by the end of its address."""
_BUTTON = re.compile(r"/-/(pipelines|jobs)/(\d+)/(cancel|retry|play|unschedule)$")


async def stands(site: Site, status: Status, *, others: Status) -> tuple[int, int, Pipeline]:
    """A pipeline of one job in this state beside others, and how the whole of it stands."""
    made = await site.world.pipeline("one: {script: x}\ntwo: {script: x}\n")
    async with site.services.database.write() as connection:
        of_pipeline = update(job).where(job.c.pipeline_id == made)
        await connection.execute(of_pipeline.values(status=others, allow_failure=True))
        await connection.execute(of_pipeline.where(job.c.name == "one").values(status=status))
        found = await loading.shown(connection, made)
        await connection.execute(update(pipeline).where(pipeline.c.id == made).values(status=found.folded()))
        found = await loading.shown(connection, made)
    return made, found.by_name["one"].id, found


@pytest.mark.parametrize("others", [Status.SUCCESS, Status.FAILED, Status.RUNNING])
@pytest.mark.parametrize("status", Status)
async def test_no_button_is_there_that_would_do_nothing(status: Status, others: Status, site: Site) -> None:
    made, job_id, found = await stands(site, status, others=others)
    path = await site.path()
    offered: dict[tuple[str, int, str], str] = {}
    async with browser(site, site.root) as client:
        for page in (f"pipelines/{made}", f"pipelines/{made}/builds", f"jobs/{job_id}"):
            response = await client.get(f"/{path}/-/{page}")
            assert response.status_code == 200, response.text
            forms = [offer.url for offer in offers_of(response.text, page) if offer.method == "POST"]
            buttons = filter(None, map(_BUTTON.search, forms))
            offered |= {(button[1], int(button[2]), button[3]): page for button in buttons}
    for (kind, number, verb), page in offered.items():
        try:
            DOES[f"{kind}/{verb}"](found, number)
        except Refused as refused:
            pytest.fail(f"{page} offers {verb}: {refused}")
        assert not (verb == "cancel" and found.status in COMPLETE), f"{page} of a finished pipeline offers to cancel"
    assert offered
