"""A project of the near pod that follows one of the far pod, and releases of that."""

from typing import Any

import httpx
from sqlalchemy import func, select

from application.pipelines.creation import create_pipeline
from domain.pipelines.status import Status
from loops.subscriptions import SubscriptionLoop
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import subscriptions
from models.rows.subscriptions import SubscribedRunRow
from models.tables.subscriptions import PipelineSubscription
from models.typed_rows import all_of
from tests.api.v4.site import Person
from tests.application.bridges.two_pods import BUILD, PERSON, TwoPods
from tests.models.world import pipeline

CONFIG = {
    ".gitlab-ci.yml": (
        'after: {script: make, rules: [{if: $CI_UPSTREAM_PIPELINE_ID && $CI_PIPELINE_SOURCE == "pipeline"}]}\n'
    )
}


def address(two: TwoPods) -> str:
    """The subscriptions of the near project."""
    return f"/api/v4/projects/{two.near.here.world.project_id}/subscriptions"


async def subscribe(two: TwoPods, upstream: int | str = "", person: Person | None = None) -> httpx.Response:
    """Let the near project follow the far one."""
    caller = person or await two.near.here.site.with_token(two.ada, PERSON)
    async with two.near.here.site.client(caller) as client:
        return await client.post(address(two), json={"upstream_project": upstream or await two.target_path()})


async def followed(two: TwoPods) -> int:
    """The near project has a configuration, and follows the far one; the id of the subscription."""
    await two.near.here.commit(two.near.here.world.project_id, CONFIG)
    response = await subscribe(two)
    assert response.status_code == 201, response.text
    return int(response.json()["id"])


async def release(two: TwoPods, status: Status = Status.SUCCESS, *, tag: bool = True) -> int:
    """A far pipeline that has ended; nobody has been told yet."""
    far = two.far.here
    sha = await far.commit(two.target, {**BUILD, "number": str(len(await two.made()))})
    ref = "v1" if tag else "main"
    wish = PipelineRequest(two.target, far.world.user_id, ref, sha, "push", tag=tag)
    made = await create_pipeline(far.site.services, wish, far.site.services.repositories.get(two.target))
    await far.world.settle(made)
    await far.run("build", status)
    return made


async def made(two: TwoPods) -> list[Any]:
    """All is told, and carried out: the near pipelines that there are."""
    await two.again()
    await SubscriptionLoop(two.near.here.site.services).carry_out_due()
    return list(await two.near.here.world.rows(pipeline))


async def runs(two: TwoPods) -> list[SubscribedRunRow]:
    """What is to be made, or was."""
    async with two.near.here.world.database.read() as connection:
        return list(all_of(SubscribedRunRow, await connection.execute(select(subscriptions.run))))


async def followers(two: TwoPods) -> list[Any]:
    """Whom the far pod would tell."""
    return list(await two.far.here.world.rows(subscriptions.follower))


async def count(two: TwoPods) -> int:
    """How many subscriptions the near pod has."""
    async with two.near.here.world.database.read() as connection:
        return int((await connection.execute(select(func.count()).select_from(PipelineSubscription))).scalar_one())
