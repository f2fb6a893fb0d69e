"""Where the socket is, and whose."""

import socket
from pathlib import Path

import pytest

from domain.errors import Invalid, Refused
from steps.socket_place import VARIABLE, opened, socket_path


@pytest.mark.parametrize(
    ("environment", "user", "path"),
    [
        ({}, 0, "/run/perdure/step-runner.sock"),
        ({VARIABLE: "/x/y.sock"}, 0, "/x/y.sock"),
        ({"XDG_RUNTIME_DIR": "/run/user/7"}, 7, "/run/user/7/perdure/step-runner.sock"),
        ({}, 7, "/tmp/perdure-7/step-runner.sock"),
        ({"TMPDIR": "/scratch"}, 7, "/scratch/perdure-7/step-runner.sock"),
    ],
)
def test_places(environment: dict[str, str], user: int, path: str) -> None:
    assert socket_path(environment, user) == Path(path)


def test_what_a_killed_one_has_left_is_taken_and_what_lives_is_not(tmp_path: Path) -> None:
    path = tmp_path / "private/s"
    with opened(path) as listening:
        assert listening.getsockname() == str(path)
        with pytest.raises(Refused, match=r"listens at .* already"), opened(path):
            pass
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
    assert not path.exists()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with opened(path):
        pass


def test_a_file_or_a_link_in_its_place_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "private/s"
    path.parent.mkdir(mode=0o700)
    path.write_text("mine")
    with pytest.raises(Invalid, match="no socket"), opened(path):
        pass
    assert path.read_text() == "mine"
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Invalid, match="no socket"), opened(path):
        pass
    assert path.is_symlink()


def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    for mode in (0o755, 0o710, 0o701):
        folder = tmp_path / f"{mode:o}"
        folder.mkdir()
        folder.chmod(mode)
        with pytest.raises(Invalid, match="mode 0700"), opened(folder / "s"):
            pass
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir(mode=0o700)
    with pytest.raises(Invalid, match="mode 0700"), opened(tmp_path / "link/s"):
        pass
    assert list((tmp_path / "real").iterdir()) == []


def test_a_path_that_is_too_long_says_so(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="at most 107 bytes"), opened(tmp_path / ("x" * 120)):
        pass
