"""Messages for chats: the document that an incoming webhook of Slack or Mattermost takes.

Its fields are those of GitLab's Slack notifications: `text`, `username`, `channel` and one attachment.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from domain.notifications.content import Content, Fact, FailedJob
from domain.notifications.integrations import Slug, Wishes, channel_of
from domain.notifications.occasions import Occasion
from domain.notifications.plain_words import for_mattermost, for_slack

Escape: TypeAlias = Callable[[str], str]

_GOOD, _BAD, _WARNING, _PLAIN = "good", "danger", "warning", "#345"
COLOURS: Final[Mapping[Occasion, str]] = {
    Occasion.PIPELINE_FAILED: _BAD,
    Occasion.PIPELINE_FIXED: _GOOD,
    Occasion.PIPELINE_SUCCEEDED: _GOOD,
    Occasion.DEPLOYMENT_SUCCEEDED: _GOOD,
    Occasion.DEPLOYMENT_FAILED: _BAD,
    Occasion.DEPLOYMENT_CANCELED: _WARNING,
    Occasion.APPROVED: _GOOD,
    Occasion.MERGED: _GOOD,
    Occasion.APPROVAL_NEEDED: _WARNING,
    Occasion.AUTO_MERGE_FAILED: _BAD,
}
_ESCAPES: Final[Mapping[Slug, Escape]] = {Slug.SLACK: for_slack, Slug.MATTERMOST: for_mattermost}
_SAFE: Final = ":/?#@!$&'*+,;=%~-._"
"""Characters of addresses; the rest, `<`, `>` and `|` among them, would end a link."""


def document(slug: Slug, wishes: Wishes, content: Content, at: datetime) -> dict[str, Any]:
    """What is posted."""
    escape = _ESCAPES[slug]
    headline = escape(content.headline)
    project = _link(content.project_url, escape(content.project))
    reason = [escape(content.reason)] if content.reason else []
    more = [f"and {content.more_jobs} more"] if content.more_jobs else []
    attachment = {
        "fallback": f"{escape(content.project)}: {headline}",
        "color": COLOURS.get(content.occasion, _PLAIN),
        "title": headline,
        "title_link": content.url,
        "text": "\n".join([*reason, *(_job(job, escape) for job in content.jobs), *more]),
        "fields": [_field(fact, escape) for fact in content.facts],
        "mrkdwn_in": ["text", "fields"],
        "footer": escape(content.project),
        "ts": int(at.timestamp()),
    }
    found: dict[str, Any] = {"text": f"{project}: {_link(content.url, headline)}", "attachments": [attachment]}
    named = {"username": wishes.username, "channel": channel_of(wishes, content.occasion)}
    return found | {name: value for name, value in named.items() if value}


def _link(url: str, text: str) -> str:
    return f"<{quote(url, safe=_SAFE).replace('&', '&amp;')}|{text}>"


def _field(fact: Fact, escape: Escape) -> dict[str, Any]:
    value = escape(fact.value)
    return {"title": fact.name, "value": _link(fact.url, value) if fact.url else value, "short": True}


def _job(job: FailedJob, escape: Escape) -> str:
    return f"{_link(job.url, escape(job.name))} ({escape(job.stage)}): {escape(job.why)}"
