"""Lists in pages, with GitLab's parameters and headers (`page`, `per_page`, `X-Total`, `Link` ...)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import JSONResponse

from api.deps import ServicesDep
from models.repositories.paging import MAX_COUNTED, RESPONSE_BYTES, too_large

_DEFAULT: Final = 20
_MAX_PER_PAGE: Final = 100
_LAST_PAGE: Final = 1_000_000_000
_MAX_TOKEN_LENGTH: Final = 10_000
"""Characters of a page's token; the longest of ours holds a path."""

Item = TypeVar("Item")
Text = TypeVar("Text", bound=Mapping[str, Any])


@dataclass(frozen=True, slots=True)
class Paging:
    """The page that a call asks for; `url` is the address of the list without its query.

    With `keyset` pages are not counted: each leads to the one after its last item, which `token` names.
    """

    number: int
    size: int
    url: str
    query: tuple[tuple[str, str], ...] = ()
    keyset: bool = False
    token: str = ""

    @property
    def offset(self) -> int:
        """How many items come before this page."""
        return (self.number - 1) * self.size

    def of(self, items: Sequence[Item]) -> Sequence[Item]:
        """This page of a list that is there as a whole."""
        return items[self.offset : self.offset + self.size]

    def uncounted(self, items: Iterable[Mapping[str, Any]], *, more: bool) -> JSONResponse:
        """The items of this page of a list that nobody has counted; whether there are `more`."""
        left_out = {"X-Total", "X-Total-Pages"}
        headers = self.headers(self.offset + self.size + more)
        links = [link for link in headers["Link"].split(", ") if not link.endswith('rel="last"')]
        kept = {name: text for name, text in headers.items() if name not in left_out}
        return JSONResponse(bounded(items), headers={**kept, "Link": ", ".join(links)})

    def keyed(self, items: Iterable[Mapping[str, Any]], following: str) -> JSONResponse:
        """The items of this page of a list by keyset; `following` is the token of the next page, empty for none."""
        headers = {"X-Per-Page": str(self.size)}
        if following:
            fields = [*self.query, ("page_token", following), ("per_page", str(self.size))]
            headers["Link"] = f'<{self.url}?{urlencode(fields)}>; rel="next"'
        return JSONResponse(bounded(items), headers=headers)

    def response(self, items: Iterable[Mapping[str, Any]], total: int) -> JSONResponse:
        """The items of this page, with the headers that lead to the others."""
        return JSONResponse(bounded(items), headers=self.headers(total))

    def headers(self, total: int) -> dict[str, str]:
        """The headers of a list of `total` items; of one that was not counted to its end without what that is."""
        last = max(1, -(-total // self.size))
        before = self.number - 1 if 1 < self.number <= last + 1 else None
        after = self.number + 1 if self.number < last else None
        counted = total <= MAX_COUNTED
        ways = (("prev", before), ("next", after), ("first", 1), ("last", last if counted else None))
        totals = {"X-Total": str(total), "X-Total-Pages": str(last)} if counted else {}
        return {
            "Link": ", ".join(f'<{self._address(page)}>; rel="{name}"' for name, page in ways if page is not None),
            "X-Page": str(self.number),
            "X-Per-Page": str(self.size),
            "X-Next-Page": "" if after is None else str(after),
            "X-Prev-Page": "" if before is None else str(before),
            **totals,
        }

    def _address(self, page: int) -> str:
        return f"{self.url}?{urlencode([*self.query, ('page', str(page)), ('per_page', str(self.size))])}"


def bounded(items: Iterable[Text], advice: str = "Ask for fewer at a time, with a smaller per_page") -> list[Text]:
    """The items, unless their texts are more than a response takes. Raises `TooLarge`; one item is never too large."""
    found = list(items)
    size = sum(len(value) for item in found for value in item.values() if isinstance(value, str))
    if len(found) > 1 and size > RESPONSE_BYTES:
        raise too_large(size, advice)
    return found


async def paging_of(
    request: Request,
    services: ServicesDep,
    page: Annotated[int, Query(ge=1, le=_LAST_PAGE)] = 1,
    per_page: Annotated[int, Query(ge=1)] = _DEFAULT,
    pagination: str = "",
    page_token: Annotated[str, Query(max_length=_MAX_TOKEN_LENGTH)] = "",
) -> Paging:
    """The page that a call asks for; tokens of the query never come back in links."""
    left_out = {"page", "per_page", "page_token", "private_token", "access_token"}
    query = tuple(item for item in request.query_params.multi_items() if item[0] not in left_out)
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.partition(b"?")[0].decode("latin-1")
    size = min(per_page, _MAX_PER_PAGE)
    return Paging(page, size, f"{services.settings.url}{path}", query, pagination == "keyset", page_token)


PagingDep = Annotated[Paging, Depends(paging_of)]
