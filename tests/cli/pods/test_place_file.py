"""The variables of a pod of another home, in a file."""

from pathlib import Path

import pytest

from cli.pods.place_file import read_place
from domain.errors import Invalid

GOOD = """\
# The second pod.
PERDURE_POD=seven
export PERDURE_POD_NUMBER=7
PERDURE_HOME="/srv/perdure seven"
PERDURE_DATABASE_URL='postgresql+asyncpg://seven:pass#word@db/seven?x=$HOME'

PERDURE_LOG_LEVEL=INFO
PERDURE_IMAGE=registry.example/perdure
PERDURE_DIRECTORY_URL=http://directory:8938
POSTGRES_PASSWORD=of something else
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "seven.env"
    file.write_text(text)
    return file


def test_what_a_pods_own_environment_file_says_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing of the environment in which the command runs: that is another pod's."""
    for name in ("OBJECT_STORE", "TEMPORAL_ADDRESS", "REPOSITORIES", "SECRETS_KEY"):
        monkeypatch.setenv(f"PERDURE_{name}", "of-this-one")
    settings = read_place(written(tmp_path, GOOD))
    assert (settings.pod, settings.pod_number, str(settings.home)) == ("seven", 7, "/srv/perdure seven")
    assert settings.database_url == "postgresql+asyncpg://seven:pass#word@db/seven?x=$HOME"
    assert "of-this-one" not in f"{settings.object_store} {settings.temporal_address} {settings.repositories}"
    assert settings.secrets_key != "of-this-one"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "PERDURE_POD=seven\nPERDURE_DATABSE_URL=x\n",
            "DATABSE_URL; PERDURE_DATABASE_URL is meant?",
        ),
        ("PERDURE_POD_NUMBER=7\n", "PERDURE_POD is missing"),
        ("PERDURE_POD=\n", "PERDURE_POD is missing"),
        ("PERDURE_POD=seven\nPERDURE_POD_NUMBER=many\n", "PERDURE_POD_NUMBER: Input should be a valid integer"),
        ("", "PERDURE_POD is missing"),
    ],
)
def test_a_mistake_is_named_with_its_file(tmp_path: Path, text: str, fault: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(Invalid) as refused:
        read_place(file)
    assert str(file) in str(refused.value)
    assert fault in str(refused.value)


@pytest.mark.parametrize("name", ["missing.env", "."])
def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path, name: str) -> None:
    with pytest.raises(Invalid, match="there is no such file"):
        read_place(tmp_path / name)


def test_a_file_that_is_no_text_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "seven.env"
    file.write_bytes(b"PERDURE_POD=\xff\xfe")
    with pytest.raises(Invalid, match="cannot be read"):
        read_place(file)
