"""Why a part cannot be used, from what libraries write."""

import pytest

from cli.plain_reasons import MAX_LENGTH, NOBODY, reason_of


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
