"""Tags: listed, read, made, deleted."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final, Literal

from fastapi import Depends, Response
from fastapi.responses import JSONResponse

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.routes import RouteList
from api.services import Services
from api.v4.encoded_paths import decoded
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.repositories.access import RepositoryAccess, RepositoryDep
from api.v4.repositories.listed_refs import RefKind, fits, page
from api.v4.representation.refs import TagResponse
from api.v4.representation.refs import tag as shown
from application.pushes.committing import signature_of
from application.pushes.tagging import make_tag
from auth.permissions import Action
from domain.errors import Invalid, Refused
from git.names import checked_branch
from git.reading.history import commits_by_sha
from git.reading.ref_listing import ListedRef, find_ref, list_refs
from git.reading.revision import commit_named
from git.writing.tags import NewTag, ref_of
from models.repositories.artifacts import releases

router = RouteList(prefix="/projects/{project}/repository/tags", kind=EndsWithCaller)

_KEYS: Final = {"name": "refname", "updated": "creatordate", "version": "version:refname"}


class WantedTag(Optionals):
    """Parameters of `POST /projects/:id/repository/tags`; with a message the tag is annotated."""

    tag_name: str
    ref: str
    message: str | None = None


@router.get("", response_model=list[TagResponse])
async def list_tags(
    repository: RepositoryDep,
    services: ServicesDep,
    paging: PagingDep,
    order_by: Literal["name", "updated", "version"] = "updated",
    sort: Literal["asc", "desc"] = "desc",
    search: str = "",
) -> JSONResponse:
    """The tags of a repository, the newest first unless told otherwise."""
    key = _KEYS[order_by] if sort == "asc" else f"-{_KEYS[order_by]}"
    found = [tag for tag in await list_refs(repository.git, "refs/tags", key) if fits(tag.name, search)]
    return await page(paging, found, partial(_shown, services, repository))


async def _shown(services: Services, repository: RepositoryAccess, tags: Sequence[ListedRef]) -> list[TagResponse]:
    commits = await commits_by_sha(repository.git, (tag.ref.sha for tag in tags))
    async with services.database.read() as connection:
        released = await releases.by_tags(connection, repository.row.id, [tag.name for tag in tags])
    protection = repository.project.protection
    return [
        shown(
            tag,
            commits.get(tag.ref.sha),
            released.get(tag.name),
            repository.path,
            repository.url,
            protected=protection.protects(tag.name, tag=True),
        )
        for tag in tags
    ]


TAGS: Final = RefKind(ref_of, "Tag Not Found")
"""How tags are found."""


@router.get("/{tag}")
async def get_tag(tag: str, repository: RepositoryDep, services: ServicesDep) -> TagResponse:
    """One tag."""
    return (await _shown(services, repository, [await TAGS.existing(repository, decoded(tag))]))[0]


@router.post("", status_code=201)
async def create_tag(
    new: Annotated[WantedTag, Depends(given(WantedTag))], repository: RepositoryDep, services: ServicesDep
) -> TagResponse:
    """Make a tag at a commit; it gets its pipeline."""
    repository.project.require(Action.PUSH)
    try:
        ref = ref_of(checked_branch(new.tag_name))
    except Invalid:
        raise Invalid("Tag name invalid") from None
    if await find_ref(repository.git, ref) is not None:
        raise Invalid(f"Tag {new.tag_name} already exists")
    sha = await commit_named(repository.git, new.ref)
    if sha is None:
        raise Invalid(f"Target {new.ref} is invalid")
    me = await signature_of(services, repository.project)
    tag = NewTag(new.tag_name, sha, new.message or "", me.name, me.email, me.moment)
    try:
        await make_tag(services, repository.project, repository.git, tag)
    except Refused as error:
        raise Invalid(f"Tag {new.tag_name} already exists, or another one is in its way") from error
    return (await _shown(services, repository, [await TAGS.existing(repository, new.tag_name)]))[0]


@router.delete("/{tag}", status_code=204)
async def delete_tag(tag: str, repository: RepositoryDep, services: ServicesDep) -> Response:
    """Delete a tag; its release stays."""
    return await TAGS.delete(services, repository, decoded(tag))
