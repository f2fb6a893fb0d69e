"""Merge requests: opened, found, changed; who approved them; their pipelines."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, String, and_, cast, delete, func, insert, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound, Refused
from domain.merge_requests.merge_request import OPEN, State
from domain.pipelines.bridges import CHILD
from domain.pipelines.status import Status
from domain.variables.predefined import MAX_OPEN_MERGE_REQUESTS, MERGE_REQUEST_SOURCE
from models.columns import padded, table_of
from models.repositories import paging
from models.repositories.merge_requests import merge_request_notes, merge_request_versions
from models.repositories.paging import Listing
from models.repositories.pipelines.warnings import PIPELINE
from models.repositories.texts import rendered_texts
from models.rows.accounts import UserRow
from models.rows.merge_requests import MergeRequestRow
from models.rows.pipelines import PipelineRow
from models.tables.accounts import User
from models.tables.labels import Milestone
from models.tables.merge_requests import LOCKED, TO_MERGE, Approval, MergeRequest
from models.tables.notifications import Notice
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.typed_rows import all_of, first_of, one_of

merge_request = table_of(MergeRequest)
approval = table_of(Approval)
milestone = table_of(Milestone)
notice = table_of(Notice)
pipeline = table_of(Pipeline)
project = table_of(Project)
user = table_of(User)

_OPEN: Final = sorted(OPEN)


async def next_iid(connection: AsyncConnection, project_id: int) -> int:
    """The number of the next merge request of a project; others that open one wait until the transaction ends."""
    statement = (
        update(project)
        .where(project.c.id == project_id)
        .values(merge_request_count=project.c.merge_request_count + 1)
        .returning(project.c.merge_request_count)
    )
    return int((await connection.execute(statement)).scalar_one())


async def create(connection: AsyncConnection, now: datetime, **values: Any) -> MergeRequestRow:
    """Open a merge request; its row. Raises `Refused` when one of the same branches is open."""
    await _require_only_one(connection, values)
    statement = insert(merge_request).values(created_at=now, updated_at=now, **values)
    row = one_of(MergeRequestRow, await connection.execute(statement.returning(merge_request)))
    await merge_request_versions.keep(connection, row, now)
    return row


async def _require_only_one(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    statement = select(merge_request.c.iid).where(
        merge_request.c.source_project_id == values["source_project_id"],
        merge_request.c.source_branch == values["source_branch"],
        merge_request.c.project_id == values["project_id"],
        merge_request.c.target_branch == values["target_branch"],
        merge_request.c.state.in_(_OPEN),
    )
    known = (await connection.execute(statement)).scalar()
    if known is not None:
        raise Refused(f"Another open merge request already exists for this source branch: !{known}")


async def require_free(connection: AsyncConnection, row: MergeRequestRow, target_branch: str) -> None:
    """Raise `Refused` when another open merge request leads from the branch of this one to that target."""
    own = {"source_project_id": row.source_project_id, "source_branch": row.source_branch, "project_id": row.project_id}
    await _require_only_one(connection, {**own, "target_branch": target_branch})


async def find(connection: AsyncConnection, project_id: int, iid: int) -> MergeRequestRow:
    """One by its number in its project. Raises `NotFound`."""
    statement = select(merge_request).where(merge_request.c.project_id == project_id, merge_request.c.iid == iid)
    row = first_of(MergeRequestRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Merge Request Not Found")
    return row


async def get(connection: AsyncConnection, key: int) -> MergeRequestRow | None:
    """One by its id, or None."""
    statement = select(merge_request).where(merge_request.c.id == key)
    return first_of(MergeRequestRow, await connection.execute(statement))


async def lock(connection: AsyncConnection, key: int) -> MergeRequestRow | None:
    """One that nobody else changes until the transaction ends; None if it is gone."""
    statement = select(merge_request).where(merge_request.c.id == key).with_for_update()
    return first_of(MergeRequestRow, await connection.execute(statement))


async def change(connection: AsyncConnection, key: int, now: datetime, **values: Any) -> None:
    """Write columns of a merge request."""
    statement = update(merge_request).where(merge_request.c.id == key).values(updated_at=now, **values)
    await connection.execute(statement)
    if "description" in values:
        await rendered_texts.forget(connection, rendered_texts.REQUESTS, key)


async def move_heads(connection: AsyncConnection, key: int, now: datetime, **values: Any) -> None:
    """Write what a merge request leads from and to, and whatever else; it stands for other changes from now on."""
    await keep_version(connection, key, now)  # one of before versions were kept has none yet
    await change(connection, key, now, **values, diff_version=merge_request.c.diff_version + 1)
    await keep_version(connection, key, now)


async def keep_version(connection: AsyncConnection, key: int, now: datetime) -> None:
    """Keep what a merge request stands for now as its newest version, if it is not."""
    row = await get(connection, key)
    if row is not None:
        await merge_request_versions.keep(connection, row, now)


async def note_check(connection: AsyncConnection, row: MergeRequestRow, status: str, target_sha: str) -> None:
    """Keep whether head and target go together; nothing if either has moved since `row` was read."""
    statement = update(merge_request).where(
        merge_request.c.id == row.id, merge_request.c.head_sha == row.head_sha, merge_request.c.state == row.state
    )
    await connection.execute(statement.values(merge_status=status, checked_sha=target_sha))


async def move_state(connection: AsyncConnection, key: int, old: State, now: datetime, **values: Any) -> bool:
    """Change a merge request if it is still in the state `old`."""
    statement = update(merge_request).where(merge_request.c.id == key, merge_request.c.state == old)
    return bool((await connection.execute(statement.values(updated_at=now, **values))).rowcount)


async def remove(connection: AsyncConnection, key: int) -> None:
    """Delete a merge request with all that belongs to it; its pipelines stay."""
    from_it = update(pipeline).where(pipeline.c.merge_request_id == key).values(merge_request_id=None)
    await connection.execute(from_it)
    await connection.execute(update(notice).where(notice.c.merge_request_id == key).values(merge_request_id=None))
    await connection.execute(delete(approval).where(approval.c.merge_request_id == key))
    await merge_request_notes.forget(connection, key)
    await merge_request_versions.forget(connection, key)
    await connection.execute(delete(merge_request).where(merge_request.c.id == key))


async def of_source(connection: AsyncConnection, project_id: int, branches: Iterable[str]) -> Sequence[MergeRequestRow]:
    """The open ones whose source is one of these branches."""
    statement = select(merge_request).where(
        merge_request.c.source_project_id == project_id,
        merge_request.c.source_branch.in_(list(branches)),
        merge_request.c.state.in_(_OPEN),
    )
    return all_of(MergeRequestRow, await connection.execute(statement.order_by(merge_request.c.id)))


async def of_target(connection: AsyncConnection, project_id: int, branches: Iterable[str]) -> Sequence[MergeRequestRow]:
    """The open ones that lead into one of these branches."""
    statement = select(merge_request).where(
        merge_request.c.project_id == project_id,
        merge_request.c.target_branch.in_(list(branches)),
        merge_request.c.state.in_(_OPEN),
    )
    return all_of(MergeRequestRow, await connection.execute(statement.order_by(merge_request.c.id)))


async def open_of_branch(connection: AsyncConnection, project_id: int, branch: str) -> list[str]:
    """The open ones of a branch as `group/project!7`, the newest first, as many as a variable names."""
    if not branch:
        return []
    statement = (
        select(project.c.full_path, merge_request.c.iid)
        .join(project, project.c.id == merge_request.c.project_id)
        .where(
            merge_request.c.source_project_id == project_id,
            merge_request.c.source_branch == branch,
            merge_request.c.state == State.OPENED,
        )
        .order_by(merge_request.c.id.desc())
        .limit(MAX_OPEN_MERGE_REQUESTS)
    )
    return [f"{full_path}!{iid}" for full_path, iid in await connection.execute(statement)]


@dataclass(frozen=True, slots=True)
class WaitingRow(MergeRequestRow):
    """A merge request that will be merged by itself, in somebody's name."""

    auto_merge_user_id: int


