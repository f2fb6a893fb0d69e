"""Where a step is found, and what is refused before anything is fetched."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Invalid
from domain.steps.references import (
    BuiltinReference,
    GitReference,
    LocalReference,
    OciReference,
    Reference,
    read_reference,
)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("./a", LocalReference("./a")),
        ("../a/b.yml", LocalReference("../a/b.yml")),
        (" /srv/steps/a ", LocalReference("/srv/steps/a")),
        ("builtin://script", BuiltinReference("script")),
        ("dist://oci/fetch", BuiltinReference("oci/fetch")),
        ("gitlab.com/a/b@v1", GitReference("https://gitlab.com/a/b", "v1", "steps")),
        ("gitlab.com/a/b@feature/x", GitReference("https://gitlab.com/a/b", "feature/x", "steps")),
        ("file:///srv/a.git@main", GitReference("file:///srv/a.git", "main", "steps")),
        ("ssh://git@host/a/b@v1", GitReference("ssh://git@host/a/b", "v1", "steps")),
        ("gitlab.com/a/b/-/c/d@v1", GitReference("https://gitlab.com/a/b", "v1", "steps/c/d")),
        ("gitlab.com/a/b/-/c/d.yml@v1", GitReference("https://gitlab.com/a/b", "v1", "steps/c", "d.yml")),
        ("gitlab.com/a/b/-/d.yml@v1", GitReference("https://gitlab.com/a/b", "v1", "steps", "d.yml")),
        ({"git": {"url": "u", "rev": "r"}}, GitReference("u", "r")),
        ({"git": {"url": "u", "rev": "r", "dir": "./a//b/", "file": "f.yml"}}, GitReference("u", "r", "a/b", "f.yml")),
        ("reg.io/a/b:1.0", OciReference("reg.io", "a/b", "1.0")),
        ("reg.io:5000/a:1 c/d", OciReference("reg.io:5000", "a", "1", "c/d")),
        ("reg.io/a:1 c/d.yml", OciReference("reg.io", "a", "1", "c", "d.yml")),
        ({"oci": {"registry": "r", "repository": "p", "tag": "1"}}, OciReference("r", "p", "1")),
        ({"oci": {"registry": "http://r.b:1", "repository": "p", "tag": "1"}}, OciReference("http://r.b:1", "p", "1")),
        ("[::1]:5000/a/b__c:1", OciReference("[::1]:5000", "a/b__c", "1")),
        (
            {"oci": {"registry": "r", "repository": "p", "tag": f"sha256:{'0' * 64}", "dir": "a", "file": "b.yml"}},
            OciReference("r", "p", f"sha256:{'0' * 64}", "a", "b.yml"),
        ),
    ],
)
def test_every_form_is_read(written: Any, found: Reference) -> None:
    assert read_reference(written) == found


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "names no step"),
        ("script", "names no step"),
        ("a/b", "names no step"),
        ("builtin://", "no name of a built-in step"),
        ("builtin://../x", "no name of a built-in step"),
        ("host/a@", "the revision '' is empty"),
        ("@v1", "the address"),
        ("host/a/-/@v1", "a folder is missing"),
        ({"git": {"url": "https://a/b", "rev": "a" * 256}}, "at most 255 are taken"),
        ({"git": {"url": "https://a/" + "b" * 2_048, "rev": "a"}}, "at most 2,048 are taken"),
        ("host/a/-/../../etc@v1", "leads out"),
        ("host/a/-/b/..@v1", "leads out"),
        ("--upload-pack=x@v1", "the address"),
        ("host/a@--exec", "begins with `-`"),
        ("host/a b@v1", "has a blank"),
        ("host/a@.git", "is no revision"),
        ("host/a@a..b", "is no revision"),
        ("host/a@a:b", "is no revision"),
        ("host/a\x00@v1", "controls"),
        ("x" * 3_000, "at most 2,048"),
        (7, "a reference is a text"),
        ({}, "a reference is a text"),
        ({"git": {"url": "u", "rev": "r"}, "oci": {}}, "a reference is a text"),
        ({"git": {"url": "-u", "rev": "r"}}, "the url '-u'"),
        ({"git": {"url": "u"}}, "`rev` is missing"),
        ({"git": {"url": "u", "rev": "r", "dir": "../a"}}, "leads out"),
        ({"git": {"url": "u", "rev": "r", "dir": "/a"}}, "leads out"),
        ({"git": {"url": "u", "rev": "r", "file": "a/b.yml"}}, "no name of a file"),
        ({"oci": {"registry": "r", "repository": "p", "tag": ""}}, "the tag '' is empty"),
        ({"oci": {"registry": "r", "repository": "p", "tag": "../x"}}, "`../x` is no tag of an image"),
        ({"oci": {"registry": "r", "repository": "p/../x", "tag": "1"}}, "`p/../x` is no repository of an image"),
        ({"oci": {"registry": "r", "repository": "p?x=y", "tag": "1"}}, "is no repository of an image"),
        ({"oci": {"registry": "u:p@r", "repository": "p", "tag": "1"}}, "is no registry of an image"),
        ({"oci": {"registry": "r/x", "repository": "p", "tag": "1"}}, "is no registry of an image"),
        ("r.io/A:1", "`A` is no repository of an image"),
    ],
)
def test_what_is_no_reference_says_why(written: Any, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_reference(written)
    assert said.lower() in str(refused.value).lower()


WORDS = st.text(st.sampled_from("ab./-@:~ \\\0\n$*{}%é"), max_size=24)


@given(WORDS)
def test_nothing_leads_out_or_is_an_option(written: str) -> None:
    """Whatever is written: what is passed to a command, or opened, is a plain word below the root."""
    try:
        found = read_reference(written)
    except Invalid:
        return
    match found:
        case GitReference(url, rev, directory, file):
            assert not url.startswith("-")
            assert not rev.startswith("-")
            assert ".." not in directory.split("/")
            assert "/" not in file
        case OciReference(_, _, _, directory, file):
            assert not directory.startswith("/")
            assert ".." not in directory.split("/")
        case LocalReference(path):
            assert path[0] in "./"
