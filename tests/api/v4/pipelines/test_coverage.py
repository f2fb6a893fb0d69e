"""Coverage over the REST API: from the log of a job to the job, its pipeline and its merge request."""

from typing import Any

from loops.archiver import Archiver
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site

CONFIG = r"""
unit: {script: x, coverage: '/total (\d+\.\d+)%/', rules: [{if: $CI_MERGE_REQUEST_IID}]}
more: {script: x, coverage: '/total (\d+)%/', rules: [{if: $CI_MERGE_REQUEST_IID}]}
none: {script: x, rules: [{if: $CI_MERGE_REQUEST_IID}]}
"""
LOGS = {"unit": b"total 10.0%\n\x1b[32mtotal 81.5%\x1b[0m\n", "more": b"total 60%\n", "none": b"total 1%\n"}


async def told(here: Merging, pipeline_id: int) -> dict[str, Any]:
    """What REST says of the coverage."""
    jobs = await here.good("GET", f"pipelines/{pipeline_id}/jobs")
    found: dict[str, Any] = {job["name"]: job["coverage"] for job in jobs}
    for job in jobs:
        assert (await here.good("GET", f"jobs/{job['id']}"))["coverage"] == job["coverage"]
    found["pipeline"] = (await here.good("GET", f"pipelines/{pipeline_id}"))["coverage"]
    found["merge request"] = (await here.get(1))["head_pipeline"]["coverage"]
    return found


async def test_the_log_of_a_job_covers_its_pipeline_and_merge_request(site: Site) -> None:
    here = Merging(site)
    await here.begin(CONFIG)
    pipeline_id = (await here.feature("feature"))["head_pipeline"]["id"]
    assert set((await told(here, pipeline_id)).values()) == {None}
    for _ in LOGS:
        job = await here.job_of(pipeline_id)
        log = LOGS[job["job_info"]["name"]]
        assert (await site.world.patch(job, 0, log[:8])).status_code == 202
        assert (await site.world.patch(job, 8, log[8:])).status_code == 202
        assert (await site.world.put(job, "success", log)).status_code == 200
    await site.world.settle(pipeline_id)
    services = site.services
    assert await Archiver(services.database, services.store, services.notifications).move() == len(LOGS)
    shown = {"unit": 81.5, "more": 60.0, "none": None, "pipeline": "70.75", "merge request": "70.75"}
    assert await told(here, pipeline_id) == shown
