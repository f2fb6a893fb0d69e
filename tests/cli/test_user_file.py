"""The user file and the project file."""

from pathlib import Path

import pytest

from cli.project_file import ProjectFile, read_project_file
from cli.user_file import Login, UserFile, changing, is_private, read_user_file, user_file_path
from domain.errors import Invalid

ONE, OTHER = "https://one.example", "https://other.example/perdure"


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    assert read_user_file(path) == UserFile()
    with changing(path) as held:
        held[0] = held[0].with_login(ONE, Login('a"b\\c', "ada"), make_default=True)
    with changing(path) as held:
        held[0] = held[0].with_login(OTHER, Login("t"), make_default=False)
    found = read_user_file(path)
    assert found == UserFile({ONE: Login('a"b\\c', "ada"), OTHER: Login("t")}, ONE)
    assert is_private(path)
    with changing(path) as held:
        held[0] = held[0].without(ONE)
    assert read_user_file(path) == UserFile({OTHER: Login("t")}, OTHER)


def test_an_error_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    with changing(path) as held:
        held[0] = held[0].with_login(ONE, Login("t"), make_default=True)
    before = path.read_bytes()

    def fail() -> None:
        with changing(path) as held:
            held[0] = UserFile()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["default = ", "servers = 1", "[servers.'http://x']\n", "[servers.x]\ntoken = 1\n"])
def test_a_file_that_is_wrong_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(Invalid, match=str(path)):
        read_user_file(path)


def test_where_the_file_is() -> None:
    assert user_file_path({"PERDURE_CONFIG": "/a/b"}) == Path("/a/b")
    assert user_file_path({"XDG_CONFIG_HOME": "/x"}) == Path("/x/perdure/config.toml")
    assert user_file_path({}).parts[-3:] == (".config", "perdure", "config.toml")


def test_a_token_is_not_shown_by_accident() -> None:
    assert "glpat" not in repr(UserFile({ONE: Login("glpat-secret")}))


def test_the_project_file(tmp_path: Path) -> None:
    assert read_project_file(tmp_path) == ProjectFile()
    file = tmp_path / ".perdure.toml"
    file.write_text('server = "https://one.example/"\nproject = "group/name"\n')
    assert read_project_file(tmp_path) == ProjectFile(ONE, "group/name")
    for text, words in (('token = "t"', "holds a token"), ("sever = 'x'", "sever"), ("project = 1", "texts")):
        file.write_text(text)
        with pytest.raises(Invalid, match=words):
            read_project_file(tmp_path)
