"""What refs that have moved mean for open merge requests: new heads, merges, sources that are gone.

It is recorded in the transaction that finishes the push. Each head is looked up once more while its merge request is
locked: of two pushes that are finished at the same time the one that is finished last sees where the branch is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from application.merge_requests import news, noticing
from application.merge_requests.approvals import PUSHED, withdraw_all
from application.merge_requests.context import Heads, around, bring_head
from application.merge_requests.news import Cause
from application.merge_requests.pipelines import carry_out
from application.merge_requests.settling import settle_merged
from application.services import Services
from domain.errors import NotFound, PerdureError
from domain.merge_requests.merge_request import OPEN, REFS, AutoMerge, EventType, State, ref_of
from domain.merge_requests.news import News
from domain.merge_requests.notes import of_auto_merge_given_up
from git.reading.ref_listing import refs_within
from git.repository import Repository
from git.transport.push import RefUpdate
from models.repositories.merge_requests import merge_request_events, merge_request_notes, merge_requests, trains
from models.rows.merge_requests import MergeRequestRow
from models.rows.outbox import PushRow
from models.rows.projects import ProjectRow

log = structlog.get_logger()


@dataclass(slots=True)
class Refresh:
    """What the refs of one push change."""

    services: Services
    project: ProjectRow
    repository: Repository
    user_id: int
    skip: bool
    no_pipeline: bool
    heads: dict[int, tuple[MergeRequestRow, Heads]] = field(default_factory=dict)
    gone: list[MergeRequestRow] = field(default_factory=list)
    landed: dict[int, tuple[MergeRequestRow, str]] = field(default_factory=dict)
    events: list[int] = field(default_factory=list)

    @property
    def projects(self) -> set[int]:
        """The projects whose merge requests may look other than before: their own branches, or a fork's, have moved."""
        rows = (*(row for row, _ in self.heads.values()), *self.gone, *(row for row, _ in self.landed.values()))
        return {self.project.id, *(row.project_id for row in rows)}

    async def record(self, connection: AsyncConnection, now: datetime) -> None:
        """Write it, in the transaction that finishes the push."""
        for row, heads in self.heads.values():
            await self._move(connection, row, heads, now)
        for row in self.gone:
            await self._close(connection, row, now)
        for row, sha in self.landed.values():
            await self._land(connection, row, sha, now)

    async def _move(self, connection: AsyncConnection, seen: MergeRequestRow, heads: Heads, now: datetime) -> None:
        row = await merge_requests.lock(connection, seen.id)
        if row is None or row.state != State.OPENED or row.head_sha == heads.head_sha:
            return
        if await self.repository.resolve(f"refs/heads/{row.source_branch}") != heads.head_sha:
            return  # a later push has moved it on, and is finished later
        target = self.services.repositories.get(row.project_id)
        await target.place(ref_of(row.iid, EventType.DETACHED), heads.head_sha)
        await merge_requests.move_heads(
            connection, row.id, now, **asdict(heads), merge_status="unchecked", auto_merge=AutoMerge.NONE
        )
        await trains.leave(connection, row.id, now, "new commits were pushed to the source branch")
        if row.auto_merge:
            why = "the source branch was updated"
            await merge_request_notes.add_system(connection, row.id, self.user_id, of_auto_merge_given_up(why), now)
            await noticing.auto_merge_failed(connection, row, why, self.user_id, now)
        cause = Cause(self.user_id, oldrev=row.head_sha)
        await news.note(self.services, connection, row, News.UPDATE, cause, now)
        await self._reset_approvals(connection, row, now)
        if not self.no_pipeline:
            kind = merge_request_events.PIPELINE
            self.events.append(
                await merge_request_events.put(
                    connection, row.id, self.user_id, kind, heads.head_sha, now, skip=self.skip
                )
            )

    async def _reset_approvals(self, connection: AsyncConnection, row: MergeRequestRow, now: datetime) -> None:
        """New commits take approvals away, where the project says so."""
        here = await around(self.services, connection, row)
        if here.target.reset_approvals:
            cause = Cause(self.user_id, system_action="approvals_reset_on_push")
            await withdraw_all(self.services, connection, here, cause, now, why=PUSHED)

    async def _close(self, connection: AsyncConnection, seen: MergeRequestRow, now: datetime) -> None:
        """The source branch is gone: nothing is left to merge."""
        row = await merge_requests.lock(connection, seen.id)
        if row is None or row.state != State.OPENED or row.id in self.landed:
            return
        if await self.repository.resolve(f"refs/heads/{row.source_branch}") is not None:
            return
        await trains.leave(connection, row.id, now, "the source branch was deleted")
        closed = {"state": State.CLOSED, "closed_at": now, "closed_by_id": self.user_id, "auto_merge": AutoMerge.NONE}
        await merge_requests.change(connection, row.id, now, **closed)
        await news.note(self.services, connection, row, News.CLOSE, Cause(self.user_id), now)

    async def _land(self, connection: AsyncConnection, seen: MergeRequestRow, sha: str, now: datetime) -> None:
        """The target branch holds the commits of a merge request now, or has been moved for it."""
        row = await merge_requests.lock(connection, seen.id)
        if row is None or row.head_sha != seen.head_sha:
            return
        if row.state in OPEN and row.merging_sha == sha:
            await settle_merged(self.services, connection, row, now)
        elif row.state == State.OPENED:
            await settle_merged(self.services, connection, row, now, merge_user_id=self.user_id)

    async def make_pipelines(self) -> list[str]:
        """Make the pipelines; what the pusher shall read. What cannot be made now is made later, by the loop."""
        lines: list[str] = []
        for event_id in self.events:
            async with self.services.database.read() as connection:
                event = await merge_request_events.get(connection, event_id)
            if event is None:
                continue
            try:
                lines += await carry_out(self.services, event)
            except PerdureError as error:
                log.warning("the pipeline of a merge request is made later", row=event_id, error=str(error))
        return lines


