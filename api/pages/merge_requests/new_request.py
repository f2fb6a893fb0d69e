"""The form that opens a merge request: which branches, what would be merged, and what is said of it."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import address_of_page, page
from api.pages.projects.home import Number
from api.pages.repositories.comparisons import MAX_COUNTED
from api.pages.repositories.shown_diff import ShownDiff, shown_diff
from api.routes import RouteList
from api.services import Services
from api.v4.merge_requests.merge_requests import NewRequest, create_merge_request
from api.v4.origin import require_our_pages
from api.v4.parameters import parameters, validated
from application.access import ProjectAccess, access_to
from application.merge_requests.context import bring_head
from auth.permissions import Action
from domain.decimal_number import decimal_number
from domain.errors import Forbidden, Invalid, NotFound, PerdureError, Refused, Unauthenticated
from domain.merge_requests.merge_request import MAX_TITLE, squashes, with_draft
from git.reading.commit import Commit
from git.reading.history import HistoryQuery, commits, count_between
from git.reading.revision import commit_named
from git.writing.object_writing import EMPTY_TREE

MAX_BRANCHES: Final = 1_000
"""So many branches are offered; any other can be named in the address."""
_SHOWN_COMMITS: Final = 20
_ID_DIGITS: Final = 16

router = RouteList(prefix=f"{PREFIX}/-/merge_requests", kind=EndsWithCaller)


@dataclass(frozen=True, slots=True)
class Filled:
    """A form as it was sent, or as it begins."""

    source_branch: str = ""
    target_branch: str = ""
    target_project_id: int | None = None
    title: str = ""
    description: str = ""
    draft: bool = False
    squash: bool = False
    remove_source_branch: bool = True


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be merged."""

    commits: list[Commit]
    total: int
    diff: ShownDiff


def filled_from(values: dict[str, Any]) -> Filled:
    """What a form or an address says, by GitLab's names: `merge_request[source_branch]`."""
    inner = values.get("merge_request")
    given = {name: str(value) for name, value in inner.items()} if isinstance(inner, dict) else {}
    return Filled(
        source_branch=given.get("source_branch", ""),
        target_branch=given.get("target_branch", ""),
        target_project_id=decimal_number(given.get("target_project_id", ""), _ID_DIGITS),
        title=given.get("title", ""),
        description=given.get("description", "").replace("\r\n", "\n"),
        draft=given.get("draft", "") in _YES,
        squash=given.get("squash", "") in _YES,
        remove_source_branch=given.get("force_remove_source_branch", "1") in _YES,
    )


_YES: Final = frozenset({"1", "true", "on"})


async def _sent(request: Request, services: ServicesDep) -> Filled:
    """What was sent. Raises `Invalid`, `TooLarge`."""
    return filled_from(await parameters(request, services.settings.sizes.json_bytes))


FilledDep = Annotated[Filled, Depends(_sent)]


@router.get("/new")
async def show_form(
    request: Request,
    services: ServicesDep,
    project: PageProjectDep,
    filled: FilledDep,
    file: str = "",
    number: Annotated[Number, Query(alias="page")] = 1,
) -> Response:
    """The form, with what would be merged once both branches are chosen."""
    project.require(Action.PUSH)
    return await _page(request, services, project, filled, file=file, number=number)


@router.post("", dependencies=[Depends(require_our_pages)])
async def open_request(request: Request, services: ServicesDep, project: PageProjectDep, filled: FilledDep) -> Response:
    """Open it and go to its page; what is wrong is told beside the form as it was filled in."""
    project.require(Action.PUSH)
    try:
        target = await _target(services, project, filled)
        wanted = {
            "source_branch": filled.source_branch,
            "target_branch": filled.target_branch,
            "target_project_id": target.row.id,
            "title": with_draft(filled.title.strip(), draft=True) if filled.draft else filled.title.strip(),
            "description": filled.description,
            "squash": filled.squash,
            "remove_source_branch": filled.remove_source_branch,
        }
        new = validated(NewRequest, wanted)
        made = await create_merge_request(new, project, services, project.caller)
    except (Invalid, Refused, Forbidden, NotFound, Unauthenticated) as error:
        return await _page(request, services, project, filled, fault=str(error), status=400)
    return RedirectResponse(f"/{target.row.full_path}/-/merge_requests/{made['iid']}", 303)


