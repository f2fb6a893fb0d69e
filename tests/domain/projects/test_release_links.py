"""The links of a release: numbers that stay, paths and names that are there once."""

from typing import Any

import pytest

from domain.errors import Invalid, NotFound
from domain.projects.release_links import check_links, link_at, links_of, with_changed_link, with_link, without_link

APP = {"name": "app", "url": "https://example.com/app", "link_type": "other", "filepath": "/app"}
DOC = {"name": "doc", "url": "https://example.com/doc", "link_type": "other"}


def test_a_number_is_never_given_again() -> None:
    assets: dict[str, Any] = {"links": [APP]}
    assert [link["id"] for link in links_of(assets)] == [1]
    assets, made = with_link(assets, DOC)
    assert made["id"] == 2
    assets, gone = without_link(assets, 2)
    assert gone["name"] == "doc"
    assets, again = with_link(assets, DOC)
    assert again["id"] == 3
    assets, _ = without_link(assets, 1)
    assert [(link["id"], link["name"]) for link in links_of(assets)] == [(3, "doc")]


def test_a_link_is_changed_in_its_place_and_found_by_its_path() -> None:
    assets, changed = with_changed_link({"links": [APP, DOC]}, 2, {"filepath": "/bin/doc.pdf"})
    assert changed == {**DOC, "id": 2, "filepath": "/bin/doc.pdf"}
    assert link_at(assets, "/bin/doc.pdf")["id"] == 2
    with pytest.raises(NotFound):
        link_at(assets, "")
    with pytest.raises(NotFound):
        with_changed_link(assets, 3, {"name": "x"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "app"}, "two links with name 'app'"),
        ({"url": APP["url"]}, "two links with url"),
        ({"filepath": "/app"}, "two links with filepath '/app'"),
        ({"url": "file:///etc/passwd"}, "use http, https or ftp"),
        ({"name": " "}, "a link without a name"),
        ({"name": "a\0"}, "null character"),
        *(
            ({"filepath": path}, "write it like /bin/app-1.0.zip")
            for path in ("app", "/a//b", "/a/", "/a b", "/é", "/a.")
        ),
    ],
)
def test_what_a_release_cannot_have_is_refused(change: dict[str, str], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        with_changed_link({"links": [APP, DOC]}, 2, change)
    with pytest.raises(Invalid, match=said):
        check_links([APP, {**DOC, **change}])
