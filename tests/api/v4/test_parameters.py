"""Parameters from query, form and JSON."""

import pytest

from api.v4.parameters import nested
from domain.errors import Invalid


def test_flat_fields_become_lists_and_objects():
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


def test_a_name_cannot_be_both_value_and_list():
    with pytest.raises(Invalid, match="scope is given both"):
        nested([("scope", "a"), ("scope[]", "b")])


@pytest.mark.parametrize(
    "request_of",
    [
        {"json": {"name": "Ada", "username": "ada", "email": "ada@example.com"}},
        {"data": {"name": "Ada", "username": "ada", "email": "ada@example.com"}},
        {"files": {"name": (None, "Ada"), "username": (None, "ada"), "email": (None, "ada@example.com")}},
        {"params": {"name": "Ada", "username": "ada", "email": "ada@example.com"}},
    ],
)
async def test_every_way_to_send_parameters_means_the_same(site, request_of):
    async with site.client(site.root) as client:
        answer = await client.post("/api/v4/users", **request_of)
    assert answer.status_code == 201, answer.text
    assert answer.json()["username"] == "ada"


@pytest.mark.parametrize(
    ("body", "kind", "status", "words"),
    [
        (b"{", "application/json", 400, "not JSON"),
        (b"[1]", "application/json", 400, "must be a JSON object"),
        (b"\xff\xfe=1", "application/x-www-form-urlencoded", 400, "not a form"),
        (b"x", "multipart/form-data", 400, "not a form"),
        (b'{"name": "' + b"x" * 1_100_000, "application/json", 413, "PERDURE_JSON_BYTES"),
        (b"{}", "application/json", 400, "username is missing, name is missing, email is missing"),
    ],
)
async def test_bad_bodies_get_a_clear_error(site, body, kind, status, words):
    async with site.client(site.root) as client:
        answer = await client.post("/api/v4/users", content=body, headers={"Content-Type": kind})
    assert answer.status_code == status
    assert words in answer.json()["message"]
