"""Branches: listed, read, made, deleted."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final, Literal

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.routes import RouteList
from api.v4.encoded_paths import decoded
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.repositories.access import RepositoryAccess, RepositoryDep
from api.v4.repositories.listed_refs import RefKind, fits, page
from api.v4.representation.refs import BranchResponse, BranchStanding
from api.v4.representation.refs import branch as shown
from application.pushes.committing import branch_ref, new_branch_ref
from application.pushes.push import update_refs
from auth.permissions import DEVELOPER, Action
from domain.config.rules.patterns import Patterns
from domain.errors import Invalid, Refused
from domain.projects.protection import Movement, permits
from git.reading.history import commits_by_sha
from git.reading.ref_listing import ListedRef, find_ref, list_refs, merged_branches
from git.reading.revision import commit_named
from git.transport.push import RefUpdate
from git.writing.ref_transaction import NOTHING

router = RouteList(prefix="/projects/{project}/repository", kind=EndsWithCaller)

_SORTS: Final = {"name_asc": "refname", "updated_asc": "committerdate", "updated_desc": "-committerdate"}


class NewBranch(Optionals):
    """Parameters of `POST /projects/:id/repository/branches`."""

    branch: str
    ref: str


class RemovedBranchesResponse(TypedDict):
    """That merged branches are removed."""

    message: str


@router.get("/branches", response_model=list[BranchResponse])
async def list_branches(
    repository: RepositoryDep,
    paging: PagingDep,
    search: str = "",
    regex: str = "",
    sort: Literal["name_asc", "updated_asc", "updated_desc"] = "name_asc",
) -> JSONResponse:
    """The branches of a repository; `search` is a part of the name, `^` and `$` stand for its edges."""
    branches = await list_refs(repository.git, "refs/heads", _SORTS[sort])
    pattern = Patterns().of(regex) if regex else None
    found = [
        branch for branch in branches if fits(branch.name, search) and (pattern is None or pattern.matches(branch.name))
    ]
    return await page(paging, found, partial(_shown, repository))


async def _shown(repository: RepositoryAccess, branches: Sequence[ListedRef]) -> list[BranchResponse]:
    commits = await commits_by_sha(repository.git, (branch.ref.sha for branch in branches))
    root = await commit_named(repository.git, f"refs/heads/{repository.row.default_branch}")
    merged = await merged_branches(repository.git, root) if root is not None and branches else frozenset()
    path, url = repository.path, repository.url
    return [
        shown(branch.name, commits[branch.ref.sha], _standing(repository, branch.name, merged), path, url)
        for branch in branches
        if branch.ref.sha in commits
    ]


def _standing(repository: RepositoryAccess, name: str, merged: frozenset[str]) -> BranchStanding:
    project = repository.project
    rules, may_push = project.protection.of_branch(name), project.may(Action.PUSH)
    return BranchStanding(
        merged=name in merged,
        protected=bool(rules),
        default=name == repository.row.default_branch,
        developers_can_push=any(permits(rule.push_level, DEVELOPER) for rule in rules),
        developers_can_merge=any(permits(rule.merge_level, DEVELOPER) for rule in rules),
        can_push=may_push and not project.protection.refusal(name, Movement.UPDATE, project.level, tag=False),
    )


_BRANCHES: Final = RefKind(branch_ref, "Branch Not Found")


@router.get("/branches/{branch}")
async def get_branch(branch: str, repository: RepositoryDep) -> BranchResponse:
    """One branch."""
    return (await _shown(repository, [await _BRANCHES.existing(repository, decoded(branch))]))[0]


@router.head("/branches/{branch}", status_code=204)
async def has_branch(branch: str, repository: RepositoryDep) -> Response:
    """Whether there is such a branch."""
    await _BRANCHES.existing(repository, decoded(branch))
    return Response(status_code=204)


@router.post("/branches", status_code=201)
async def create_branch(
    new: Annotated[NewBranch, Depends(given(NewBranch))], repository: RepositoryDep, services: ServicesDep
) -> BranchResponse:
    """Make a branch at a commit; it gets its pipeline."""
    repository.project.require(Action.PUSH)
    ref = new_branch_ref(new.branch)
    if await find_ref(repository.git, ref) is not None:
        raise Invalid("Branch already exists")
    sha = await commit_named(repository.git, new.ref)
    if sha is None:
        raise Invalid(f"Invalid reference name: {new.ref}")
    try:
        await update_refs(services, repository.project, repository.git, [RefUpdate(NOTHING, sha, ref)])
    except Refused as error:
        raise Invalid(f"Branch already exists, or another one is in its way: {new.branch}") from error
    return (await _shown(repository, [await _BRANCHES.existing(repository, new.branch)]))[0]


@router.delete("/branches/{branch}", status_code=204)
async def delete_branch(branch: str, repository: RepositoryDep, services: ServicesDep) -> Response:
    """Delete a branch; its environments stop."""
    return await _BRANCHES.delete(services, repository, decoded(branch))


@router.delete("/merged_branches", status_code=202)
async def delete_merged_branches(repository: RepositoryDep, services: ServicesDep) -> RemovedBranchesResponse:
    """Delete all branches that the default branch holds, but for the protected ones."""
    repository.project.require(Action.PUSH)
    root = await repository.commit("", "Branch Not Found")
    merged = await merged_branches(repository.git, root)
    protection = repository.project.protection
    kept = {repository.row.default_branch}
    updates = [
        RefUpdate(branch.object, NOTHING, branch.name)
        for branch in await repository.git.branches()
        if branch.short_name in merged - kept and not protection.protects(branch.short_name, tag=False)
    ]
    if updates:
        await update_refs(services, repository.project, repository.git, updates)
    return {"message": "202 Accepted"}
