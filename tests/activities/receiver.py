"""A receiver of webhooks and commit statuses on loopback: it answers as it is told, and remembers what it got."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from outbound.addresses import public_or_within
from outbound.post import Poster, PostLimits
from rigs.ports import LOCAL
from tests.includes.serving import serving

NETWORK = f"{LOCAL}/32"


def local_poster(total: float = 5.0) -> Poster:
    """A poster that may reach the tests' receivers."""
    return Poster(PostLimits(total=total), permitted=public_or_within(NETWORK))


@dataclass(frozen=True)
class Got:
    """A request; `body` is what its bytes say."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        """The document."""
        return orjson.loads(self.raw)


@dataclass
class Receiver:
    """Answers with `statuses` one after the other, the last one for good; a text is the body of a 400."""

    statuses: list[int | str] = field(default_factory=lambda: [200])
    got: list[Got] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    url: str = ""

    async def answer(self, request: web.BaseRequest) -> web.Response:
        """Take a request."""
        self.got.append(Got(request.raw_path, dict(request.headers), await request.read()))
        said = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        status, text = (said, "heard") if isinstance(said, int) else (400, said)
        return web.Response(status=status, text=text, headers=self.headers)

    def kinds(self) -> list[str]:
        """What it got, by the header of webhooks."""
        return [one.headers["X-Gitlab-Event"] for one in self.got]


@asynccontextmanager
async def receiving(*statuses: int | str, port: int = 0) -> AsyncIterator[Receiver]:
    """A receiver that runs, on a free port unless told."""
    receiver = Receiver(_said(statuses))
    async with serving(receiver.answer, port=port) as served:
        receiver.url = served.url("")
        yield receiver


def _said(statuses: Sequence[int | str]) -> list[int | str]:
    return list(statuses) or [200]