async def that_wait(connection: AsyncConnection) -> Sequence[WaitingRow]:
    """The open ones that will be merged by themselves, the oldest request first."""
    asked_for = text(TO_MERGE), merge_request.c.auto_merge_user_id.is_not(None)
    statement = select(merge_request).where(*asked_for, merge_request.c.state == State.OPENED)
    return all_of(WaitingRow, await connection.execute(statement.order_by(merge_request.c.id)))


async def locked_since(connection: AsyncConnection, before: datetime) -> Sequence[MergeRequestRow]:
    """Those that began to be merged before a moment and are locked still."""
    statement = select(merge_request).where(text(LOCKED), merge_request.c.locked_at <= before)
    return all_of(MergeRequestRow, await connection.execute(statement))


async def approve(connection: AsyncConnection, key: int, user_id: int, now: datetime) -> bool:
    """Note an approval; false if it was there."""
    known = select(approval.c.user_id).where(approval.c.merge_request_id == key, approval.c.user_id == user_id)
    if (await connection.execute(known)).first() is not None:
        return False
    await connection.execute(insert(approval).values(merge_request_id=key, user_id=user_id, created_at=now))
    return True


async def unapprove(connection: AsyncConnection, key: int, user_id: int | None = None) -> bool:
    """Take an approval back, or all; whether there was any."""
    statement = delete(approval).where(approval.c.merge_request_id == key)
    if user_id is not None:
        statement = statement.where(approval.c.user_id == user_id)
    return bool((await connection.execute(statement)).rowcount)


