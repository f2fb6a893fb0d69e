"""Releases: listed, read, made, changed and deleted by people, and by running jobs as release clients do."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import Depends, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import ProjectDep
from api.v4.encoded_paths import decoded
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.representation.releases import ReleaseResponse
from api.v4.representation.releases import release as shown
from application.releases.releasing import (
    MAX_DESCRIPTION,
    MAX_NAME,
    NewRelease,
    check_text,
    moment_of,
    prepare_release,
    require_release,
)
from domain.errors import NotFound, Refused
from git.reading.commit import Commit
from models.repositories.accounts import accounts
from models.repositories.artifacts import releases
from models.repositories.paging import slice_of
from models.repositories.projects import relations
from models.rows.environments import ReleaseRow
from models.rows.projects import ProjectRow

router = RouteList(prefix="/projects/{project}/releases")

_TEXT: Final = MAX_DESCRIPTION

LinkType: TypeAlias = Literal["runbook", "package", "image", "other"]


class Link(BaseModel):
    """One item of `assets[links]`."""

    name: str = Field(min_length=1, max_length=255)
    url: str = Field(min_length=1, max_length=4096)
    link_type: LinkType = "other"
    direct_asset_path: str = Field(default="", max_length=128)
    filepath: str = Field(default="", max_length=128)

    def document(self) -> dict[str, str]:
        """How it is kept."""
        path = self.direct_asset_path or self.filepath
        found = {"name": self.name, "url": self.url, "link_type": self.link_type}
        return {**found, "filepath": path} if path else found


class Assets(BaseModel):
    """`assets` of a release."""

    links: list[Link] = []


class Release(BaseModel):
    """Parameters of `POST /projects/:id/releases`."""

    tag_name: str = Field(min_length=1, max_length=1024)
    name: str = Field(default="", max_length=255)
    description: str = Field(default="", max_length=_TEXT)
    ref: str = ""
    tag_message: str = ""
    milestones: list[str] = Field(default=[], max_length=100)
    released_at: str = ""
    assets: Assets = Assets()

    def read(self) -> NewRelease:
        """What is to be made. Raises `Invalid` for a wrong time."""
        return NewRelease(
            tag=self.tag_name,
            name=self.name,
            description=self.description,
            ref=self.ref,
            tag_message=self.tag_message,
            milestones=tuple(self.milestones),
            released_at=moment_of(self.released_at),
            links=tuple(link.document() for link in self.assets.links),
        )


class ReleaseChanges(Optionals):
    """Parameters of `PUT /projects/:id/releases/:tag_name`."""

    name: str | None = Field(default=None, max_length=MAX_NAME)
    description: str | None = Field(default=None, max_length=_TEXT)
    released_at: str = ""
    milestones: list[str] | None = Field(default=None, max_length=100)

    def values(self, tag: str) -> dict[str, Any]:
        """The columns to write. Raises `Invalid`."""
        check_text(self.name or "", self.description or "", self.milestones or ())
        found = self.model_dump(exclude_none=True, exclude={"released_at"})
        if self.name is not None:
            found["name"] = self.name or tag
        moment = moment_of(self.released_at)
        return found if moment is None else found | {"released_at": moment}


async def shown_releases(services: Services, project: ProjectRow, rows: Sequence[ReleaseRow]) -> list[ReleaseResponse]:
    """Releases of one project as JSON."""
    async with services.database.read() as connection:
        users = await relations.users(connection, (row.user_id for row in rows))
    commits = await _commits(services, project.id, (row.sha for row in rows))
    now = services.clock()
    return [shown(row, users, commits, project, services.settings.url, now) for row in rows]


async def _commits(services: Services, project_id: int, shas: Iterable[str]) -> dict[str, Commit]:
    """Those commits that the repository has."""
    found: dict[str, Commit] = {}
    with suppress(NotFound):
        repository = services.repositories.get(project_id)
        for sha in dict.fromkeys(shas):
            with suppress(NotFound):
                found[sha] = await repository.commit(sha)
    return found


@router.get("", response_model=list[ReleaseResponse])
async def list_releases(
    access: ProjectDep,
    services: ServicesDep,
    paging: PagingDep,
    order_by: Annotated[Literal["released_at", "created_at"], Query()] = "released_at",
    sort: Annotated[Literal["asc", "desc"], Query()] = "desc",
) -> JSONResponse:
    """The releases of a project, the newest first unless told otherwise."""
    statement = releases.of_project(access.row.id, order_by=order_by, ascending=sort == "asc")
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response(await shown_releases(services, access.row, found.rows), found.total)


@router.get("/permalink/latest")
async def get_latest_release(access: ProjectDep, services: ServicesDep) -> ReleaseResponse:
    """The release that was released last; those of the future do not count."""
    async with services.database.read() as connection:
        row = await releases.latest(connection, access.row.id, services.clock())
    return (await shown_releases(services, access.row, [row]))[0]


@router.get("/{tag:path}")
async def get_release(tag: str, access: ProjectDep, services: ServicesDep) -> ReleaseResponse:
    """The release of a tag."""
    async with services.database.read() as connection:
        row = await releases.get(connection, access.row.id, decoded(tag))
    return (await shown_releases(services, access.row, [row]))[0]


@router.post("", status_code=201)
async def create_release(
    new: Annotated[Release, Depends(given(Release))], access: ProjectDep, services: ServicesDep
) -> ReleaseResponse:
    """Make a release, and its tag at `ref` if that is missing. Answers 409 when the tag has a release already."""
    require_release(access, new.tag_name)
    async with services.database.read() as connection:
        user = await accounts.get(connection, access.caller.user_id)
        if await releases.find(connection, access.row.id, new.tag_name) is not None:
            raise Refused("Release already exists")
    repository = services.repositories.get(access.row.id)
    values = await prepare_release(services, access, user, repository, new.read())
    async with services.database.write() as connection:
        if not await releases.add(connection, services.clock(), **values):
            raise Refused("Release already exists")
        row = await releases.get(connection, access.row.id, new.tag_name)
    return (await shown_releases(services, access.row, [row]))[0]


@router.put("/{tag:path}")
async def change_release(
    tag: str, new: Annotated[ReleaseChanges, Depends(given(ReleaseChanges))], access: ProjectDep, services: ServicesDep
) -> ReleaseResponse:
    """Change name, description, time or the names of milestones of a release."""
    name = decoded(tag)
    require_release(access, name)
    values = new.values(name)
    async with services.database.write() as connection:
        held = await releases.hold(connection, access.row.id, name)
        row = await releases.change(connection, held, services.clock(), **values)
    return (await shown_releases(services, access.row, [row]))[0]


@router.delete("/{tag:path}")
async def delete_release(tag: str, access: ProjectDep, services: ServicesDep) -> ReleaseResponse:
    """Delete a release and keep its tag; the response is the release as it was."""
    require_release(access, decoded(tag))
    async with services.database.write() as connection:
        row = await releases.get(connection, access.row.id, decoded(tag))
        await releases.remove(connection, row, services.clock())
    return (await shown_releases(services, access.row, [row]))[0]
