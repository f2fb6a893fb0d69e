"""Templates: those of `.gitlab-ci.yml` are the ones that `include:template` takes; of other kinds there are none."""

from collections.abc import Sequence
from typing import Final, Literal

from fastapi import Depends
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.routes import RouteList
from api.v4.access import seen_project_of
from api.v4.encoded_paths import decoded
from api.v4.pagination import PagingDep
from domain.errors import NotFound
from includes import templates

CONFIGURATIONS: Final = "gitlab_ci_ymls"

Kind = Literal["gitlab_ci_ymls", "dockerfiles", "gitignores", "licenses"]
ProjectKind = Literal["gitlab_ci_ymls", "dockerfiles", "gitignores", "licenses", "issues", "merge_requests"]

router = RouteList()


class ListedTemplateResponse(TypedDict):
    """A template by its name."""

    key: str
    name: str


class TemplateResponse(TypedDict):
    """A template with its text."""

    name: str
    content: str


def keys() -> Sequence[str]:
    """What our templates are called here: by their names without the ending."""
    return [name.removesuffix(templates.ENDING) for name in templates.names()]


def _listed(kind: str, paging: PagingDep) -> JSONResponse:
    known = keys() if kind == CONFIGURATIONS else []
    items: list[ListedTemplateResponse] = [{"key": key, "name": key} for key in paging.of(known)]
    return paging.response(items, len(known))


def _found(kind: str, key: str, what: str) -> TemplateResponse:
    """A template by its key; by the last part of it too, as in GitLab, where only one ends so. Raises `NotFound`."""
    known = keys() if kind == CONFIGURATIONS else []
    named = [key] if key in known else [other for other in known if other.endswith(f"/{key}")]
    text = templates.load(named[0] + templates.ENDING) if len(named) == 1 else None
    if text is None:
        raise NotFound(f"404 {what} Not Found")
    return {"name": named[0], "content": text}


@router.get("/templates/{kind}", response_model=list[ListedTemplateResponse])
async def list_templates(kind: Kind, paging: PagingDep) -> JSONResponse:
    """The templates of a kind."""
    return _listed(kind, paging)


@router.get("/templates/{kind}/{key:path}")
async def get_template(kind: Kind, key: str) -> TemplateResponse:
    """One template with its text."""
    return _found(kind, key, kind.removesuffix("s"))


@router.get(
    "/projects/{project}/templates/{kind}",
    dependencies=[Depends(seen_project_of)],
    response_model=list[ListedTemplateResponse],
)
async def list_project_templates(kind: ProjectKind, paging: PagingDep) -> JSONResponse:
    """The templates of a kind that a project may take: the same for all."""
    return _listed(kind, paging)


@router.get("/projects/{project}/templates/{kind}/{key}", dependencies=[Depends(seen_project_of)])
async def get_project_template(kind: ProjectKind, key: str) -> TemplateResponse:
    """One of them with its text."""
    return _found(kind, decoded(key), "Template")
