"""Integrations of a project that are told what happens: Slack, Mattermost, and pipelines by e-mail to a list.

Source of the rules: GitLab's documentation of the integrations API ("Slack notifications", "Mattermost notifications",
"Pipeline status emails"); its `BaseChatNotification` and `PipelinesEmail`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from domain.errors import Invalid
from domain.notifications.occasions import DEPLOYMENTS, MERGE_REQUESTS, PIPELINES, Occasion


class Slug(StrEnum):
    """An integration, as addresses name it."""

    SLACK = "slack"
    MATTERMOST = "mattermost"
    PIPELINES_EMAIL = "pipelines-email"


TITLES: Final[Mapping[Slug, str]] = {
    Slug.SLACK: "Slack notifications",
    Slug.MATTERMOST: "Mattermost notifications",
    Slug.PIPELINES_EMAIL: "Pipeline status emails",
}
CHATS: Final = frozenset({Slug.SLACK, Slug.MATTERMOST})
MAX_ADDRESSES: Final = 750
"""Recipients of pipelines by e-mail: GitLab's limit is as large."""


class Branches(StrEnum):
    """Of which branches an integration hears; tags it always hears of."""

    ALL = "all"
    DEFAULT = "default"
    PROTECTED = "protected"
    DEFAULT_AND_PROTECTED = "default_and_protected"


@dataclass(frozen=True, slots=True)
class Wishes:
    """The settings of an integration that are no secret, by GitLab's names; a channel of a kind comes before `channel`.

    Of events that are told of nowhere here (issues, notes, wiki pages ...) there is nothing to set.
    """

    username: str = ""
    channel: str = ""
    pipeline_events: bool = True
    deployment_events: bool = False
    merge_requests_events: bool = True
    pipeline_channel: str = ""
    deployment_channel: str = ""
    merge_request_channel: str = ""
    notify_only_broken_pipelines: bool = True
    branches_to_be_notified: Branches = Branches.DEFAULT
    recipients: tuple[str, ...] = ()
    add_pusher: bool = False

    def document(self) -> dict[str, Any]:
        """As it is stored."""
        names = self.__dataclass_fields__
        plain = {name: getattr(self, name) for name in names}
        return {**plain, "branches_to_be_notified": str(self.branches_to_be_notified), "recipients": [*self.recipients]}


def wishes_of(stored: Mapping[str, Any]) -> Wishes:
    """The settings that are stored; what a later version has stored besides is left out."""
    known = {name: value for name, value in stored.items() if name in Wishes.__dataclass_fields__}
    known["recipients"] = tuple(known.get("recipients", ()))
    known["branches_to_be_notified"] = Branches(known.get("branches_to_be_notified", Branches.DEFAULT))
    return Wishes(**known)


@dataclass(frozen=True, slots=True)
class Ref:
    """The ref that something happened on."""

    name: str = ""
    tag: bool = False
    default: bool = False
    protected: bool = False


_EVENTS: Final = (
    (PIPELINES, "pipeline_events", "pipeline_channel"),
    (DEPLOYMENTS, "deployment_events", "deployment_channel"),
    (MERGE_REQUESTS, "merge_requests_events", "merge_request_channel"),
)
_SILENT: Final = frozenset({Occasion.DEPLOYMENT_WAITING})
"""What chats are not told: it is a question to a few people."""


def hears(slug: Slug, wishes: Wishes, occasion: Occasion, ref: Ref) -> bool:
    """Whether an active integration is told."""
    if occasion is Occasion.TEST:
        return True
    if occasion in _SILENT or (slug is Slug.PIPELINES_EMAIL and occasion not in PIPELINES):
        return False
    if not any(occasion in kind and getattr(wishes, flag) for kind, flag, _ in _EVENTS):
        return False
    if occasion in MERGE_REQUESTS:
        return True
    if occasion in PIPELINES and occasion is not Occasion.PIPELINE_FAILED and wishes.notify_only_broken_pipelines:
        return False
    return _fits(wishes.branches_to_be_notified, ref)


def _fits(branches: Branches, ref: Ref) -> bool:
    answers = {
        Branches.ALL: True,
        Branches.DEFAULT: ref.default,
        Branches.PROTECTED: ref.protected,
        Branches.DEFAULT_AND_PROTECTED: ref.default or ref.protected,
    }
    return ref.tag or answers[branches]


def channel_of(wishes: Wishes, occasion: Occasion) -> str:
    """The channel for an occasion; empty for the one that the webhook leads to."""
    for kind, _, name in _EVENTS:
        if occasion in kind:
            return getattr(wishes, name) or wishes.channel
    return wishes.channel


_ADDRESS: Final = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
"""An e-mail address as browsers check it (HTML, "Valid e-mail address"), of ASCII alone."""
_BETWEEN: Final = re.compile(r"[,\s]+")


def is_address(text: str) -> bool:
    """Whether a text is an e-mail address that something can be sent to."""
    return len(text) <= 254 and ".." not in text and _ADDRESS.fullmatch(text) is not None


def addresses_of(text: str) -> tuple[str, ...]:
    """The addresses of a list with commas, blanks or line ends between. Raises `Invalid` with what is none."""
    found = tuple(dict.fromkeys(part for part in _BETWEEN.split(text) if part))
    if wrong := [part for part in found if not is_address(part)]:
        raise Invalid(f"recipients is invalid: {wrong[0][:100]!r} is not an e-mail address.")
    if len(found) > MAX_ADDRESSES:
        raise Invalid(f"recipients is invalid: at most {MAX_ADDRESSES} addresses.")
    return found


@dataclass(frozen=True, slots=True)
class Channel:
    """The way that a message takes to somebody; `key` tells it from all others of the same event."""

    kind: str
    key: str
    account_id: int | None = None
    integration_id: int | None = None
    address: str = field(default="")


MAIL: Final = "email"
"""Kind of `Channel` of e-mails; those of chats are their slugs."""


def to_person(account_id: int, address: str) -> Channel:
    """By e-mail to somebody with an account. Whoever is on a list besides gets it once."""
    return Channel(MAIL, address.lower(), account_id=account_id)


def to_address(integration_id: int, address: str) -> Channel:
    """By e-mail to an address that an integration names."""
    return Channel(MAIL, address.lower(), integration_id=integration_id, address=address)


def to_chat(slug: Slug, integration_id: int) -> Channel:
    """To a chat."""
    return Channel(str(slug), str(integration_id), integration_id=integration_id)
