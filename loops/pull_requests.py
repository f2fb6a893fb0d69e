"""The loop that makes the pipelines of pull requests that forges told of, as soon as the mirror has their commit."""

from datetime import timedelta
from typing import Final

from application.access import access_to, caller_from
from application.pipelines.prepared import Prepared, prepared
from application.services import Services
from domain.errors import Invalid, NotFound
from git.repository import Repository
from loops.pipeline_requests import NotYet, OwedPipelineLoop
from models.repositories.hooks import incoming_hooks
from models.repositories.hooks.incoming_hooks import OwedDelivery
from models.repositories.pipelines.pipelines import PipelineRequest

SOURCE: Final = "external_pull_request_event"
PATIENCE: Final = timedelta(hours=6)
"""How long a commit may take to come."""


class PullRequestLoop(OwedPipelineLoop[OwedDelivery]):
    """Makes the pipelines of pull requests until it is cancelled."""

    def __init__(self, services: Services) -> None:
        """Take what the composition root made."""
        super().__init__(services, incoming_hooks.OWED, "pull requests")

    async def wish(self, row: OwedDelivery) -> Prepared:
        """What a call wants, once its commit is here; whoever set up the hook must still be allowed to run it."""
        user = await self.person(row.user_id, "set up the hook")
        access = await access_to(self._services, caller_from(user), row.project_id)
        branch, sha = row.request["source_branch"], row.request["source_sha"]
        access.require_run(branch, tag=False)
        repository = await self._with_commit(row, sha)
        request = PipelineRequest(
            project_id=row.project_id,
            user_id=user.id,
            ref=branch,
            sha=sha,
            source=SOURCE,
            origin={"external_pull_request": dict(row.request)},
        )
        return await prepared(self._services, request, repository)

    async def _with_commit(self, row: OwedDelivery, sha: str) -> Repository:
        """The repository, with the commit. Raises `NotYet`, in the end `Invalid`."""
        try:
            repository = self._services.repositories.get(row.project_id)
            await repository.commit(sha)
        except NotFound as error:
            text = f"The commit {sha[:8]} is not here yet: the mirror has not brought it."
            if self._services.clock() - row.created_at > PATIENCE:
                raise Invalid(text) from error
            raise NotYet(text) from error
        return repository
