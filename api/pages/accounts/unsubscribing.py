"""Where the links in e-mails lead that end them: a page that asks, and one POST that mail programs send (RFC 8058).

The POST needs neither a session nor a token of our forms: the link itself, which only its recipient was sent, is the
proof, and it can do nothing else.
"""

from typing import Annotated

from fastapi import Path
from fastapi.responses import Response

from api.deps import CallerDep, ServicesDep
from api.pages.frame.responses import page
from api.routes import RouteList
from api.v4.access import Id
from application.notifications.unsubscribing import PATH, end, opened

router = RouteList(prefix=f"{PATH}/{{project_id}}/{{token}}")

Token = Annotated[str, Path(max_length=1000)]


@router.get("")
async def ask(project_id: Id, token: Token, caller: CallerDep, services: ServicesDep) -> Response:
    """Ask before it is done: programs that look at links change nothing."""
    ending, project = await opened(services, project_id, token)
    return page("accounts/unsubscribe.html", caller, path=project.full_path, ending=ending, done=False)


@router.post("")
async def unsubscribe(project_id: Id, token: Token, caller: CallerDep, services: ServicesDep) -> Response:
    """No more e-mails of this kind."""
    ending, project = await opened(services, project_id, token)
    await end(services, ending, project)
    return page("accounts/unsubscribe.html", caller, path=project.full_path, ending=ending, done=True)
