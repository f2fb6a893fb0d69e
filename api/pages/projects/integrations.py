"""The page of a project's integrations: where its news goes, what became of the last messages, and a way to try."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import NOTICES, page
from api.routes import RouteList
from api.services import Services
from api.v4.hooks.chat_integrations import SHOWN, Chat, MailingList, delete, existing, save
from api.v4.origin import require_our_pages
from api.v4.parameters import parameters, validated
from application.access import ProjectAccess
from application.notifications.trying_out import send_test
from auth.permissions import Action
from domain.errors import Invalid, NotFound
from domain.notifications.integrations import CHATS, TITLES, Branches, Slug, Wishes, wishes_of
from models.repositories.notifications import chat_integrations, mailing, messages
from models.rows.notifications import ChatIntegrationRow, NoticedMessageRow

PATH: Final = "/-/settings/integrations"
BRANCHES: Final[Mapping[Branches, str]] = {
    Branches.ALL: "All branches",
    Branches.DEFAULT: "The default branch",
    Branches.PROTECTED: "Protected branches",
    Branches.DEFAULT_AND_PROTECTED: "The default branch and protected ones",
}
OCCASIONS: Final[Mapping[str, str]] = {
    "pipeline_failed": "pipeline failed",
    "pipeline_fixed": "pipeline fixed",
    "pipeline_succeeded": "pipeline succeeded",
    "deployment_started": "deployment started",
    "deployment_succeeded": "deployment succeeded",
    "deployment_failed": "deployment failed",
    "deployment_canceled": "deployment canceled",
    "deployment_waiting": "deployment waits",
    "approval_needed": "approval needed",
    "approved": "merge request approved",
    "merged": "merge request merged",
    "auto_merge_failed": "merge by itself failed",
    "test": "test message",
}
"""What a message was about, as the page says it."""
_FLAGS: Final = (
    "active",
    "pipeline_events",
    "deployment_events",
    "merge_requests_events",
    "notify_only_broken_pipelines",
    "add_pusher",
)
"""Boxes of the forms: one that is not ticked is not sent."""

router = RouteList(prefix=f"{PREFIX}{PATH}", dependencies=[Depends(require_our_pages)])


@dataclass(frozen=True, slots=True)
class Shown:
    """An integration on the page; `row` is None for one that is not there yet."""

    slug: Slug
    title: str
    row: ChatIntegrationRow | None
    wishes: Wishes
    messages: Sequence[NoticedMessageRow] = ()

    @property
    def is_chat(self) -> bool:
        """Whether it is a chat, and no list of addresses."""
        return self.slug in CHATS


@router.get("")
async def show(request: Request, services: ServicesDep, project: PageProjectDep) -> Response:
    """What is there."""
    project.require(Action.ADMINISTER)
    return await _page(services, project, notice=NOTICES.get(request.query_params.get("notice", ""), ""))


@router.post("/{slug}")
async def change(request: Request, slug: str, services: ServicesDep, project: PageProjectDep) -> Response:
    """Make or change one."""
    project.require(Action.ADMINISTER)
    which = _slug(slug)
    try:
        typed = await parameters(request, services.settings.sizes.json_bytes)
        values: dict[str, Any] = {name: value for name, value in typed.items() if value != "" or name != "webhook"}
        values |= {name: name in typed for name in _FLAGS}
        asked = validated(Chat if which in CHATS else MailingList, values)
        await save(which, asked, project, services)
    except Invalid as error:
        return await _page(services, project, 400, error=f"{TITLES[which]}: {error}")
    return _back(project, "saved")


@router.post("/{slug}/remove")
async def remove(slug: str, services: ServicesDep, project: PageProjectDep) -> Response:
    """Delete one."""
    await delete(_slug(slug), project, services)
    return _back(project, "removed")


@router.post("/{slug}/test")
async def test(slug: str, services: ServicesDep, project: PageProjectDep) -> Response:
    """Send a test message, and tell what became of it."""
    project.require(Action.ADMINISTER)
    which = _slug(slug)
    async with services.database.read() as connection:
        row = await existing(connection, project.row.id, which)
    try:
        tried = await send_test(services, project, row)
    except Invalid as error:
        return await _page(services, project, 400, error=f"{TITLES[which]}: {error}")
    if failed := [one for one in tried if one.state == messages.FAILED]:
        return await _page(services, project, error=f"The test message did not arrive. {failed[0].error}")
    if any(one.state == messages.OPEN for one in tried):
        return await _page(services, project, notice="The test message is on its way; look again in a moment.")
    return await _page(services, project, notice="The test message has arrived.")


def _slug(text: str) -> Slug:
    try:
        return Slug(text)
    except ValueError:
        raise NotFound("Integration Not Found") from None


def _back(project: ProjectAccess, notice: str) -> Response:
    return RedirectResponse(f"/{project.row.full_path}{PATH}?notice={notice}", 303)


async def _page(
    services: Services, project: ProjectAccess, status: int = 200, *, error: str = "", notice: str = ""
) -> Response:
    async with services.database.read() as connection:
        rows = {row.slug: row for row in await chat_integrations.of_project(connection, project.row.id)}
        sent = await mailing.are_sent(connection)
        shown = []
        for slug, title in TITLES.items():
            row = rows.get(slug)
            told = [] if row is None else await messages.of_integration(connection, row.id, SHOWN)
            wishes = Wishes() if row is None else wishes_of(row.wishes)
            shown.append(Shown(slug, title, row, wishes, told))
    return page(
        "projects/integrations.html",
        project.caller,
        status,
        project=project.row,
        integrations=shown,
        branches=BRANCHES,
        occasions=OCCASIONS,
        sent=sent,
        error=error,
        notice=notice,
    )
