"""Patterns of artifacts: what they match, and that they match nothing outside."""

from pathlib import Path

import pytest

from domain.errors import Invalid
from fleet.globs import excluded, find_files

FILES = ("a.txt", "b.xml", "dir/a.txt", "dir/sub/c.xml", "dir/sub/.hidden", ".git/config", "x[1].txt", "über/ß.txt")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("secret")
    (root / "leads-out").symlink_to(tmp_path / "outside")
    (root / "link.txt").symlink_to("a.txt")
    return root


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a.txt", ["a.txt"]),
        ("./dir/", ["dir/", "dir/a.txt", "dir/sub/", "dir/sub/.hidden", "dir/sub/c.xml"]),
        ("*.txt", ["a.txt", "link.txt", "x[1].txt"]),
        ("**/*.xml", ["b.xml", "dir/sub/c.xml"]),
        ("dir/**", ["dir/", "dir/a.txt", "dir/sub/", "dir/sub/.hidden", "dir/sub/c.xml"]),
        ("d*", ["dir/", "dir/a.txt", "dir/sub/", "dir/sub/.hidden", "dir/sub/c.xml"]),
        ("{a,b}.*", ["a.txt", "b.xml"]),
        ("[ab].???", ["a.txt", "b.xml"]),
        ("[!a].xml", ["b.xml"]),
        ("über/*", ["über/ß.txt"]),
        (".git/config", [".git/config"]),
        ("missing", []),
        ("../outside/secret.txt", []),
        ("/etc/passwd", []),
        ("leads-out/secret.txt", []),
        ("leads-out/*", []),
        ("leads-out", ["leads-out"]),
    ],
)
def test_find_files(root: Path, pattern: str, found: list[str]) -> None:
    assert find_files(root, pattern) == found


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("{a", "stands alone"),
        ("a}", "stands alone"),
        ("[a", "stands alone"),
        ("a\\", "stands alone"),
        ("{a,b}" * 12, "1000"),
    ],
)
def test_what_is_no_pattern_is_told(root: Path, pattern: str, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        find_files(root, pattern)
    assert excluded(["a"], root, [pattern]) == set()


def test_everything_but_the_repository(root: Path) -> None:
    found = find_files(root, ".")
    assert "dir/sub/c.xml" in found
    assert not any(name.startswith(".git/") for name in found)
    assert "leads-out/secret.txt" not in found


def test_absolute_pattern_inside(root: Path) -> None:
    assert find_files(root, f"{root}/dir/a.txt") == ["dir/a.txt"]


def test_excluded(root: Path) -> None:
    names = find_files(root, "dir")
    assert excluded(names, root, ["dir/sub"]) == {"dir/sub/"}
    assert excluded(names, root, ["dir/sub/**"]) == {"dir/sub/", "dir/sub/c.xml", "dir/sub/.hidden"}
    assert excluded(names, root, ["**/*.xml"]) == {"dir/sub/c.xml"}
    assert excluded(names, root, ["../x"]) == set()
