"""Why a part cannot be used, from what libraries write."""

import errno
import os

import pytest

from cli.plain_reasons import MAX_LENGTH, NOBODY, reason_of, sentence_of


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("[Errno 111] Connect call failed ('127.0.0.1', 5432)", NOBODY),
        (
            "Failed client connect: tonic::transport::Error(Transport, Os { code: 111, kind: ConnectionRefused })",
            NOBODY,
        ),
        ("Generic S3 error: Error performing PUT after 4 retries - HTTP error: error sending request", NOBODY),
        ("[Errno -2] Name or service not known", "there is no such host"),
        ("invalid peer certificate: UnknownIssuer", "its certificate is not accepted"),
        ("(sqlite3.DatabaseError) file is not a database\n[SQL: PRAGMA]", "the file is damaged, or no SQLite database"),
        ('password authentication failed for user "u"', "it refuses who we say we are"),
        ("No module named 'MySQLdb'", "that is no kind of address we know"),
        ("(some.library.Error) the moon is full\nand more", "the moon is full"),
        ("x" * 1_000, "x" * MAX_LENGTH),
        ("", "it failed without a word"),
    ],
)
def test_the_words_of_libraries_become_plain_ones(written: str, reason: str) -> None:
    assert reason_of(RuntimeError(written)) == reason


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENOSPC, errno.EDQUOT])
def test_what_the_system_refuses_is_told_with_what_to_do(number: int) -> None:
    said = sentence_of(OSError(number, os.strerror(number), "/srv/home"))
    assert said.startswith(f"/srv/home: {os.strerror(number).lower()}. ")
    assert "or choose another place: PERDURE_HOME" in said


def test_what_nobody_can_advise_on_is_told_as_it_is() -> None:
    assert sentence_of(OSError(errno.EIO, "Input/output error", "/srv/home")) == "/srv/home: input/output error."
    assert sentence_of(OSError("the moon is full")) == "the moon is full"
