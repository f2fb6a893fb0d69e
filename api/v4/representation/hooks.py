"""Webhooks, their deliveries, and links to other forges as GitLab's JSON."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from domain.hooks.webhooks import Event, Health, HookScope, flags_of, trigger_of, wants
from domain.moments import moment

_NOT_HERE: Final = (
    "issues_events",
    "confidential_issues_events",
    "note_events",
    "confidential_note_events",
    "wiki_page_events",
    "feature_flag_events",
    "milestone_events",
    "emoji_events",
    "resource_access_token_events",
    "repository_update_events",
)
_NEVER: Final[Mapping[str, tuple[str, ...]]] = {
    HookScope.PROJECT: _NOT_HERE,
    HookScope.GROUP: (*_NOT_HERE, "subgroup_events", "member_events"),
}
"""Events of GitLab that hooks of a scope never hear of here."""


def _owner(row: Any) -> dict[str, int]:
    owners = {"project_id": row.project_id, "group_id": row.namespace_id}
    return {name: key for name, key in owners.items() if key is not None}


def hook(row: Any, headers: Iterable[str], variables: Iterable[str], now: datetime) -> dict[str, Any]:
    """A webhook; of its headers and variables only the names are ever shown, of its tokens whether there are any."""
    return {
        "id": row.id,
        "url": row.url,
        "name": row.name or None,
        "description": row.description or None,
        "created_at": moment(row.created_at),
        **_owner(row),
        **{flag: wants(row.events, event) for flag, event in flags_of(row.scope).items()},
        **dict.fromkeys(_NEVER.get(row.scope, ()), False),
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


def hook_event(row: Any, hook: Any, body: Any) -> dict[str, Any]:
    """A delivery, by its last attempt, with fields of our own.

    `state` is `open`, `delivered` or `failed`; `error` says why there is no answer, `tries` tell of each attempt.
    """
    return {
        "id": row.id,
        "url": hook.url,
        "trigger": trigger_of(Event(row.kind), hook.scope),
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
        "tries": row.tries,
    }


def _status(row: Any) -> str | None:
    """GitLab's text: the code, or `internal error` where no answer came."""
    if row.response_status is not None:
        return str(row.response_status)
    return "internal error" if row.attempts else None


TITLES: Final = {"github": "GitHub", "gitea": "Gitea", "forgejo": "Forgejo", "gitlab": "GitLab"}


def integration(row: Any) -> dict[str, Any]:
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


def integration_in_full(row: Any, trouble: Iterable[Any]) -> dict[str, Any]:
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