async def _target(services: Services, project: ProjectAccess, filled: Filled) -> ProjectAccess:
    if filled.target_project_id in {None, project.row.id}:
        return project
    return await access_to(services, project.caller, filled.target_project_id or 0)


async def _page(
    request: Request,
    services: Services,
    project: ProjectAccess,
    filled: Filled,
    *,
    file: str = "",
    number: int = 1,
    fault: str = "",
    status: int = 200,
) -> Response:
    target, preview = project, None
    try:
        target = await _target(services, project, filled)
        filled = replace(filled, target_branch=filled.target_branch or target.row.default_branch)
        preview = await _preview(services, project, target, filled, file, number)
    except PerdureError as error:
        fault = fault or str(error)
    if preview is not None and not filled.title:
        filled = _suggested(filled, target, preview)
    return page(
        "merge_requests/new.html",
        project.caller,
        status,
        project=project.row,
        target=target.row,
        targets=await _targets(services, project),
        sources=await _branches(services, project),
        target_branches=await _branches(services, target),
        filled=filled,
        preview=preview,
        fault=fault,
        max_title=MAX_TITLE,
        address=f"/{project.row.full_path}/-/merge_requests/new",
        query=_query(filled),
        here=address_of_page(request) if status == 200 else f"/{project.row.full_path}/-/merge_requests/new",
    )


def _query(filled: Filled) -> str:
    fields = {"source_branch": filled.source_branch, "target_branch": filled.target_branch}
    if filled.target_project_id is not None:
        fields["target_project_id"] = str(filled.target_project_id)
    return urlencode({f"merge_request[{name}]": value for name, value in fields.items()})


async def _targets(services: Services, project: ProjectAccess) -> list[Any]:
    """The projects into which it may lead: its own, and the one that it is a fork of, if the caller may see that."""
    origin = project.row.forked_from_id
    if origin is None:
        return [project.row]
    try:
        return [(await access_to(services, project.caller, origin)).row, project.row]
    except (NotFound, Forbidden, Unauthenticated):
        return [project.row]


async def _branches(services: Services, project: ProjectAccess) -> list[str]:
    try:
        refs = await services.repositories.get(project.row.id).branches()
    except NotFound:
        return []
    return [ref.short_name for ref in refs[:MAX_BRANCHES]]


async def _preview(
    services: Services, source: ProjectAccess, target: ProjectAccess, filled: Filled, file: str, number: int
) -> Preview | None:
    """What would be merged; None before a source is chosen. Raises `Invalid` for a branch that is not there."""
    if not filled.source_branch:
        return None
    if source.row.id == target.row.id and filled.source_branch == filled.target_branch:
        raise Invalid("Choose two branches that are not the same.")
    head = await commit_named(services.repositories.get(source.row.id), f"refs/heads/{filled.source_branch}")
    if head is None:
        raise Invalid(f"There is no branch {filled.source_branch[:200]!r} in {source.row.full_path}.")
    heads = await bring_head(services, target.row.id, source.row.id, head, filled.target_branch)
    if not heads.start_sha:
        raise Invalid(f"There is no branch {filled.target_branch[:200]!r} in {target.row.full_path}.")
    repository = services.repositories.get(target.row.id)
    query = HistoryQuery([head, f"^{heads.start_sha}"], limit=_SHOWN_COMMITS)
    address = f"/{source.row.full_path}/-/merge_requests/new?{_query(filled)}"
    return Preview(
        await commits(repository, query),
        await count_between(repository, head, heads.start_sha, MAX_COUNTED),
        await shown_diff(repository, heads.base_sha or EMPTY_TREE, head, address, number=number, path=file),
    )


def _suggested(filled: Filled, target: ProjectAccess, preview: Preview) -> Filled:
    """Title and description as GitLab suggests them: those of the only commit, else the words of the branch."""
    squash = squashes(target.row.squash_option, wanted=None)
    if preview.total == 1:
        commit = preview.commits[0]
        body = commit.message.removeprefix(commit.title).strip()
        return replace(filled, title=commit.title[:MAX_TITLE], description=body, squash=squash)
    words = filled.source_branch.rpartition("/")[2].replace("-", " ").replace("_", " ").strip()
    return replace(filled, title=(words[:1].upper() + words[1:])[:MAX_TITLE], squash=squash)
