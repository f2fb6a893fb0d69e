"""Parameters from query, form and JSON."""

from typing import Any

import pytest

from api.v4.parameters import nested
from domain.errors import Invalid
from tests.api.v4.site import Site
from tests.api.v4.told_faults import told_faults


def test_flat_fields_become_lists_and_objects() -> None:
    fields = [
        ("ref", "main"),
        ("scope[]", "a"),
        ("scope[]", "b"),
        ("variables[][key]", "A"),
        ("variables[][value]", "1"),
        ("variables[][key]", "B"),
        ("variables[][value]", "2"),
    ]
    assert nested(fields) == {
        "ref": "main",
        "scope": ["a", "b"],
        "variables": [{"key": "A", "value": "1"}, {"key": "B", "value": "2"}],
    }


def test_flat_fields_become_maps() -> None:
    fields = [("variables[A]", "1"), ("variables[B]", ""), ("ref", "main")]
    assert nested(fields) == {"variables": {"A": "1", "B": ""}, "ref": "main"}


@pytest.mark.parametrize(
    ("first", "second"), [("scope", "scope[]"), ("scope[]", "scope[a]"), ("scope", "scope[a]"), ("scope[a]", "scope[]")]
)
def test_a_name_cannot_be_two_kinds(first: str, second: str) -> None:
    with pytest.raises(Invalid, match="scope is given both"):
        nested([(first, "a"), (second, "b")])


async def test_every_way_to_send_parameters_means_the_same(site: Site) -> None:
    async with site.client(site.root) as client:
        for number, way in enumerate(("json", "data", "files", "params")):
            fields = {"username": f"ada{number}", "name": "Ada", "email": f"ada{number}@example.com"}
            sent = {key: (None, value) for key, value in fields.items()} if way == "files" else fields
            options: dict[str, Any] = {way: sent}
            response = await client.post("/api/v4/users", **options)
            assert response.status_code == 201, response.text
            assert response.json()["username"] == f"ada{number}"


BAD_BODIES = [
    (b"{", "application/json", 400, "not JSON"),
    (b"[1]", "application/json", 400, "must be a JSON object"),
    (b"\xff\xfe=1", "application/x-www-form-urlencoded", 400, "not a form"),
    (b"x", "multipart/form-data", 400, "not a form"),
    (b'{"name": "' + b"x" * 1_100_000, "application/json", 413, "PERDURE_JSON_BYTES"),
    (b"{}", "application/json", 400, "username is missing, name is missing, email is missing"),
]


async def test_bad_bodies_get_a_clear_error(site: Site) -> None:
    async with site.client(site.root) as client:
        for body, kind, status, words in BAD_BODIES:
            response = await client.post("/api/v4/users", content=body, headers={"Content-Type": kind})
            assert response.status_code == status
            assert words in told_faults(response)
