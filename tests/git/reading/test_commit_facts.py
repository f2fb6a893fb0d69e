"""What webhooks are told of a commit has a bound, whatever it says."""

from datetime import UTC, datetime

import pytest

from git.reading.commit import Commit
from git.reading.commit_facts import MAX_MESSAGE, describe_commit

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize("title", ["Short", "t" * 1_000_000])
def test_a_message_of_a_megabyte_is_told_in_part(title: str) -> None:
    message = f"{title}\n\n{'b' * 1_000_000}"
    commit = Commit("1" * 40, (), title, message, "Ada", "ada@example.com", NOW, "Ada", "ada@example.com", NOW)
    told = describe_commit(commit)
    assert (told["message"], told["title"]) == (message[:MAX_MESSAGE], title[:MAX_MESSAGE])
    assert told["id"] == "1" * 40
