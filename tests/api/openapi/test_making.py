"""The document takes half a second to be made: nobody waits for that but who asked for it."""

import threading
from typing import Any

import pytest

from api import app as application
from api.runner.openapi import merged
from tests.api.v4.site import Site


@pytest.mark.parametrize("address", ["/api/v4/openapi.json", "/-/api"])
async def test_the_document_is_made_beside_the_event_loop(
    site: Site, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    makers = []

    def noted(document: dict[str, Any]) -> dict[str, Any]:
        makers.append(threading.current_thread())
        return merged(document)

    monkeypatch.setattr(application, "merged", noted)
    async with site.client() as nobody:
        for _ in range(2):
            assert (await nobody.get(address)).status_code == 200
    assert len(makers) == 1
    assert makers[0] is not threading.main_thread()
