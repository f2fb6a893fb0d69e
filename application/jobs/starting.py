"""What people give a job when they start it or repeat it: variables, and values for its inputs."""

from collections.abc import Mapping
from typing import Any

from application.pipelines.sealed_values import opened_variables
from application.services import Services
from domain.config.inputs.given_inputs import given_inputs
from models.repositories.pipelines import job_details
from models.rows.pipelines import JobFacts


async def inputs_for(services: Services, row: JobFacts, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of a job's inputs for its next run: what it was given before, and `given` in the place of that.

    Nothing where nothing is given: the job keeps what it has. Raises `Invalid` with what is wrong.
    """
    if not given:
        return {}
    async with services.database.read() as connection:
        job = await job_details.whole(connection, row.id, row.project_id)
    return {**(job.inputs or {}), **given_inputs(job.plan.get("inputs", {}), given)}


async def variables_for(services: Services, row: JobFacts, given: Mapping[str, str]) -> Mapping[str, str]:
    """The variables of a job's next run: those that it was given before, and `given` over them; nothing for none."""
    if not given:
        return {}
    async with services.database.read() as connection:
        job = await job_details.whole(connection, row.id, row.project_id)
    before = opened_variables(services.sealer, job.variables)
    return {**{item["key"]: item["value"] for item in before}, **given}
