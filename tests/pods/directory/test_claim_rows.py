"""What readers are told of organisations that have moved, whichever of their paths is left."""

from typing import Any

import pytest

from tests.pods.directory.served import Served, take

ORGANISATION = 7 * 2**40 + 5


@pytest.fixture
def directory_url() -> str:
    """One kind of database: the statements are the same."""
    return ""


async def changes_since(directory: Served, seen: dict[str, Any]) -> dict[str, Any]:
    address = f"/v1/directory?epoch={seen['epoch']}&after={seen['version']}"
    status, changes = await directory.call("GET", address, directory.read)
    assert (status, changes["complete"]) == (200, False)
    found: dict[str, Any] = changes
    return found


async def test_changes_tell_of_an_organisation_by_the_path_that_it_got_after_it_had_moved(directory: Served) -> None:
    old = await take(directory, 7, "acme", ORGANISATION)
    for pod, expected in ((0, 7), (7, 0)):
        await directory.call("PUT", "/v1/organisations/acme", body={"pod": pod, "expected": expected})
    new = await take(directory, 7, "renamed", ORGANISATION)
    await directory.call("DELETE", f"/v1/claims/{old}", 7)
    named = await directory.all()
    assert named["moved"] == {str(ORGANISATION): 7}
    await directory.call("DELETE", f"/v1/claims/{new}", 7)
    removed = await directory.all()
    assert (await changes_since(directory, named))["moved"] == {str(ORGANISATION): None}
    assert removed["moved"] == {}
    await take(directory, 7, "restored", ORGANISATION)
    assert (await changes_since(directory, removed))["moved"] == {str(ORGANISATION): 7}
    assert (await directory.all())["moved"] == {str(ORGANISATION): 7}
