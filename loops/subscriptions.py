"""The loop that makes the pipelines of subscriptions.

A run is noted in the transaction in which the upstream pipeline succeeds, and is done in the one that makes its
pipeline. A process that is killed at any moment leaves one or the other.
"""

from collections.abc import Mapping
from typing import Any, TypedDict

from application.access import access_to, caller_from
from application.pipelines.prepared import Prepared, prepared
from application.pipelines.refs import find_ref
from application.pods.other_pods import pod_of_project
from application.services import Services
from domain.pipelines.bridges import DOWNSTREAM
from loops.pipeline_requests import OwedPipelineLoop
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import subscriptions
from models.rows.accounts import UserRow
from models.rows.subscriptions import SubscribedRunRow


class UpstreamFields(TypedDict, total=False):
    """Fields of `PipelineRequest`."""

    origin: Mapping[str, Any]
    upstream_id: int
    upstream_project_id: int
    root_id: int


class SubscriptionLoop(OwedPipelineLoop[SubscribedRunRow]):
    """Makes the pipelines of subscriptions until it is cancelled."""

    def __init__(self, services: Services) -> None:
        """Take what the composition root made."""
        super().__init__(services, subscriptions.OWED, "subscriptions")

    async def wish(self, row: SubscribedRunRow) -> Prepared:
        """What a run wants: a pipeline of the default branch, if who subscribed may still run it."""
        user = await self.person(row.user_id, "subscribed")
        upstream = await self._upstream(user, row)
        access = await access_to(self._services, caller_from(user), row.project_id)
        repository = self._services.repositories.get(row.project_id)
        ref, tag, sha = await find_ref(repository, f"refs/heads/{access.row.default_branch}")
        access.require_run(ref, tag=tag)
        request = PipelineRequest(
            project_id=row.project_id,
            user_id=user.id,
            ref=ref,
            sha=sha,
            source=DOWNSTREAM,
            **upstream,
        )
        return await prepared(self._services, request, repository)

    async def _upstream(self, user: UserRow, row: SubscribedRunRow) -> UpstreamFields:
        """What the pipeline knows of the one that it follows. Raises `NotFound` if who subscribed may not see it.

        Of one in another pod that pod has said so, by telling of it.
        """
        if row.upstream_project_id is not None and pod_of_project(self._services, row.upstream_project_id) is not None:
            return {"origin": {"upstream_project_id": row.upstream_project_id, "upstream_pipeline_id": row.upstream_id}}
        async with self._database.read() as connection:
            found = await pipelines.get(connection, row.upstream_id or 0)
        await access_to(self._services, caller_from(user), found.project_id)
        return {
            "upstream_id": found.id,
            "upstream_project_id": found.project_id,
            "root_id": found.root_id or found.id,
        }
