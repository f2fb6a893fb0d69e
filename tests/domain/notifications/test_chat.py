"""Documents for chats: GitLab's fields, and foreign text in them that is text."""

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.notifications.chat import document
from domain.notifications.content import FailedJob, Person
from domain.notifications.integrations import Slug, Wishes
from domain.notifications.occasions import Occasion
from domain.notifications.words import Place, ToldMergeRequest, ToldPipeline, of_merge_request, of_pipeline

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PLACE = Place("acme/tool", "https://ci.example/acme/tool")
HOSTILE = (
    "<!channel> <!here> <@U123> <https://evil.example|click> @channel @here @all &lt;!everyone&gt; "
    "![x](https://evil.example/x.png) [y](https://evil.example) `code` *bold* \u202ereversed\u2066 \x07\n> quote"
)


def pipeline(text: str, **values: Any) -> ToldPipeline:
    page = f"{PLACE.url}/-/pipelines/7"
    commit = f"{PLACE.url}/-/commit/abc"
    return ToldPipeline(7, text, False, "abc12345ff", text, page, commit, Person(text, "ada"), **values)


def test_fields_are_those_of_gitlab() -> None:
    job = FailedJob("test", "check", "Its script failed.", f"{PLACE.url}/-/jobs/9")
    told = pipeline("main", seconds=3725, failed=[job], failed_count=1)
    content = of_pipeline(Occasion.PIPELINE_FAILED, PLACE, told)
    wishes = Wishes(username="Perdure", channel="#all", pipeline_channel="#ci")
    found = document(Slug.SLACK, wishes, content, AT)
    assert found == {
        "text": "<https://ci.example/acme/tool|acme/tool>: <https://ci.example/acme/tool/-/pipelines/7|"
        "Pipeline #7 of branch main by main has failed in 1:02:05>",
        "username": "Perdure",
        "channel": "#ci",
        "attachments": [
            {
                "fallback": "acme/tool: Pipeline #7 of branch main by main has failed in 1:02:05",
                "color": "danger",
                "title": "Pipeline #7 of branch main by main has failed in 1:02:05",
                "title_link": "https://ci.example/acme/tool/-/pipelines/7",
                "text": "<https://ci.example/acme/tool/-/jobs/9|test> (check): Its script failed.",
                "fields": [
                    {"title": "Branch", "value": "main", "short": True},
                    {
                        "title": "Commit",
                        "value": "<https://ci.example/acme/tool/-/commit/abc|abc12345 main>",
                        "short": True,
                    },
                    {"title": "Triggered by", "value": "main", "short": True},
                ],
                "mrkdwn_in": ["text", "fields"],
                "footer": "acme/tool",
                "ts": 1767323045,
            }
        ],
    }


def texts(found: Any) -> list[str]:
    if isinstance(found, dict):
        return [text for value in found.values() for text in texts(value)]
    if isinstance(found, list):
        return [text for value in found for text in texts(value)]
    return [found] if isinstance(found, str) else []


@pytest.mark.parametrize("slug", [Slug.SLACK, Slug.MATTERMOST])
def test_foreign_text_is_text(slug: Slug) -> None:
    job = FailedJob(HOSTILE, HOSTILE, HOSTILE, f"{PLACE.url}/-/jobs/9")
    contents = [
        of_pipeline(Occasion.PIPELINE_FAILED, PLACE, pipeline(HOSTILE, failed=[job], failed_count=1, reason=HOSTILE)),
        of_merge_request(
            Occasion.MERGED,
            PLACE,
            ToldMergeRequest(1, HOSTILE, HOSTILE, HOSTILE, PLACE.url, Person(HOSTILE), Person(HOSTILE), HOSTILE),
        ),
    ]
    for content in contents:
        for text in texts(document(slug, Wishes(), content, AT)):
            for ours in (PLACE.url, "acme/tool"):
                text = text.replace(f"<{ours}", "[").replace("/-/pipelines/7|", "").replace("/-/commit/abc|", "")
            assert "<!" not in text
            assert "<@" not in text
            assert "<https" not in text
            assert "@c" not in text
            assert "@h" not in text
            assert "@a" not in text
            assert not set("\u202e\u2066\x07") & set(text)
            if slug is Slug.MATTERMOST:
                assert "![" not in text
                assert "](" not in text
                assert "`" not in text.replace(r"\`", "")


def test_links_stay_links_whatever_is_in_an_address() -> None:
    place = Place("a/b", "https://ci.example/a/b|c>d e")
    content = of_pipeline(Occasion.PIPELINE_FIXED, place, pipeline("main"))
    text = document(Slug.SLACK, Wishes(), content, AT)["text"]
    assert text.startswith("<https://ci.example/a/b%7Cc%3Ed%20e|a/b>: ")
