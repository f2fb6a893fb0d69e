"""Parts of component addresses, and the choice among releases."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from domain.errors import Invalid
from includes.components import highest, is_range, is_release, read_address


def test_parts_of_an_address() -> None:
    address = read_address("CI.example:8929/group/sub/project/secret-scan@v1.0.0")
    assert (address.host, address.project) == ("ci.example:8929", "group/sub/project")
    assert (address.name, address.version) == ("secret-scan", "v1.0.0")
    assert address.paths == ("templates/secret-scan.yml", "templates/secret-scan/template.yml")
    assert address.error("content not found") == (
        "component 'CI.example:8929/group/sub/project/secret-scan@v1.0.0' - content not found"
    )


@pytest.mark.parametrize("version", ["feature/a", "~latest", "1", "0" * 40])
def test_version_may_be_any_ref(version: str) -> None:
    assert read_address(f"host/g/p/name@{version}").version == version


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host/g/p/name",
        "host/g/p/name@",
        "host/g/p/name@1@2",
        "host/p/name@1",
        "host/name@1",
        "/g/p/name@1",
        "host/g/p/@1",
        "host/g/p/..@1",
        "host/g/p/.hidden@1",
        "host/g/p/na me@1",
        "host/g/p/na\nme@1",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(Invalid, match="unsupported path; write it as"):
        read_address(text)


TAGS = ["v1.2.0", "1.10.0", "1.9.9", "2.0.0-rc.1", "release", "1.3", "01.0.0", "2.0.0-alpha", "0.9.0+build", "10.0"]


@pytest.mark.parametrize(
    ("version", "tag"),
    [("~latest", "1.10.0"), ("1", "1.10.0"), ("1.2", "v1.2.0"), ("1.9", "1.9.9"), ("0", "0.9.0+build"), ("2", None)],
)
def test_highest_release_of_a_range(version: str, tag: str | None) -> None:
    assert is_range(version)
    assert highest(TAGS, version) == tag
    assert highest(reversed(TAGS), version) == tag


@pytest.mark.parametrize("version", ["1.2.3", "v1", "main", "latest", "1.", "", "1.2.x", "٣"])
def test_exact_versions_are_no_ranges(version: str) -> None:
    assert not is_range(version)


def test_releases_are_full_versions() -> None:
    assert [tag for tag in TAGS if is_release(tag)] == [
        "v1.2.0",
        "1.10.0",
        "1.9.9",
        "2.0.0-rc.1",
        "2.0.0-alpha",
        "0.9.0+build",
    ]


@given(some.lists(some.tuples(*[some.integers(0, 10**17)] * 3), min_size=1))
def test_latest_is_the_largest_of_its_numbers(versions: list[tuple[int, int, int]]) -> None:
    tags = [".".join(map(str, numbers)) for numbers in versions]
    assert highest(tags, "~latest") == ".".join(map(str, max(versions)))


@given(some.text(alphabet="ab1/@.:~ \n-"))
def test_reader_takes_an_address_whole_or_not_at_all(text: str) -> None:
    try:
        address = read_address(text)
    except Invalid:
        return
    assert f"{address.host}/{address.project}/{address.name}@{address.version}" == text
