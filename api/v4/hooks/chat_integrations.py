"""Integrations that are told what happens, at GitLab's addresses: Slack, Mattermost, pipelines by e-mail to a list."""

from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import Depends, Response
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import ProjectDep
from api.v4.hooks.parameters import fault_of_url
from api.v4.parameters import Optionals, given
from api.v4.representation.notifications import UNTOLD, ToldIntegrationDetailsResponse, integration_in_full
from application.access import ProjectAccess
from application.audit import record
from application.hooks.secrets import sealed
from auth.permissions import Action
from domain.errors import FieldsInvalid, Invalid, NotFound
from domain.notifications.integrations import CHATS, Branches, Slug, Wishes, addresses_of, wishes_of
from domain.sealed_for import CHAT
from models.repositories.installation.audit import Happened
from models.repositories.notifications import chat_integrations, mailing, messages
from models.rows.notifications import ChatIntegrationRow

SHOWN: Final = 20
"""Messages that are shown, the newest first."""
_PREFIX: Final = "/projects/{project}/integrations"
_Name = Annotated[str | None, Field(default=None, max_length=255)]


class _Integration(Optionals):
    """What all of them take; what is not given stays as it is."""

    active: bool = True
    pipeline_events: bool | None = None
    notify_only_broken_pipelines: bool | None = None
    notify_only_default_branch: bool | None = None
    branches_to_be_notified: Branches | None = None


class Chat(_Integration):
    """Parameters of `PUT /projects/:id/integrations/slack` and `.../mattermost`.

    `webhook` is the address that the chat gave. Of the events from `push_events` on nothing is told here: they may be
    false.
    """

    webhook: str | None = Field(default=None, min_length=1, max_length=2000)
    username: _Name
    channel: _Name
    pipeline_channel: _Name
    deployment_channel: _Name
    merge_request_channel: _Name
    deployment_events: bool | None = None
    merge_requests_events: bool | None = None
    push_events: bool | None = None
    tag_push_events: bool | None = None
    commit_events: bool | None = None
    job_events: bool | None = None
    issues_events: bool | None = None
    confidential_issues_events: bool | None = None
    note_events: bool | None = None
    confidential_note_events: bool | None = None
    wiki_page_events: bool | None = None
    incident_events: bool | None = None
    vulnerability_events: bool | None = None


class MailingList(_Integration):
    """Parameters of `PUT /projects/:id/integrations/pipelines-email`.

    `recipients` are addresses with commas or blanks between; with `add_pusher` whoever started the pipeline, too.
    """

    recipients: str | None = Field(default=None, max_length=50_000)
    add_pusher: bool | None = None


def _values(services: Services, slug: Slug, asked: _Integration, before: ChatIntegrationRow | None) -> dict[str, Any]:
    """The columns to be written. Raises `Invalid`."""
    values: dict[str, Any] = {"active": asked.active}
    wishes = Wishes() if before is None else wishes_of(before.wishes)
    if isinstance(asked, Chat):
        if wrong := [name for name in UNTOLD if getattr(asked, name)]:
            raise Invalid(f"{wrong[0]} is not supported: told are pipelines, deployments and merge requests.")
        if asked.webhook is not None:
            if fault := fault_of_url(services, asked.webhook):
                raise FieldsInvalid(webhook=f"is invalid: it {fault}.")
            values["webhook"] = sealed(services, asked.webhook, CHAT)
        elif before is None or not before.webhook:
            raise Invalid("webhook is missing")
    wishes = _changed(asked, wishes)
    if slug is Slug.PIPELINES_EMAIL and not (wishes.recipients or wishes.add_pusher):
        raise Invalid("recipients is missing")
    return {**values, "wishes": wishes.document()}


def _changed(asked: _Integration, wishes: Wishes) -> Wishes:
    given_ones = {
        name: value
        for name in Wishes.__dataclass_fields__
        if name != "recipients" and (value := getattr(asked, name, None)) is not None
    }
    if asked.branches_to_be_notified is None and asked.notify_only_default_branch is not None:
        branches = Branches.DEFAULT if asked.notify_only_default_branch else Branches.ALL
        given_ones["branches_to_be_notified"] = branches
    if isinstance(asked, MailingList) and asked.recipients is not None:
        given_ones["recipients"] = addresses_of(asked.recipients)
    return replace(wishes, **given_ones)


async def _get(slug: Slug, project: ProjectAccess, services: Services) -> ToldIntegrationDetailsResponse:
    project.require(Action.ADMINISTER)
    async with services.database.read() as connection:
        row = await existing(connection, project.row.id, slug)
        told = await messages.of_integration(connection, row.id, SHOWN)
        sent = await mailing.are_sent(connection)
    return integration_in_full(row, [(one.kind, one) for one in told], emails_are_sent=sent)


async def save(slug: Slug, asked: _Integration, project: ProjectAccess, services: Services) -> None:
    """Make or change an integration. Raises `Invalid`, `Forbidden`."""
    project.require(Action.ADMINISTER)
    async with services.database.read() as connection:
        before = await chat_integrations.find(connection, project.row.id, slug)
    values = _values(services, slug, asked, before)
    async with services.database.write() as connection:
        await chat_integrations.put(connection, project.row.id, slug, services.clock(), **values)
        happened = Happened("integration_changed", {"slug": str(slug), "active": asked.active})
        await record(connection, project.caller, project.entity, happened, services.clock())


async def delete(slug: Slug, project: ProjectAccess, services: Services) -> None:
    """Delete an integration. Raises `NotFound`, `Forbidden`."""
    project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        row = await existing(connection, project.row.id, slug)
        await chat_integrations.remove(connection, row)
        happened = Happened("integration_removed", {"slug": str(slug)})
        await record(connection, project.caller, project.entity, happened, services.clock())


async def existing(connection: AsyncConnection, project_id: int, slug: Slug) -> ChatIntegrationRow:
    """The integration of a project. Raises `NotFound`."""
    row = await chat_integrations.find(connection, project_id, slug)
    if row is None:
        raise NotFound("Integration Not Found")
    return row


def routes_of(slug: Slug, model: type[Chat] | type[MailingList]) -> RouteList:
    """The three calls for one integration."""
    routes = RouteList(prefix=f"{_PREFIX}/{slug}")

    @routes.get("")
    async def get_told_integration(project: ProjectDep, services: ServicesDep) -> ToldIntegrationDetailsResponse:
        """The integration with its settings and what it was told of late; its webhook is not shown."""
        return await _get(slug, project, services)

    @routes.put("")
    async def set_told_integration(
        asked: Annotated[_Integration, Depends(given(model))], project: ProjectDep, services: ServicesDep
    ) -> ToldIntegrationDetailsResponse:
        """Make or change the integration; it is told from now on."""
        await save(slug, asked, project, services)
        return await _get(slug, project, services)

    @routes.delete("", status_code=204)
    async def delete_told_integration(project: ProjectDep, services: ServicesDep) -> Response:
        """Delete the integration; what it was not told yet is not told any more."""
        await delete(slug, project, services)
        return Response(status_code=204)

    return routes


router = RouteList()
for each in Slug:
    router.include(routes_of(each, Chat if each in CHATS else MailingList))
