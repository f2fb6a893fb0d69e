"""What a repository is written in."""

from pathlib import Path

import pytest

from git.reading.languages import MAX_LANGUAGES, language_of, languages_of
from git.repository import Repository
from tests.git.serving import git


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("main.py", "python"),
        ("main.pyi", "python"),
        ("app.ts", "typescript"),
        ("app.tsx", "typescript"),
        ("run.sh", "shell"),
        ("main.tf", "hcl"),
        ("Dockerfile", "dockerfile"),
        ("Makefile", "makefile"),
        ("a.cpp", "c++"),
        ("a.h", "c"),
        ("analysis.ipynb", "jupyter notebook"),
        ("README.md", ""),
        (".gitlab-ci.yml", ""),
        ("package.json", ""),
        ("logo.svg", ""),
        ("logo.png", ""),
        ("uv.lock", ""),
        ("LICENSE", ""),
        ("query.sql", ""),
        ("what.ever", ""),
    ],
)
def test_a_file_is_known_by_its_name(name: str, language: str) -> None:
    assert language_of(name) == language


async def test_the_languages_of_most_bytes_are_told(tmp_path: Path) -> None:
    tree, bare = tmp_path / "tree", tmp_path / "bare.git"
    await git("init", "-q", "-b", "main", tree, cwd=tmp_path)
    files = {"a/one.py": 30, "a/two.py": 30, "b.go": 50, "c.rb": 40, "d.js": 20, "e.sh": 10, "f.c": 5, "data.json": 900}
    for name, size in files.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("x" * size)
    (tree / "link.py").symlink_to("b.go")
    await git("add", ".", cwd=tree)
    await git("commit", "-qm", "Files", cwd=tree)
    await git("clone", "-q", "--bare", tree, bare, cwd=tmp_path)
    sha = await git("rev-parse", "HEAD", cwd=tree)
    assert await languages_of(Repository(bare), sha) == ("python", "go", "ruby", "javascript", "shell")
    assert await languages_of(Repository(bare), "0" * 40) == ()
    assert MAX_LANGUAGES == 5
