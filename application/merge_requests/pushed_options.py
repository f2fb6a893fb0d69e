"""What the options of a push ask of merge requests: opened or changed before the push counts as finished.

A process that dies before that leaves the note of the push open. Whoever finishes it then comes here again, and finds
a merge request that was opened already as one to change. A merge that is to happen by itself is written in the
transaction that finishes the push: the pipelines that it waits for are there then.

Source of the rules: GitLab's documentation, "Push options", "Push options for merge requests".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import ProjectAccess, access_to, caller_from
from application.merge_requests import changing
from application.merge_requests.addresses import page_of
from application.merge_requests.context import around, bring_head
from application.merge_requests.opening import NewMergeRequest, open_merge_request
from application.merge_requests.wishes import MergeOptions, merge_by_itself, require_change, require_merge, strategy_of
from application.services import Services
from auth.permissions import Action
from domain.errors import Forbidden, Invalid, NotFound, Refused, Unauthenticated
from domain.merge_requests.merge_request import (
    MAX_DESCRIPTION,
    MAX_TITLE,
    State,
    changed_labels,
    squashes,
    with_draft,
)
from domain.pipelines.push_options import MergeRequestOptions, lines_on_ignored, merge_request_options
from git.reading.history import HistoryQuery, commits
from git.reading.revision import commit_named
from git.transport.push import RefUpdate
from models.repositories.accounts import accounts
from models.repositories.merge_requests import merge_requests
from models.rows.merge_requests import MergeRequestRow
from models.rows.outbox import PushRow
from models.rows.projects import ProjectRow

MAX_BRANCHES: Final = 10
"""Branches of one push that its options may make merge requests of, as in GitLab."""
_NOT_DONE: Final = (Forbidden, Invalid, NotFound, Refused, Unauthenticated)
"""What the pusher can mend; everything else is tried again."""
_NO_COMMITS: Final = "no commit of {source} is missing from {target}."
_NEEDS_CREATE: Final = "A merge_request.create push option is required to create a merge request for branch {branch}"
_MAY_NOT_MERGE: Final = "you may not merge into {branch}."

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _SelfMerge:
    """A merge request that is to be merged by itself, if its source branch is still at `head` then."""

    row: MergeRequestRow
    target: ProjectRow
    head: str


@dataclass(slots=True)
class PushedOptions:
    """What the options of one push did, and what of it is to be written with the push."""

    user_id: int
    lines: list[str] = field(default_factory=list)
    merges: list[_SelfMerge] = field(default_factory=list)

    async def record(self, connection: AsyncConnection, now: datetime) -> None:
        """Write which merge requests are merged by themselves, in the transaction that finishes the push."""
        for wish in self.merges:
            row = wish.row
            squash = squashes(wish.target.squash_option, row.squash)
            how = MergeOptions(squash=squash, remove_source_branch=row.remove_source_branch)
            try:
                await merge_by_itself(connection, row.id, wish.head, self.user_id, strategy_of(wish.target), how, now)
            except Refused as error:
                self.lines += ["", f"Merge request !{row.iid} is not merged by itself: {error}", ""]


async def carry_out_options(
    services: Services, project: ProjectRow, push: PushRow, moved: Sequence[RefUpdate]
) -> PushedOptions:
    """Open or change the merge requests of the branches that a push moved. Raises `Unavailable`, to be tried again."""
    done = PushedOptions(push.user_id, lines_on_ignored(push.options))
    asked = merge_request_options(push.options)
    branches = [update for update in moved if update.is_branch and not update.is_delete]
    if asked is None or not branches:
        return done
    try:
        if len(branches) > MAX_BRANCHES:
            raise Invalid(f"{len(branches)} branches were pushed, and options are for {MAX_BRANCHES} at most.")
        pusher = await _pusher(services, project, push.user_id, asked)
    except _NOT_DONE as error:
        done.lines += ["", f"No merge request is made or changed: {error}", ""]
        return done
    for update in branches:
        try:
            await pusher.carry_out(update, done)
        except _NOT_DONE as error:
            log.info("a push option for merge requests is not carried out", project=project.id, error=str(error))
            done.lines += ["", f"No merge request is made or changed for {update.short_name}: {error}", ""]
    return done


async def _pusher(services: Services, project: ProjectRow, user_id: int, asked: MergeRequestOptions) -> "_Pusher":
    async with services.database.read() as connection:
        user = await accounts.get(connection, user_id)
    if user.state != accounts.ACTIVE:
        raise Forbidden(f"{user.username}, who pushed, is blocked.")
    caller = caller_from(user)
    source = await access_to(services, caller, project.id)
    source.require(Action.PUSH)
    target = source
    try:
        if asked.target_project:
            target = await access_to(services, caller, asked.target_project)
        elif project.forked_from_id is not None:
            target = await access_to(services, caller, project.forked_from_id)
    except (NotFound, Forbidden) as error:
        if asked.target_project:
            raise NotFound(f"there is no project {asked.target_project}, or you may not see its code.") from error
    return _Pusher(services, source, target, asked)


@dataclass(frozen=True, slots=True)
class _Pusher:
    """Who pushed, what is asked for, and between which projects."""

    services: Services
    source: ProjectAccess
    target: ProjectAccess
    asked: MergeRequestOptions

    async def carry_out(self, update: RefUpdate, done: PushedOptions) -> None:
        """Open or change the merge request of one branch."""
        branch = update.short_name
        self._check()
        row = await self._existing(branch)
        if row is not None:
            await self._change(row)
        elif not self.asked.create:
            raise Invalid(_NEEDS_CREATE.format(branch=branch))
        else:
            row = await self._open(update)
        async with self.services.database.read() as connection:
            row = await merge_requests.get(connection, row.id) or row
        address = page_of(row, self.target.row.full_path, self.services.settings.url)
        done.lines += ["", f"View merge request for {branch}:", f"  {address}", ""]
        if self.asked.auto_merge:
            await self._wish_merge(row, update, done)

    async def _wish_merge(self, row: MergeRequestRow, update: RefUpdate, done: PushedOptions) -> None:
        try:
            await require_merge(self.target, row.target_branch)
        except Unauthenticated:
            why = _MAY_NOT_MERGE.format(branch=row.target_branch)
            done.lines += [f"Merge request !{row.iid} is not merged by itself: {why}", ""]
            return
        done.merges.append(_SelfMerge(row, self.target.row, update.new))

    def _check(self) -> None:
        if len(self.asked.title) > MAX_TITLE:
            raise Invalid(f"the title has more than {MAX_TITLE} characters.")
        if len(self.asked.description or "") > MAX_DESCRIPTION:
            raise Invalid(f"the description has more than {MAX_DESCRIPTION} characters.")

    async def _existing(self, branch: str) -> MergeRequestRow | None:
        """The open merge request of a branch: the one that leads where it is asked to, else the newest."""
        async with self.services.database.read() as connection:
            rows = await merge_requests.of_source(connection, self.source.row.id, [branch])
        rows = [row for row in rows if row.project_id == self.target.row.id and row.state == State.OPENED]
        there = [row for row in rows if row.target_branch == self.asked.target]
        return next(reversed(there or rows), None)

    async def _change(self, row: MergeRequestRow) -> None:
        require_change(self.target, row)
        title = self.asked.title or row.title
        wanted = {
            "title": with_draft(title, draft=True)[:MAX_TITLE] if self.asked.draft else title,
            "description": self.asked.description,
            "target_branch": self.asked.target or None,
            "labels": changed_labels(row.labels, self.asked.labels, self.asked.unlabels),
            "remove_source_branch": self.asked.remove_source_branch,
        }
        values = {name: value for name, value in wanted.items() if value is not None and value != getattr(row, name)}
        if not values:
            return
        async with self.services.database.read() as connection:
            here = await around(self.services, connection, row)
        await changing.change(self.services, here, values, self.source.caller.user_id)

    async def _open(self, update: RefUpdate) -> MergeRequestRow:
        target = self.asked.target or self.target.row.default_branch
        title, description = await self._words(update, target)
        new = NewMergeRequest(
            source_branch=update.short_name,
            target_branch=target,
            title=(with_draft(title, draft=True) if self.asked.draft else title)[:MAX_TITLE],
            description=description if self.asked.description is None else self.asked.description,
            labels=changed_labels((), self.asked.labels, self.asked.unlabels),
            assignee_ids=[self.source.caller.user_id],
            squash=squashes(self.target.row.squash_option, None),
            remove_source_branch=bool(self.asked.remove_source_branch),
        )
        key = await open_merge_request(self.services, self.source, self.target, new)
        async with self.services.database.read() as connection:
            row = await merge_requests.get(connection, key)
        if row is None:
            raise NotFound("Merge Request Not Found")
        return row

    async def _words(self, update: RefUpdate, target_branch: str) -> tuple[str, str]:
        """Title and description, of the only commit or after the branch. Raises `Invalid` where nothing differs."""
        repository = self.services.repositories.get(self.target.row.id)
        branch, described = update.short_name, ""
        if await commit_named(repository, f"refs/heads/{target_branch}") is None:
            raise Invalid(f"there is no branch {target_branch!r} in {self.target.row.full_path}.")
        heads = await bring_head(self.services, self.target.row.id, self.source.row.id, update.new, target_branch)
        if heads.base_sha == heads.head_sha and branch != target_branch:
            raise Invalid(_NO_COMMITS.format(source=branch, target=target_branch))
        title = " ".join(re.split(r"[-_\s]+", branch)).strip().capitalize() or branch
        brought = await commits(repository, HistoryQuery([heads.head_sha, f"^{heads.start_sha}"], limit=2))
        if len(brought) == 1 and brought[0].title:
            title = brought[0].title
            described = brought[0].message.removeprefix(title).strip()[:MAX_DESCRIPTION]
        return self.asked.title or title, described
