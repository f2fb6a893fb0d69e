"""Lists in pages, with GitLab's parameters and headers (`page`, `per_page`, `X-Total`, `Link` ...)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import JSONResponse

from api.deps import ServicesDep

_DEFAULT: Final = 20
_MOST: Final = 100
_LAST_PAGE: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Paging:
    """The page that a call asks for; `url` is the address of the list without its query."""

    number: int
    size: int
    url: str
    query: tuple[tuple[str, str], ...] = ()

    def answer(self, items: Iterable[Mapping[str, Any]], total: int) -> JSONResponse:
        """The items of this page, with the headers that lead to the others."""
        return JSONResponse(list(items), headers=self.headers(total))

    def headers(self, total: int) -> dict[str, str]:
        """The headers of a list of `total` items."""
        last = max(1, -(-total // self.size))
        before = self.number - 1 if 1 < self.number <= last + 1 else None
        after = self.number + 1 if self.number < last else None
        ways = (("prev", before), ("next", after), ("first", 1), ("last", last))
        return {
            "Link": ", ".join(f'<{self._address(page)}>; rel="{name}"' for name, page in ways if page is not None),
            "X-Page": str(self.number),
            "X-Per-Page": str(self.size),
            "X-Next-Page": "" if after is None else str(after),
            "X-Prev-Page": "" if before is None else str(before),
            "X-Total": str(total),
            "X-Total-Pages": str(last),
        }

    def _address(self, page: int) -> str:
        return f"{self.url}?{urlencode([*self.query, ('page', str(page)), ('per_page', str(self.size))])}"


async def paging_of(
    request: Request,
    services: ServicesDep,
    page: Annotated[int, Query(ge=1, le=_LAST_PAGE)] = 1,
    per_page: Annotated[int, Query(ge=1)] = _DEFAULT,
) -> Paging:
    """The page that a call asks for; tokens of the query never come back in links."""
    left_out = {"page", "per_page", "private_token", "access_token"}
    query = tuple(item for item in request.query_params.multi_items() if item[0] not in left_out)
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.partition(b"?")[0].decode("latin-1")
    return Paging(page, min(per_page, _MOST), f"{services.settings.url}{path}", query)


PagingDep = Annotated[Paging, Depends(paging_of)]
