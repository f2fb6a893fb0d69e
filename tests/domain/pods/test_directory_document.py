"""The directory as JSON: there and back, and what is wrong with one that cannot be read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Invalid
from domain.pods.directory import Directory, Pod, PodState
from domain.pods.directory_document import directory_of, document_of

NUMBERS = st.lists(st.integers(0, 8191), min_size=1, max_size=5, unique=True)


@given(st.integers(0, 2**53), NUMBERS, st.data())
def test_a_directory_comes_back(version: int, numbers: list[int], data: st.DataObject) -> None:
    keys = st.fixed_dictionaries({"kty": st.just("OKP"), "kid": st.text(min_size=1), "alg": st.just("EdDSA")})
    pods = tuple(
        Pod(
            number,
            f"pod {number}",
            data.draw(st.text(max_size=9)),
            data.draw(st.integers(0, 200)),
            data.draw(st.sampled_from((PodState.ACTIVE, PodState.DRAINING))),
            tuple(data.draw(st.lists(keys, max_size=2))),
        )
        for number in numbers
    )
    to_a_pod = st.sampled_from(numbers)
    organisations = data.draw(st.dictionaries(st.text("abc-", min_size=1), to_a_pod))
    moved = data.draw(st.dictionaries(st.integers(0, 2**53), to_a_pod))
    directory = Directory(version, pods, organisations, moved)
    assert directory_of(json.loads(json.dumps(document_of(directory)))) == directory


def one(**more: Any) -> dict[str, Any]:
    """A directory of one pod, and `more`."""
    return {"version": 1, "pods": [{"number": 1, "name": "x"}], **more}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "A directory is an object with moved"),
        ({"version": 1}, "A directory is an object with moved"),
        (one(pods=3), "pods: must be a list"),
        (one(pods=[]), "pods: A directory has at least one pod"),
        (one(pods=[{"number": 1, "name": "x"}, {"number": 1, "name": "y"}]), "no two of one number or name"),
        (one(pods=[7]), r"pods\[0\]: must be an object"),
        (one(pods=[{"number": True, "name": "x"}]), r"pods\[0\].number: must be a whole number from 0"),
        (one(pods=[{"number": 8192, "name": "x"}]), r"pods\[0\].number: is 8192, 8191 at most"),
        (one(pods=[{"number": 1, "name": "x", "address": 7}]), r"pods\[0\]: name must be a text"),
        (one(pods=[{"number": 1, "name": "x", "weight": -1}]), r"pods\[0\].weight: must be a whole number from 0"),
        (one(pods=[{"number": 1, "name": "x", "state": "removed"}]), r"pods\[0\].state: must be active or draining"),
        (one(pods=[{"number": 1, "name": "x", "public_keys": []}]), r"pods\[0\].public_keys: must be a JWK Set"),
        (one(version="1"), "version: must be a whole number"),
        (one(organisations=[]), "organisations: must be an object"),
        (one(organisations={"acme": 2}), "organisations.acme: there is no pod 2"),
        (one(moved={"acme": 1}), "moved.acme: must be the id"),
    ],
)
def test_a_document_that_is_wrong_is_told_where(document: Any, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        directory_of(document)


def test_what_is_as_usual_is_left_out_so_that_older_routers_read_it() -> None:
    document = document_of(Directory(1, (Pod(1, "x", "h:1"),)))
    assert document["pods"] == [{"number": 1, "name": "x", "address": "h:1"}]
