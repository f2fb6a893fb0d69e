"""Who is told by e-mail: people whose settings ask for it, who may read the project and have an address.

Blocked people, robots and those who have lost access get nothing; `activities.notifications` asks that once more when
an e-mail is about to go.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import ProjectAccess, visible_to
from application.services import Services
from auth.permissions import LEVEL_FOR, Action
from domain.notifications.integrations import is_address
from domain.notifications.occasions import DEPLOYMENTS, PIPELINES, RULES, Occasion, Relation, hears
from domain.variables.environment_variables import guessed_tier
from models.repositories.accounts import accounts, members
from models.repositories.environments import deploy_permissions
from models.repositories.environments.deploy_permissions import Target
from models.repositories.merge_requests import merge_requests
from models.repositories.notifications import notification_settings, told_facts
from models.repositories.notifications.notification_settings import Around
from models.repositories.paging import slice_of
from models.repositories.projects import relations
from models.rows.accounts import UserRow
from models.rows.notifications import NoticeRow
from models.rows.projects import ProjectRow

MAX_DEPLOYERS: Final = 500
"""Members who are asked whether they may deploy, when a job waits for one of them."""


async def people_to_tell(services: Services, project: ProjectRow, notice: NoticeRow) -> list[UserRow]:
    """Those who get an e-mail, by id."""
    kind = Occasion(notice.kind)
    if kind not in RULES:
        return []
    async with services.database.read() as connection:
        groups = await told_facts.groups_around(connection, project.namespace_id)
        around = Around(project.id, groups)
        concerned = await _taking_part(connection, project, notice)
        listening = await _listening(connection, around) if RULES[kind].anybody else set()
        asked = concerned | listening
        settings = await notification_settings.of_people(connection, around, asked)
        people = await relations.users(connection, asked)
    told = [
        person
        for key, person in sorted(people.items())
        if hears(settings[key], kind, Relation(key in concerned, key == notice.user_id)) and can_get(person)
    ]
    least = Action.PUSH if kind is Occasion.APPROVAL_NEEDED else Action.READ
    return [person for person in told if await _may(services, person, project.id, least)]


def can_get(person: UserRow) -> bool:
    """Whether somebody can get e-mails at all."""
    return person.state == accounts.ACTIVE and not person.bot and is_address(person.email)


async def _may(services: Services, person: UserRow, project_id: int, action: Action) -> bool:
    access: ProjectAccess | None = await visible_to(services, person, project_id)
    return access is not None and access.level >= LEVEL_FOR[action]


async def _listening(connection: AsyncConnection, around: Around) -> set[int]:
    """Who hears of more than their own: by a setting of the project or a group around it, or as a member."""
    found = await notification_settings.who_may_listen(connection, around)
    return {
        account_id
        for account_id, of_everything in found.items()
        if not of_everything or await members.level_in_project(connection, around.project_id, account_id)
    }


async def _taking_part(connection: AsyncConnection, project: ProjectRow, notice: NoticeRow) -> set[int]:
    kind = Occasion(notice.kind)
    if kind in PIPELINES:
        return _given(notice.user_id)
    if kind in DEPLOYMENTS:
        return await _of_deployment(connection, project, notice)
    row = await merge_requests.get(connection, notice.merge_request_id or 0)
    if row is None:
        return set()
    authors = {row.author_id, *row.assignee_ids}
    by_kind: Mapping[Occasion, Iterable[int | None]] = {
        Occasion.APPROVAL_NEEDED: set(notice.facts.get("reviewers", ())) - {row.author_id},
        Occasion.APPROVED: authors,
        Occasion.MERGED: {*authors, *row.reviewer_ids},
        Occasion.AUTO_MERGE_FAILED: {row.author_id, notice.facts.get("asked_by")},
    }
    return _given(*by_kind[kind])


async def _of_deployment(connection: AsyncConnection, project: ProjectRow, notice: NoticeRow) -> set[int]:
    """Who deployed; when a job waits for somebody who may deploy, those who may.

    Who has started the whole pipeline hears of its failure already.
    """
    row = await told_facts.deploying_job(connection, notice.job_id or 0)
    if row is None:
        return set()  # reported by somebody who knows
    if Occasion(notice.kind) is not Occasion.DEPLOYMENT_WAITING:
        covered = row.user_id == row.pipeline_user_id and not notice.facts.get("allow_failure")
        return set() if covered else _given(row.user_id)
    if not row.environment:
        return set()
    target = Target(project.id, row.environment, row.environment_tier or guessed_tier(row.environment))
    if not await deploy_permissions.is_protected(connection, target):
        return set()
    able = (await slice_of(connection, members.all_of_project(project), 1, MAX_DEPLOYERS)).rows
    return {
        person.id
        for person in able
        if person.access_level >= LEVEL_FOR[Action.RUN]
        and not await deploy_permissions.refusal_of(connection, target, person.id)
    }


def _given(*keys: int | None) -> set[int]:
    return {key for key in keys if key is not None}
