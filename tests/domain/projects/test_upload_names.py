"""Names of uploads: what is kept of those that clients give, and how Markdown writes them."""

import pytest

from domain.errors import Invalid
from domain.projects.upload_names import in_markdown, upload_name


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("app-1.0+b.zip", "app-1.0+b.zip"),
        ("a b(1).txt", "a_b_1_.txt"),
        ("C:\\folder\\a.txt", "a.txt"),
        ("../../etc/passwd", "passwd"),
        ("..", "_.."),
        ("é.txt", "é.txt"),
        ('a"; x=".html', "a___x__.html"),
    ],
)
def test_a_name_has_no_folder_and_no_letter_that_headers_or_addresses_need(given: str, kept: str) -> None:
    assert upload_name(given) == kept


@pytest.mark.parametrize("given", ["", "a/", "x" * 256, "é" * 128])
def test_what_is_no_name_is_refused(given: str) -> None:
    with pytest.raises(Invalid, match="file is invalid"):
        upload_name(given)


def test_pictures_are_embedded_and_all_else_is_linked() -> None:
    assert in_markdown("dk.PNG", "/u/dk.PNG") == ("dk", "![dk](/u/dk.PNG)")
    assert in_markdown("a.zip", "/u/a.zip") == ("a.zip", "[a.zip](/u/a.zip)")
