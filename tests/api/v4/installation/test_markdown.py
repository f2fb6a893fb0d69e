"""`POST /markdown`: a text as HTML, within a second of computing or not at all."""

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from api.app import create_app
from api.v4.installation import markdown
from application.configurations.compiler_pool import compiler_pool
from application.texts.markdown import MAX_LENGTH
from tests.api.v4.site import open_site

_COLUMNS = 80
WIDE = "|" + "a|" * _COLUMNS + "\n|" + "-|" * _COLUMNS + "\n" + "|\n" * MAX_LENGTH


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server with processes of its own, of which one has begun."""
    async with open_site(tmp_path, "") as site:
        with compiler_pool() as pool:
            app = create_app(replace(site.services, compilers=pool))
            headers = {"PRIVATE-TOKEN": site.root.token}
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://perdure.test", headers=headers
            ) as client:
                answer = await client.post("/api/v4/markdown", json={"text": "~~x~~", "gfm": True})
                assert answer.json() == {"html": "<p><s>x</s></p>\n"}
                yield client


async def test_a_text_that_costs_too_much_is_refused_in_words(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third of the second that there is: a quick machine needs no whole one for the worst that we know."""
    monkeypatch.setattr(markdown, "SECONDS", 0.3)
    begin = time.process_time()
    response = await client.post("/api/v4/markdown", json={"text": WIDE[:MAX_LENGTH], "gfm": True})
    said = "It takes more than 0.3 s to render this text; ask for less at a time."
    assert (response.status_code, response.json()["message"]) == (422, said)
    assert time.process_time() - begin < 20  # it is not computed here
    again = await client.post("/api/v4/markdown", json={"text": "*x*"})
    assert again.json() == {"html": "<p><em>x</em></p>\n"}
