"""What branches and tags have in common: searched, in pages, found by name, deleted."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Response
from fastapi.responses import JSONResponse

from api.services import Services
from api.v4.pagination import Paging
from api.v4.repositories.access import RepositoryAccess
from application.pushes.push import update_refs
from auth.permissions import Action
from domain.errors import Invalid, NotFound
from git.reading.ref_listing import ListedRef, find_ref
from git.transport.push import RefUpdate
from git.writing.ref_transaction import NOTHING


def fits(name: str, search: str) -> bool:
    """Whether a name has this in it, in whatever case; `^` at the start and `$` at the end hold it to the edges."""
    text = search.lower()
    wanted = text.removeprefix("^").removesuffix("$")
    if text.startswith("^") and text.endswith("$"):
        return name.lower() == wanted
    if text.startswith("^"):
        return name.lower().startswith(wanted)
    return name.lower().endswith(wanted) if text.endswith("$") else wanted in name.lower()


async def page(
    paging: Paging, found: Sequence[ListedRef], shown: Callable[[Sequence[ListedRef]], Awaitable[Sequence[Any]]]
) -> JSONResponse:
    """A page of what was found, by number, or (keyset pagination) from the name on that the last page ended with."""
    if not paging.keyset:
        return paging.response(await shown(paging.of(found)), len(found))
    first = next((at + 1 for at, ref in enumerate(found) if ref.name == paging.token), 0)
    items = found[first : first + paging.size]
    following = items[-1].name if first + paging.size < len(found) else ""
    return paging.keyed(await shown(items), following)


@dataclass(frozen=True, slots=True)
class RefKind:
    """Branches or tags: how a name becomes a ref (raises `Invalid`), and what is said of one that is not there."""

    ref_of: Callable[[str], str]
    missing: str

    async def existing(self, repository: RepositoryAccess, name: str) -> ListedRef:
        """The ref of this name. Raises `NotFound`, also for what can be no name."""
        try:
            found = await find_ref(repository.git, self.ref_of(name))
        except Invalid:
            found = None
        if found is None:
            raise NotFound(self.missing)
        return found

    async def delete(self, services: Services, repository: RepositoryAccess, name: str) -> Response:
        """Delete the ref of this name as a push would. Raises `Forbidden`, `NotFound`, `Refused`."""
        repository.project.require(Action.PUSH)
        found = await self.existing(repository, name)
        update = RefUpdate(found.ref.object, NOTHING, found.ref.name)
        await update_refs(services, repository.project, repository.git, [update])
        return Response(status_code=204)
