"""Parameters of webhooks, and the columns that they become."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final, Literal

import httpx
from pydantic import BaseModel, Field

from api.services import Services
from application.hooks.secrets import sealed, sealed_map
from domain.errors import FieldsInvalid, Unprocessable
from domain.hooks.requests import NOT_IN_HEADERS, address_of, check_header, check_variable
from domain.hooks.webhooks import BITS, Event, HookScope, check_branch_filter, flags_of, signing_key
from outbound.addresses import public_or_within
from outbound.post import address_fault

MAX_PAIRS: Final = 20
"""Custom headers, or variables of the address, of one hook; GitLab's limit."""


class Pair(BaseModel):
    """A custom header or a variable of the address."""

    key: str
    value: str


class Changes(BaseModel):
    """Parameters of `PUT .../hooks/:hook_id`; what is not given stays as it is."""

    url: str | None = None
    name: str | None = Field(default=None, max_length=255)
    description: str | None = Field(default=None, max_length=2048)
    token: str | None = Field(default=None, max_length=2048)
    signing_token: str | None = None
    push_events: bool | None = None
    tag_push_events: bool | None = None
    merge_requests_events: bool | None = None
    job_events: bool | None = None
    pipeline_events: bool | None = None
    deployment_events: bool | None = None
    releases_events: bool | None = None
    note_events: bool | None = None
    confidential_note_events: bool | None = None
    repository_update_events: bool | None = None
    push_events_branch_filter: str | None = Field(default=None, max_length=5000)
    branch_filter_strategy: Literal["wildcard", "regex", "all_branches"] | None = None
    enable_ssl_verification: bool | None = None
    custom_headers: list[Pair] | None = Field(default=None, max_length=MAX_PAIRS)
    url_variables: list[Pair] | None = Field(default=None, max_length=MAX_PAIRS)

    def events(self, before: int, scope: HookScope) -> int:
        """The events as stored, from those that are stored now; what hooks of this scope do not hear is passed over."""
        for flag, event in flags_of(scope).items():
            wanted = getattr(self, flag)
            if wanted is not None:
                before = before | BITS[event] if wanted else before & ~BITS[event]
        return before


class NewHook(Changes):
    """Parameters of `POST .../hooks`."""

    url: str


AT_FIRST: Final[Mapping[HookScope, int]] = {
    HookScope.PROJECT: BITS[Event.PUSH],
    HookScope.GROUP: BITS[Event.PUSH],
    HookScope.SYSTEM: BITS[Event.REPOSITORY_UPDATE],
}
"""What a hook hears of unless it says otherwise, as in GitLab."""


def check_url(services: Services, url: str, variables: Mapping[str, str]) -> None:
    """Raise `Unprocessable` for an address that nothing can be posted to."""
    if fault := fault_of_url(services, address_of(url, variables)):
        raise Unprocessable(f"Invalid url given: it {fault}.")


def goes_elsewhere(url: str, before: Mapping[str, str], variables: Mapping[str, str]) -> bool:
    """Whether an address leads elsewhere with these variables. Raises `Unprocessable` where it names one more."""
    return address_of(url, variables) != address_of(url, before)


def fault_of_url(services: Services, url: str) -> str:
    """Why nothing can be posted to an address; empty if it can. Names are looked at when they are called."""
    if fault := address_fault(url):
        return fault
    try:
        address = ip_address(httpx.URL(url).host)
    except ValueError:
        return ""
    if public_or_within(services.settings.outbound_networks)(address):
        return ""
    return "is not on the public internet; an administrator may permit its network (PERDURE_OUTBOUND_NETWORKS)"


def pairs(items: list[Pair] | None) -> dict[str, str]:
    """Names with their values."""
    return {item.key: item.value for item in items or ()}


def columns(
    services: Services, changes: Changes, scope: HookScope, events: int, strategy: str = "wildcard"
) -> dict[str, Any]:
    """The columns to be written; `events` and `strategy` are those before. Raises `Invalid`."""
    plain = {
        "url": changes.url,
        "name": changes.name,
        "description": changes.description,
        "verify_tls": changes.enable_ssl_verification,
        "branch_filter": changes.push_events_branch_filter,
        "branch_filter_strategy": changes.branch_filter_strategy,
    }
    values = {name: value for name, value in plain.items() if value is not None}
    check_branch_filter(changes.branch_filter_strategy or strategy, changes.push_events_branch_filter or "")
    return {**values, **_secrets(services, changes), "events": changes.events(events, scope)}


def _secrets(services: Services, changes: Changes) -> dict[str, str]:
    values: dict[str, str] = {}
    if changes.token is not None:
        if not changes.token.isprintable() or not changes.token.isascii():
            raise FieldsInvalid(token=NOT_IN_HEADERS)
        values["token"] = sealed(services, changes.token)
    if changes.signing_token is not None:
        if changes.signing_token:
            signing_key(changes.signing_token)
        values["signing_token"] = sealed(services, changes.signing_token)
    if changes.custom_headers is not None:
        for item in changes.custom_headers:
            check_header(item.key, item.value)
        values["custom_headers"] = sealed_map(services, pairs(changes.custom_headers))
    if changes.url_variables is not None:
        for item in changes.url_variables:
            check_variable(item.key, item.value)
        values["url_variables"] = sealed_map(services, pairs(changes.url_variables))
    return values
