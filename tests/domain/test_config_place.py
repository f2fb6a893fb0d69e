"""Where a configuration is."""

import pytest

from domain.config_place import ConfigSource, Elsewhere, InRepository, auto_devops, config_place
from domain.errors import Invalid

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
def test_a_text_names_a_place(text, place):
    assert config_place(text) == place


@pytest.mark.parametrize("text", ["/etc/passwd", "../x.yml", "a/../../b.yml", "../x.yml@group/ci"])
def test_no_path_leads_out_of_the_tree(text):
    with pytest.raises(Invalid, match="directory traversal"):
        config_place(text)


def test_a_configuration_elsewhere_is_an_include_with_the_inputs_of_the_pipeline():
    place = config_place("a.yml@group/ci:main")
    assert place.document({}) == {"include": [{"project": "group/ci", "file": "a.yml", "ref": "main"}]}
    assert place.document({"level": 3})["include"][0]["inputs"] == {"level": 3}
    assert auto_devops().document({}) == {"include": [{"template": "Auto-DevOps.gitlab-ci.yml"}]}
