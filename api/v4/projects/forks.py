"""Forks: projects that begin as a copy of another one, and lead back to it by merge requests."""

import asyncio
import shutil
from typing import Annotated, Final

from fastapi import Depends
from fastapi.responses import JSONResponse
from pydantic import Field

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import KnownCallerDep, ProjectDep
from api.v4.encoded_paths import decoded
from api.v4.names import PathName
from api.v4.namespaces.groups import Visibility
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.projects.documents import documents, project_page, project_row
from api.v4.representation.projects import ProjectResponse
from application.access import viewer_of
from application.audit import record
from application.projects.creation import namespace_for
from auth.permissions import OWNER
from domain.errors import FieldsInvalid, Invalid, Refused
from git.reading.revision import commit_named
from git.transport.fetching import copied
from models.repositories.installation.audit import Entity, Happened
from models.repositories.projects import projects
from models.repositories.projects.listings import ProjectFilter
from models.repositories.projects.listings import projects as listed

router = RouteList(prefix="/projects/{project}")

_OPENNESS: Final = ("private", "internal", "public")


class NewFork(Optionals):
    """Parameters of `POST /projects/:id/fork`. `branches` is one branch that the fork shall have, all without it."""

    name: str = Field(default="", max_length=255)
    path: PathName | None = None
    namespace: str | None = None
    namespace_id: int | None = Field(default=None, ge=1, le=2**53)
    namespace_path: str | None = None
    description: str | None = Field(default=None, max_length=2000)
    visibility: Visibility | None = None
    branches: str = ""

    @property
    def where(self) -> str | None:
        """The group that is named, by id or path."""
        return str(self.namespace_id) if self.namespace_id is not None else self.namespace_path or self.namespace


class ForkResponse(ProjectResponse):
    """A new fork."""

    import_status: str


@router.post("/fork", status_code=201)
async def fork_project(
    new: Annotated[NewFork, Depends(given(NewFork))], project: ProjectDep, caller: KnownCallerDep, services: ServicesDep
) -> ForkResponse:
    """Copy a project that the caller may read, with its repository; they become the owner of the copy.

    It is no more open than what it was copied from. Answers 409 when the path is taken.
    """
    origin = project.row
    owner = await namespace_for(services, caller, new.where and decoded(new.where))
    source = services.repositories.get(origin.id)
    if new.branches and await commit_named(source, f"refs/heads/{new.branches}") is None:
        raise FieldsInvalid(branches=f"is invalid: there is no branch {new.branches!r}")
    branch = new.branches or origin.default_branch
    now, path = services.clock(), new.path or origin.path
    draft = await copied(services.repositories, source, branch, new.branches)
    try:
        async with services.database.write() as connection:
            key = await projects.create_project(
                connection,
                owner,
                path,
                new.name or origin.name,
                caller.user_id,
                now,
                visibility=min(new.visibility or origin.visibility, origin.visibility, key=_OPENNESS.index),
                default_branch=branch,
                description=origin.description if new.description is None else new.description,
                forked_from_id=origin.id,
            )
            await services.repositories.adopt(draft, key)
            row = await project_row(connection, key)
            entity = Entity("project", key, f"{owner.full_path}/{path}")
            await record(connection, caller, entity, Happened("project_forked", {"from": origin.full_path}), now)
            (document,) = await documents(services, connection, caller, [row], level=OWNER)
    except Invalid as error:
        raise Refused(f"Project namespace name has already been taken: {error}") from error
    finally:
        await asyncio.to_thread(shutil.rmtree, draft, ignore_errors=True)
    return {**document, "import_status": "finished"}


@router.get("/forks", response_model=list[ProjectResponse])
async def list_forks(project: ProjectDep, services: ServicesDep, paging: PagingDep, search: str = "") -> JSONResponse:
    """The forks of a project that the caller may see, newest first."""
    wanted = ProjectFilter(viewer_of(project.caller), search=search, forked_from=project.row.id)
    return await project_page(services, project.caller, listed(wanted), paging)
