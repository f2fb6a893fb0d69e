"""The two tokens of a directory, its database, and what a start finds of both."""

import sqlite3
from pathlib import Path

import pytest

from domain.errors import Invalid, Refused
from pods.directory.server import opened
from pods.directory_tokens import FILE, renew
from tests.pods.directory.served import Served, directory_settings, served, tokens_in


@pytest.fixture
def directory_url() -> str:
    """One kind of database: tokens are in a file, and hashed."""
    return ""


async def status_of(directory: Served, token: str) -> int:
    return (await directory.call("GET", "/v1/directory", token))[0]


async def test_tokens_are_told_once_and_kept_as_hashes(tmp_path: Path) -> None:
    async with served(tmp_path) as directory:
        admin, read = directory.admin, directory.read
    assert oct((tmp_path / FILE).stat().st_mode)[-3:] == "600"
    content = (tmp_path / "directory.db").read_bytes()
    assert b"directory_state" in content
    assert admin.encode() not in content
    assert read.encode() not in content
    kept = (tmp_path / FILE).read_text()
    (tmp_path / FILE).unlink()
    async with opened(directory_settings(tmp_path)):
        assert not (tmp_path / FILE).exists(), "they are good although nobody can read them any more"
    (tmp_path / FILE).write_text(kept)
    async with served(tmp_path) as directory:
        assert [await status_of(directory, token) for token in (admin, read)] == [200, 200]


async def test_new_tokens_end_the_old_ones(tmp_path: Path) -> None:
    async with served(tmp_path) as directory:
        old = (directory.admin, directory.read)
    renew(tmp_path, "http://d")
    assert not set(tokens_in(tmp_path)) & set(old)
    async with served(tmp_path) as directory:
        assert [await status_of(directory, token) for token in (*old, *tokens_in(tmp_path))] == [401, 401, 200, 200]


async def test_a_crash_between_file_and_database_is_made_good(tmp_path: Path) -> None:
    renew(tmp_path, "http://d")  # the file is there, and no database
    async with served(tmp_path) as directory:
        assert await status_of(directory, tokens_in(tmp_path)[0]) == 200


@pytest.mark.parametrize("text", ["", "[]", '{"admin_token": "x"}', '{"admin_token": "x", "read_token": "x"}'])
async def test_a_file_that_is_none_of_ours_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(Invalid, match="admin_token and read_token"):
        async with opened(directory_settings(tmp_path)):
            pass


async def test_a_database_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    async with opened(directory_settings(tmp_path)):
        pass
    with sqlite3.connect(tmp_path / "directory.db") as connection:
        connection.execute("UPDATE directory_state SET schema_number = 4")
    connection.close()
    with pytest.raises(Refused, match="has schema 4, this version of Perdure knows 3"):
        async with opened(directory_settings(tmp_path)):
            pass
