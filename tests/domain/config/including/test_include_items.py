"""The forms of an item of `include`, wildcards and hashes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.config.including.include_items import HEADER_KINDS, KINDS, IncludeItem, IncludeKind, read_items
from domain.config.including.integrity import integrity_of
from domain.config.including.wildcards import MAX_STARS, is_too_long, matching
from domain.config.reading.field import Field
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.config.rules.globs import PathText
from domain.errors import ConfigInvalid

HASH = integrity_of("a: {script: x}\n")


def items(text: str, kinds: tuple[IncludeKind, ...] = KINDS) -> tuple[IncludeItem, ...]:
    """The items of `include`, in flow style; raises `ConfigInvalid`."""
    issues = Issues("ci.yml")
    root = read(f"include: {text}", issues).root
    found = read_items(Field(root["include"], "include", "include config", root.places["include"], issues), kinds)
    issues.raise_if_any()
    return found


def messages(text: str, kinds: tuple[IncludeKind, ...] = KINDS) -> list[str]:
    """What is wrong with the items."""
    with pytest.raises(ConfigInvalid) as caught:
        items(text, kinds)
    return [issue.message for issue in caught.value.issues]


@pytest.mark.parametrize(
    ("text", "kind", "address"),
    [
        ("a.yml", None, "a.yml"),
        ("[a.yml]", None, "a.yml"),
        ("{local: /a.yml}", "local", "/a.yml"),
        ("{remote: 'https://x.org/a.yml', cache: true}", "remote", "https://x.org/a.yml"),
        ("{remote: 'https://x.org/a.yml', cache: 2 hours}", "remote", "https://x.org/a.yml"),
        ("{template: A.gitlab-ci.yml}", "template", "A.gitlab-ci.yml"),
        ("{component: host/a/b@1}", "component", "host/a/b@1"),
        ("{local: a.yml, remote: null}", "local", "a.yml"),
    ],
)
def test_one_kind_and_its_address(text: str, kind: str | None, address: str) -> None:
    (item,) = items(text)
    assert (item.kind, item.address) == (kind, address)


def test_what_belongs_to_a_project() -> None:
    one, several = items("[{project: g/p, file: /a.yml}, {project: g/p, file: [a.yml, b.yml], ref: v1}]")
    assert (one.kind, one.address, one.files, one.ref) == ("project", "g/p", ("/a.yml",), "")
    assert (several.files, several.ref) == (("a.yml", "b.yml"), "v1")


def test_what_belongs_to_an_artifact_and_a_remote_file() -> None:
    artifact, remote = items(f"[{{artifact: a.yml, job: make}}, {{remote: 'https://x/a.yml', integrity: {HASH}}}]")
    assert (artifact.kind, artifact.job) == ("artifact", "make")
    assert remote.integrity == HASH


@pytest.mark.parametrize("text", ["null", "[]", "[{local: a.yml, inputs: null, rules: null}]"])
def test_nothing_and_null_are_right(text: str) -> None:
    assert len(items(text)) == text.count("local")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("''", "include config can't be blank"),
        ("{local: ' '}", "include local can't be blank"),
        ("7", "include config should be a string, a hash, or an array of strings and hashes"),
        ("[[a.yml]]", "include config should be a string, a hash, or an array of strings and hashes"),
        ("!reference [x]", "include config cannot use `!reference`"),
        (
            "{local: a.yml, remote: 'https://x/b.yml'}",
            "one of: local, project, remote, template, component, artifact; this one has local and remote",
        ),
        ("{}", "does not have a valid subkey for include. Each include must use only one of: local, project, remote"),
        ("{file: a.yml}", "`file` does not have a valid subkey for include"),
        ("{local: 7}", "Included file `7` needs to be a string"),
        ("{local: [a.yml]}", "Included file `...` needs to be a string"),
        ("{project: g/p}", "include config must specify the file where to fetch the config from"),
        ("{project: g/p, file: []}", "include config must specify the file where to fetch the config from"),
        ("{project: g/p, file: [1]}", "Included file `1` needs to be a string"),
        ("{project: g/p, file: a.yml, ref: 1.0}", "Included file `1.0` needs to be a string"),
        ("{artifact: a.yml}", "include config must specify the job where to fetch the artifact from"),
        ("{local: a.yml, inputs: [a]}", "include:inputs config should be a hash"),
        ("{remote: 'https://x/a.yml', cache: soon}", "include cache should be a duration"),
        ("{remote: 'https://x/a.yml', integrity: md5-AAAA}", "include integrity hash must start with 'sha256-'"),
        ("{remote: 'https://x/a.yml', integrity: sha256-*}", "include integrity hash must be base64 encoded"),
        ("{remote: 'https://x/a.yml', integrity: sha256-AAAA}", "include integrity hash must be base64 encoded"),
    ],
)
def test_refusals(text: str, said: str) -> None:
    found = messages(text)
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{local: a.yml, input: {}}", "contains `input`, which means nothing here; did you mean `inputs`?"),
        ("{local: a.yml, ref: v1}", "contains `ref`, which is only for `project` and without effect here"),
        (f"{{local: a.yml, integrity: {HASH}}}", "contains `integrity`, which is only for `remote`"),
        ("[null, a.yml]", "has an item without content, which includes nothing"),
    ],
)
def test_what_means_nothing_is_warned_of(text: str, said: str) -> None:
    issues = Issues("ci.yml")
    root = read(f"include: {text}", issues).root
    (item,) = read_items(Field(root["include"], "include", "include config", root.places["include"], issues))
    assert item.address == "a.yml"
    assert item.ref == item.integrity == ""
    (warning,) = issues.warnings
    assert said in warning.message


def test_every_wrong_item_is_told() -> None:
    assert len(messages("[{}, {local: 1}, a.yml, {project: g/p}]")) == 3


def test_a_header_includes_less() -> None:
    assert [item.kind for item in items("[a.yml, {project: g/p, file: a.yml}]", HEADER_KINDS)] == [None, "project"]
    for text in ("{template: A.gitlab-ci.yml}", "{local: a.yml, inputs: {}}", "{local: a.yml, rules: []}"):
        assert any("contains unknown keys" in message for message in messages(text, HEADER_KINDS))


PATHS = ("a.yml", "ci/a.yml", "ci/b.yaml", "ci/x/a.yml", "ci/x/y/a.yml", ".hidden.yml", "ci.yml/z")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.yml", "a.yml .hidden.yml"),
        ("**.yml", "a.yml ci/a.yml ci/x/a.yml ci/x/y/a.yml .hidden.yml"),
        ("**/*.yml", "ci/a.yml ci/x/a.yml ci/x/y/a.yml"),
        ("ci/*.yml", "ci/a.yml"),
        ("ci/*/*.yml", "ci/x/a.yml"),
        ("ci/**/*.yml", "ci/x/a.yml ci/x/y/a.yml"),
        ("ci/**.yml", "ci/a.yml ci/x/a.yml ci/x/y/a.yml"),
        ("ci/**/a.yml", "ci/x/a.yml ci/x/y/a.yml"),
        ("ci/**/y/*", "ci/x/y/a.yml"),
        ("*/a.*", "ci/a.yml"),
        ("ci/[ab].y*", ""),
        ("c*i/a.yml", "ci/a.yml"),
        ("ci/a.yml*l", ""),
        ("***", " ".join(PATHS)),
    ],
)
def test_wildcards(pattern: str, found: str) -> None:
    assert matching(pattern, PathText.of(PATHS)) == found.split()


@given(st.text("a/*", max_size=6).filter(lambda text: "*" in text), st.text("a/", max_size=6))
def test_wildcards_match_as_the_definition_says(pattern: str, path: str) -> None:
    assert matching(pattern, PathText.of([path])) == ([path] if defined(pattern, path) else [])


def defined(pattern: str, path: str) -> bool:
    """What wildcards mean, tried out in every way."""
    if not pattern:
        return not path
    if pattern.startswith("**"):
        return any(defined(pattern[2:], path[start:]) for start in range(len(path) + 1))
    if pattern[0] == "*":
        name = path.partition("/")[0]
        return any(defined(pattern[1:], path[start:]) for start in range(len(name) + 1))
    return path[:1] == pattern[0] and defined(pattern[1:], path[1:])


def test_wildcards_are_limited() -> None:
    assert not is_too_long("*" * MAX_STARS)
    assert is_too_long("*" * (MAX_STARS + 1))
    assert is_too_long("*" + "a" * 2_000)


def test_hashes_are_those_of_web_pages() -> None:
    assert integrity_of("abc") == "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
