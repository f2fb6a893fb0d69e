"""Webhooks, their deliveries, and links to other forges as GitLab's JSON."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from domain.hooks.webhooks import Event, Health, HookScope, trigger_of, wants
from domain.moments import moment
from models.rows.hooks import CommitReportRow, ForgeLinkRow, HookDeliveryRow, HookRow


class _HolderPart(TypedDict, total=False):
    """Whose it is; nothing for one of the installation."""

    project_id: int
    group_id: int


class _EventsPart(TypedDict):
    """What it hears of, and what hooks of its scope never hear of here."""

    push_events: bool
    tag_push_events: bool
    merge_requests_events: bool
    job_events: NotRequired[bool]
    pipeline_events: NotRequired[bool]
    deployment_events: NotRequired[bool]
    releases_events: NotRequired[bool]
    issues_events: NotRequired[bool]
    confidential_issues_events: NotRequired[bool]
    note_events: NotRequired[bool]
    confidential_note_events: NotRequired[bool]
    wiki_page_events: NotRequired[bool]
    feature_flag_events: NotRequired[bool]
    milestone_events: NotRequired[bool]
    emoji_events: NotRequired[bool]
    resource_access_token_events: NotRequired[bool]
    repository_update_events: bool
    subgroup_events: NotRequired[bool]
    member_events: NotRequired[bool]


class NameResponse(TypedDict):
    """The name of a custom header, or of a variable of the address; its value is not shown."""

    key: str


class _HookBasicsPart(TypedDict):
    """What it is called, and what it calls."""

    id: int
    url: str
    name: str | None
    description: str | None
    created_at: str


class HookResponse(_HookBasicsPart, _HolderPart, _EventsPart):
    """A webhook, in parts in the order in which they are shown.

    One of a project has `project_id`, one of a group `group_id`, one of the installation neither, and fewer events.
    """

    push_events_branch_filter: str | None
    branch_filter_strategy: str
    enable_ssl_verification: bool
    custom_webhook_template: None
    custom_headers: list[NameResponse]
    url_variables: list[NameResponse]
    token_present: bool
    signing_token_present: bool
    alert_status: str
    disabled_until: str | None


class TryResponse(TypedDict):
    """An attempt to deliver: when, what came back, and how long it took, in seconds."""

    at: str
    error: str
    status: int | None
    seconds: float


class HookEventResponse(TypedDict):
    """A delivery, by its last attempt. `request_data` is what was sent, None before the first attempt."""

    id: int
    url: str
    trigger: str
    request_headers: Mapping[str, str]
    request_data: Any
    response_headers: Mapping[str, str]
    response_body: str
    execution_duration: float
    response_status: str | None
    created_at: str
    state: str
    attempts: int
    error: str | None
    tries: list[TryResponse]


class IntegrationResponse(TypedDict):
    """A link to another forge."""

    id: int
    title: str
    slug: str
    created_at: str
    updated_at: str
    active: bool
    inherited: bool
    pipeline_events: bool


class IntegrationPropertiesResponse(TypedDict):
    """The settings of a link to another forge; its token is not shown."""

    repository_url: str
    api_url: str
    context_prefix: str
    enable_ssl_verification: bool


class FailedReportResponse(TypedDict):
    """A status of a commit that a forge was not told."""

    sha: str
    pipeline_id: int
    status: str
    response_status: int | None
    error: str
    updated_at: str


class IntegrationDetailsResponse(IntegrationResponse):
    """A link to another forge with its settings, and the reports that could not be made of late."""

    properties: IntegrationPropertiesResponse
    failed_reports: list[FailedReportResponse]


def _holder(row: HookRow) -> _HolderPart:
    if row.project_id is not None:
        return {"project_id": row.project_id}
    return {} if row.namespace_id is None else {"group_id": row.namespace_id}


def _events(row: HookRow) -> _EventsPart:
    """What it hears of, and the events of GitLab that hooks of its scope never hear of here."""
    if row.scope == HookScope.SYSTEM:
        return {
            "push_events": wants(row.events, Event.PUSH),
            "tag_push_events": wants(row.events, Event.TAG_PUSH),
            "merge_requests_events": wants(row.events, Event.MERGE_REQUEST),
            "repository_update_events": wants(row.events, Event.REPOSITORY_UPDATE),
        }
    events: _EventsPart = {
        "push_events": wants(row.events, Event.PUSH),
        "tag_push_events": wants(row.events, Event.TAG_PUSH),
        "merge_requests_events": wants(row.events, Event.MERGE_REQUEST),
        "job_events": wants(row.events, Event.JOB),
        "pipeline_events": wants(row.events, Event.PIPELINE),
        "deployment_events": wants(row.events, Event.DEPLOYMENT),
        "releases_events": wants(row.events, Event.RELEASE),
        "issues_events": False,
        "confidential_issues_events": False,
        "note_events": wants(row.events, Event.NOTE),
        "confidential_note_events": wants(row.events, Event.CONFIDENTIAL_NOTE),
        "wiki_page_events": False,
        "feature_flag_events": False,
        "milestone_events": False,
        "emoji_events": False,
        "resource_access_token_events": False,
        "repository_update_events": False,
    }
    if row.scope == HookScope.GROUP:
        events["subgroup_events"] = events["member_events"] = False
    return events


def hook(row: HookRow, headers: Iterable[str], variables: Iterable[str], now: datetime) -> HookResponse:
    """A webhook; of its headers and variables only the names are ever shown, of its tokens whether there are any."""
    return {
        "id": row.id,
        "url": row.url,
        "name": row.name or None,
        "description": row.description or None,
        "created_at": moment(row.created_at),
        **_holder(row),
        **_events(row),
        "push_events_branch_filter": row.branch_filter or None,
        "branch_filter_strategy": row.branch_filter_strategy,
        "enable_ssl_verification": row.verify_tls,
        "custom_webhook_template": None,
        "custom_headers": [{"key": name} for name in headers],
        "url_variables": [{"key": name} for name in variables],
        "token_present": bool(row.token),
        "signing_token_present": bool(row.signing_token),
        "alert_status": Health(row.failures, row.disabled_until).alert(now),
        "disabled_until": moment(row.disabled_until),
    }


def hook_event(row: HookDeliveryRow, event: Event, hook: HookRow, body: Any) -> HookEventResponse:
    """A delivery of an event, by its last attempt, with fields of our own.

    `state` is `open`, `delivered` or `failed`; `error` says why there is no answer, `tries` tell of each attempt.
    """
    return {
        "id": row.id,
        "url": hook.url,
        "trigger": trigger_of(event, hook.scope),
        "request_headers": row.request_headers,
        "request_data": body,
        "response_headers": row.response_headers,
        "response_body": row.response_body,
        "execution_duration": row.duration,
        "response_status": _status(row),
        "created_at": moment(row.created_at),
        "state": row.state,
        "attempts": row.attempts,
        "error": row.error or None,
        "tries": [
            {"at": one["at"], "error": one["error"], "status": one["status"], "seconds": one["seconds"]}
            for one in row.tries
        ],
    }


def _status(row: HookDeliveryRow) -> str | None:
    """GitLab's text: the code, or `internal error` where no answer came."""
    if row.response_status is not None:
        return str(row.response_status)
    return "internal error" if row.attempts else None


TITLES: Final = {"github": "GitHub", "gitea": "Gitea", "forgejo": "Forgejo", "gitlab": "GitLab"}


def integration(row: ForgeLinkRow) -> IntegrationResponse:
    """A link to another forge as an integration."""
    return {
        "id": row.id,
        "title": TITLES[row.kind],
        "slug": row.kind,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
        "active": row.active,
        "inherited": False,
        "pipeline_events": True,
    }


def integration_in_full(row: ForgeLinkRow, trouble: Iterable[CommitReportRow]) -> IntegrationDetailsResponse:
    """The same with its settings, and the reports that could not be made of late (our own)."""
    return {
        **integration(row),
        "properties": {
            "repository_url": row.repository_url,
            "api_url": row.api_url,
            "context_prefix": row.context_prefix,
            "enable_ssl_verification": row.verify_tls,
        },
        "failed_reports": [
            {
                "sha": one.sha,
                "pipeline_id": one.pipeline_id,
                "status": one.status,
                "response_status": one.response_status,
                "error": one.error,
                "updated_at": moment(one.updated_at),
            }
            for one in trouble
        ],
    }
