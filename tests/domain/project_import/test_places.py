"""Where a project comes from and goes to."""

from typing import Any

import pytest

from domain.errors import Invalid
from domain.project_import.places import Place, clone_url, place_of, reference_of

SERVER = "https://gitlab.example.com/git"


def gitlab(path: str, kind: str = "group") -> dict[str, Any]:
    """A project as GitLab shows it."""
    return {"id": 4, "path_with_namespace": path, "namespace": {"kind": kind, "full_path": path.rpartition("/")[0]}}


def test_it_goes_to_the_same_path() -> None:
    place = place_of(gitlab("acme/web/shop"), "", "ada")
    assert (place, place.groups) == (Place("acme/web", "shop"), ["acme", "acme/web"])


@pytest.mark.parametrize(
    ("to", "place"),
    [
        ("other/shop", Place("other", "shop")),
        ("shop", Place("", "shop")),
        ("/a/b/c/", Place("a/b", "c")),
        ("ada/x", Place("", "x")),
    ],
)
def test_it_goes_where_that_is_said(to: str, place: Place) -> None:
    assert place_of(gitlab("acme/shop"), to, "ada") == place


@pytest.mark.parametrize("to", ["/", "a//b"])
def test_a_wrong_place_is_refused(to: str) -> None:
    with pytest.raises(Invalid, match="GROUP/NAME"):
        place_of(gitlab("acme/shop"), to, "ada")


def test_the_own_namespace_of_somebody_else_is_not_made_a_group() -> None:
    assert place_of(gitlab("ada/shop", "user"), "", "ada") == Place("", "shop")
    with pytest.raises(Invalid, match="--to"):
        place_of(gitlab("bob/shop", "user"), "", "ada")


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("acme/shop", "acme/shop"),
        ("/acme/web/shop.git", "acme/web/shop"),
        ("42", "42"),
        (f"{SERVER}/acme/shop", "acme/shop"),
        (f"{SERVER}/acme/shop.git", "acme/shop"),
        (f"{SERVER}/acme/shop/-/settings/ci_cd#variables", "acme/shop"),
        (f"{SERVER}/acme/sh%C3%B6p?tab=1", "acme/shöp"),
    ],
)
def test_a_project_is_named_by_path_id_or_address(text: str, reference: str) -> None:
    assert reference_of(text, SERVER) == reference


@pytest.mark.parametrize(
    "text", ["shop", "https://evil.example/acme/shop", "https://gitlab.example.com/acme/shop", f"{SERVER}/acme"]
)
def test_what_names_no_project_of_that_server_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        reference_of(text, SERVER)


@pytest.mark.parametrize("path", ["acme/shop", "@evil.example/x", "../x?y#z"])
def test_git_is_sent_to_that_server_whatever_a_path_says(path: str) -> None:
    url = clone_url(SERVER, path)
    assert url.startswith(f"{SERVER}/")
    assert not {"?", "#", "@"} & set(url)
