"""The page that compares two refs: what one has that the other has not."""

from typing import Annotated, Final
from urllib.parse import quote

from fastapi import Query
from fastapi.responses import Response

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import page
from api.pages.projects.home import Number
from api.pages.repositories.commits import repository_of
from api.pages.repositories.shown_diff import shown_diff
from api.routes import RouteList
from domain.errors import NotFound
from git.reading.history import HistoryQuery, commits, count_between
from git.reading.tree_reading import merge_base

router = RouteList(prefix=PREFIX, kind=EndsWithCaller)

MAX_COMMITS: Final = 100
"""Commits that a comparison lists; of more their number is told, up to ten thousand."""
MAX_COUNTED: Final = 10_000


@router.get("/-/compare/{range:path}")
async def compare(
    range: str,  # noqa: A002  (as GitLab's address has it)
    services: ServicesDep,
    project: PageProjectDep,
    file: str = "",
    number: Annotated[Number, Query(alias="page")] = 1,
) -> Response:
    """`from...to` begins at their last common commit, `from..to` compares the two as they are."""
    sign = "..." if "..." in range else ".."
    base, dots, head = range.partition(sign)
    if not dots:
        raise NotFound("Name two refs: from...to.")
    repository = repository_of(services, project)
    old, new = await repository.commit(base, "Ref Not Found"), await repository.commit(head, "Ref Not Found")
    begin = old if sign == ".." else await merge_base(repository.git, old, new) or old
    address = f"/{project.row.full_path}/-/compare/{quote(range)}"
    return page(
        "repositories/comparison.html",
        project.caller,
        project=project.row,
        base=base or project.row.default_branch,
        head=head or project.row.default_branch,
        commits=await commits(repository.git, HistoryQuery([new, f"^{old}"], limit=MAX_COMMITS)),
        total=await count_between(repository.git, new, old, MAX_COUNTED),
        diff=await shown_diff(repository.git, begin, new, address, number=number, path=file),
        address=address,
        here=address,
    )
