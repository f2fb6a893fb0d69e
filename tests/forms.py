"""Forms as a browser sends them that has been on one of our pages: with the token that the page told it."""

import re
from typing import Final

import httpx

from api.pages.frame.form_tokens import COOKIE, HEADER, token_of_secret

_SECRET: Final = "made-by-tests-for-one-browser-00"
COOKIES: Final = {COOKIE: _SECRET}
"""What such a browser has kept."""
TOKEN: Final = {HEADER: token_of_secret(_SECRET)}
"""What it shows with it."""
BOTH: Final = {**TOKEN, "Cookie": f"{COOKIE}={_SECRET}"}
"""The two as headers of one request."""
_TOLD: Final = re.compile(r'<meta name="csrf-token" content="([0-9a-f]{32})">')


def token_in(page: str) -> dict[str, str]:
    """The header that a script of this page sends."""
    told = _TOLD.search(page)
    assert told is not None, page[:2_000]
    return {HEADER: told[1]}


async def visit_first(browser: httpx.AsyncClient, path: str = "/users/sign_in") -> None:
    """Open a page, so that forms can be sent from it."""
    page = await browser.get(path, headers={"Accept": "text/html"}, follow_redirects=True)
    browser.headers.update(token_in(page.text))