@dataclass(frozen=True, slots=True)
class ApproverRow(UserRow):
    """Somebody who approved, and when that was."""

    approved_at: datetime


async def approvals(connection: AsyncConnection, key: int) -> Sequence[ApproverRow]:
    """Who approved, in order: accounts, with `approved_at`."""
    statement = (
        select(user, approval.c.created_at.label("approved_at"))
        .join(approval, approval.c.user_id == user.c.id)
        .where(approval.c.merge_request_id == key)
        .order_by(approval.c.created_at, user.c.id)
    )
    return all_of(ApproverRow, await connection.execute(statement))


def _pipelines_of(row: MergeRequestRow) -> ColumnElement[bool]:
    """Its own pipelines, and those of pushes of its source branch's head."""
    pushed = and_(
        pipeline.c.project_id == row.source_project_id,
        pipeline.c.ref == row.source_branch,
        pipeline.c.sha == row.head_sha,
        ~pipeline.c.tag,
    )
    own = pipeline.c.merge_request_id == row.id
    return and_(or_(own, pushed), pipeline.c.source != CHILD)


def pipelines_of(row: MergeRequestRow) -> Listing[PipelineRow]:
    """Statement for the pipelines of a merge request: its own ones first, the newest first."""
    of_event = (pipeline.c.source == MERGE_REQUEST_SOURCE).desc()
    statement = select(*PIPELINE).where(_pipelines_of(row)).order_by(of_event, pipeline.c.id.desc())
    return Listing(statement, PipelineRow)


async def head_pipeline(connection: AsyncConnection, row: MergeRequestRow) -> PipelineRow | None:
    """The newest pipeline of the source branch's head; one for the merge request goes before one of a push."""
    at_head = or_(pipeline.c.sha == row.head_sha, pipeline.c.source_sha == row.head_sha)
    of_head = Listing(pipelines_of(row).statement.where(at_head), PipelineRow)
    return await paging.first_of(connection, of_head)


async def is_first_of_author(connection: AsyncConnection, row: MergeRequestRow) -> bool:
    """Whether none of its author's others was merged into the project."""
    statement = select(merge_request.c.id).where(
        merge_request.c.project_id == row.project_id,
        merge_request.c.author_id == row.author_id,
        merge_request.c.state == State.MERGED,
        merge_request.c.id != row.id,
    )
    return (await connection.execute(statement.limit(1))).first() is None


async def with_commit(connection: AsyncConnection, project_id: int, sha: str, after: Collection[str]) -> list[int]:
    """The ids of those that brought a commit to a project, or whose merge made it.

    `after` are the commit and those that have it within them: a source branch that is at one of them brings it, unless
    the target had it already.
    """
    columns = (merge_request.c.id, merge_request.c.head_sha, merge_request.c.base_sha)
    made = or_(merge_request.c.merge_commit_sha == sha, merge_request.c.squash_commit_sha == sha)
    statement = select(*columns, made.label("made")).where(merge_request.c.project_id == project_id)
    rows = (await connection.execute(statement)).all()
    return [row.id for row in rows if row.made or (row.head_sha in after and row.base_sha not in after)]


async def finished_pipelines(
    connection: AsyncConnection, project_id: int, branch: str, shas: Iterable[str]
) -> Sequence[PipelineRow]:
    """The pipelines of a branch at these commits that have ended well or badly, the newest first."""
    statement = select(*PIPELINE).where(
        pipeline.c.project_id == project_id,
        pipeline.c.ref == branch,
        ~pipeline.c.tag,
        pipeline.c.sha.in_(list(shas)),
        pipeline.c.source.not_in((CHILD, MERGE_REQUEST_SOURCE)),
        pipeline.c.status.in_((Status.SUCCESS, Status.FAILED)),
    )
    return all_of(PipelineRow, await connection.execute(statement.order_by(pipeline.c.id.desc())))


