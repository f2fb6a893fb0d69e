"""Where a configuration is."""

import pytest

from domain.errors import Invalid
from domain.projects.config_place import (
    ConfigSource,
    Elsewhere,
    InRepository,
    auto_devops,
    config_place,
    config_ref,
    config_ref_uri,
)

PLACES = [
    ("", InRepository(".gitlab-ci.yml")),
    ("ci/main.yml", InRepository("ci/main.yml")),
    ("odd@name", InRepository("odd@name")),
    ("a.yml@group/ci", Elsewhere({"project": "group/ci", "file": "a.yml"}, ConfigSource.PROJECT)),
    (
        "ci/a.yaml@group/sub/ci:v1.2",
        Elsewhere({"project": "group/sub/ci", "file": "ci/a.yaml", "ref": "v1.2"}, ConfigSource.PROJECT),
    ),
    ("https://ci.example/a.yml", Elsewhere({"remote": "https://ci.example/a.yml"}, ConfigSource.REMOTE)),
]


@pytest.mark.parametrize(("text", "place"), PLACES)
def test_a_text_names_a_place(text: str, place: InRepository | Elsewhere) -> None:
    assert config_place(text) == place


@pytest.mark.parametrize("text", ["/etc/passwd", "../x.yml", "a/../../b.yml", "../x.yml@group/ci"])
def test_no_path_leads_out_of_the_tree(text: str) -> None:
    with pytest.raises(Invalid, match="directory traversal"):
        config_place(text)


def test_a_configuration_elsewhere_is_an_include_with_the_inputs_of_the_pipeline() -> None:
    place = config_place("a.yml@group/ci:main")
    assert isinstance(place, Elsewhere)
    assert place.document({}) == {"include": [{"project": "group/ci", "file": "a.yml", "ref": "main"}]}
    assert place.document({"level": 3})["include"][0]["inputs"] == {"level": 3}
    assert auto_devops().document({}) == {"include": [{"template": "Auto-DevOps.gitlab-ci.yml"}]}


@pytest.mark.parametrize(
    ("text", "source", "found"),
    [
        ("", "", ".gitlab-ci.yml@refs/heads/main"),
        ("ci/main.yml", ConfigSource.REPOSITORY, "ci/main.yml@refs/heads/main"),
        ("a.yml@group/ci", "", ""),
        ("https://ci.example/a.yml", "", ""),
        ("", ConfigSource.AUTO_DEVOPS, ""),
        ("", ConfigSource.BRIDGE, ""),
    ],
)
def test_only_a_file_of_the_commit_has_a_ref(text: str, source: str, found: str) -> None:
    assert config_ref(text, source, "refs/heads/main") == found


def test_an_address_of_a_configuration() -> None:
    uri = config_ref_uri("ci.example:8443", "group/project", "ci.yml@refs/tags/v1")
    assert uri == "ci.example:8443/group/project//ci.yml@refs/tags/v1"