async def refresh_of(
    services: Services, project: ProjectRow, repository: Repository, push: PushRow, moved: Sequence[RefUpdate]
) -> Refresh:
    """What the refs that a push has moved mean for merge requests. Raises `Unavailable`."""
    no_pipeline, skip = "ci.no_pipeline" in push.options, "ci.skip" in push.options
    found = Refresh(services, project, repository, push.user_id, skip, no_pipeline)
    branches = {update.short_name: update for update in moved if update.is_branch}
    if not branches:
        return found
    async with services.database.read() as connection:
        of_source = await merge_requests.of_source(connection, project.id, branches)
        of_target = await merge_requests.of_target(connection, project.id, branches)
    for row in of_source:
        update = branches[row.source_branch]
        if update.is_delete:
            found.gone.append(row)
            continue
        try:
            heads = await bring_head(services, row.project_id, project.id, update.new, row.target_branch)
        except NotFound as error:  # a repository that is being removed
            log.warning("a merge request does not follow its branch", merge_request=row.id, error=str(error))
            continue
        found.heads[row.id] = (row, heads)
    found.landed = await _landed(repository, of_target, branches)
    return found


async def _landed(
    repository: Repository, rows: Sequence[MergeRequestRow], branches: Mapping[str, RefUpdate]
) -> dict[int, tuple[MergeRequestRow, str]]:
    """Merge requests whose commits the new head of their target holds; those without commits never land."""
    found: dict[int, tuple[MergeRequestRow, str]] = {}
    within: dict[str, dict[str, str]] = {}
    for row in rows:
        sha = branches[row.target_branch].new
        if branches[row.target_branch].is_delete:
            continue
        if row.merging_sha == sha:
            found[row.id] = (row, sha)
            continue
        if sha not in within:
            within[sha] = await refs_within(repository, sha, REFS.rstrip("/"))
        is_within = within[sha].get(ref_of(row.iid, EventType.DETACHED)) == row.head_sha
        if is_within and row.base_sha != row.head_sha:
            found[row.id] = (row, sha)
    return found