@dataclass(frozen=True, slots=True)
class MergeRequestFilter:
    """Which merge requests; empty fields do not narrow. `projects` selects ids of projects that may be seen.

    `labels` must all be there; `("None",)` and `("Any",)` are GitLab's words. `milestone` is a title, or one of them.
    """

    projects: Any = None
    ids: Collection[int] | None = None
    state: str = ""
    source_branch: str = ""
    target_branch: str = ""
    author_id: int | None = None
    author_username: str = ""
    source_project_id: int | None = None
    assignee_id: int | None = None
    iids: tuple[int, ...] = ()
    milestone: str = ""
    labels: tuple[str, ...] = ()
    search: str = ""
    search_in: tuple[str, ...] = ("title", "description")
    draft: bool | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    updated_after: datetime | None = None
    updated_before: datetime | None = None
    order_by: str = "created_at"
    ascending: bool = False


_EQUAL: Final = ("state", "source_branch", "target_branch", "author_id", "source_project_id")


def listed(wanted: MergeRequestFilter) -> Listing[MergeRequestRow]:
    """Statement for merge requests."""
    statement = select(merge_request).where(*_conditions(wanted))
    column = merge_request.c[wanted.order_by]
    ways = (column.asc(), merge_request.c.id.asc()) if wanted.ascending else (column.desc(), merge_request.c.id.desc())
    return Listing(statement.order_by(*ways), MergeRequestRow, (merge_request.c.description,))


def _conditions(wanted: MergeRequestFilter) -> list[ColumnElement[bool]]:
    table = merge_request.c
    found = [table[name] == getattr(wanted, name) for name in _EQUAL if getattr(wanted, name) not in {"", None}]
    if wanted.projects is not None:
        found.append(table.project_id.in_(wanted.projects))
    if wanted.ids is not None:
        found.append(table.id.in_(padded(wanted.ids)))
    if wanted.author_username:
        found.append(table.author_id.in_(select(user.c.id).where(user.c.username == wanted.author_username)))
    if wanted.iids:
        found.append(table.iid.in_(wanted.iids))
    if wanted.search:
        text = wanted.search
        found.append(or_(*(table[name].icontains(text, autoescape=True) for name in wanted.search_in)))
    if wanted.draft is not None:
        drafts = or_(*(func.lower(table.title).startswith(word) for word in ("draft:", "[draft]", "(draft)")))
        found.append(drafts if wanted.draft else ~drafts)
    if wanted.milestone:
        found.append(_of_milestone(wanted.milestone))
    return [*found, *_of_documents(wanted), *_of_times(wanted)]


def _of_milestone(title: str) -> ColumnElement[bool]:
    planned = merge_request.c.milestone_id
    words = {"None": planned.is_(None), "Any": planned.is_not(None)}
    if title in words:
        return words[title]
    return planned.in_(select(milestone.c.id).where(milestone.c.title == title))


def _of_documents(wanted: MergeRequestFilter) -> list[ColumnElement[bool]]:
    """Lists are documents: a label or a person is looked for in the text of them."""
    labels, people = cast(merge_request.c.labels, String), cast(merge_request.c.assignee_ids, String)
    words = {"None": labels == "[]", "Any": labels != "[]"}
    found = [words[label] if label in words else holds_label(label) for label in wanted.labels]
    if wanted.assignee_id is not None:
        spaced = func.replace(func.replace(func.replace(people, " ", ""), "[", ","), "]", ",")
        found.append(spaced.contains(f",{wanted.assignee_id},"))
    return found


def holds_label(label: str) -> ColumnElement[bool]:
    """Whether a label is in the text of the document, which may hold letters as they are or by number."""
    labels = cast(merge_request.c.labels, String)
    ways = {json.dumps(label), json.dumps(label, ensure_ascii=False)}
    return or_(*(labels.contains(way, autoescape=True) for way in sorted(ways)))


def _of_times(wanted: MergeRequestFilter) -> list[ColumnElement[bool]]:
    created, updated = merge_request.c.created_at, merge_request.c.updated_at
    bounds = (
        (wanted.created_after, created.__ge__),
        (wanted.created_before, created.__le__),
        (wanted.updated_after, updated.__ge__),
        (wanted.updated_before, updated.__le__),
    )
    return [compare(moment) for moment, compare in bounds if moment is not None]
