"""Which rows are an organisation's: one table that says of each table of a pod what a move does with its rows.

An organisation is a top-level group. A row is its own if one of the columns in `by` leads to a row that is. What the
foreign keys of the tables say already is not said again: a column that refers to an account names a person, who is
found again by name in the other pod; one that refers to a row which stays becomes empty, or takes its row out of the
move where it cannot be empty (docs/pods.md, "Moving an organisation").
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeAlias

ROOT: Final = "namespace"
"""The table of groups; `organisation_id` is that of the one at the top."""
PEOPLE: Final = "account"

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Carried:
    """Rows that move. `by` are columns, and the tables that they lead to; none for what has `organisation_id` itself.

    `sealed` are columns that the key of the pod seals. `people` are columns with the id of an account that no foreign
    key says, `people_lists` documents that are lists of them. `loose` are columns with ids of rows of a table that no
    foreign key says: they become empty where that row stays. `anew` is what a column is to be in the other pod.
    """

    by: tuple[tuple[str, str], ...] = ()
    sealed: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    people_lists: tuple[str, ...] = ()
    loose: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    anew: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    object_key: str = ""
    """The column with the key of an object in the store."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Rows that are the organisation's, and end with the move: they mean something in their pod alone."""

    by: tuple[tuple[str, str], ...]
    why: str


@dataclass(frozen=True, slots=True)
class Stays:
    """Rows of the pod."""

    why: str


Belonging: TypeAlias = Carried | Ended | Stays

_PROJECT: Final = (("project_id", "project"),)
_OWNER: Final = (("project_id", "project"), ("namespace_id", "namespace"))
_PIPELINE: Final = (("pipeline_id", "pipeline"),)
_JOB: Final = (("job_id", "job"),)
_MERGE_REQUEST: Final = (("merge_request_id", "merge_request"),)
_ANEW: Final = "the other pod renders texts itself when they are read"

BELONGINGS: Final[Mapping[str, Belonging]] = {
    "access_token": Carried(_OWNER, loose={"maker_id": "access_token", "rotated_to": "access_token"}),
    "account": Stays("people are of their home pod; bots, whose names carry their ids, go with their tokens"),
    "artifact": Carried(_JOB, object_key="object_key"),
    "audit_event": Carried((("entity_id", "entity_type"),), people=("author_id",)),
    "badge": Carried(_OWNER),
    "brought_visitor": Stays("whom moves have brought from the pod to others"),
    "chat_integration": Carried(_PROJECT, sealed=("webhook",)),
    "ci_variable": Carried(_OWNER, sealed=("value",)),
    "commit_comment": Carried(_PROJECT),
    "commit_report": Carried(_PIPELINE),
    "commit_status": Carried(_PROJECT),
    "contribution": Carried(_PROJECT),
    "cross_pod_downstream": Carried((("bridge_id", "job"),)),
    "cross_pod_follower": Carried((("upstream_project_id", "project"),)),
    "cross_pod_need": Ended(_JOB, "the other pod is asked again when a runner comes for the job"),
    "cross_pod_upstream": Carried(_PIPELINE),
    "deploy_access_level": Carried((("protected_environment_id", "protected_environment"),)),
    "deploy_token": Carried(_OWNER, sealed=("sealed",), loose={"maker_id": "access_token"}),
    "deployment": Carried(_PROJECT),
    "ended_session": Stays("sessions are of a pod"),
    "environment": Carried(_PROJECT),
    "forge_link": Carried(_PROJECT, sealed=("token",)),
    "hook": Carried(_OWNER, sealed=("token", "signing_token", "custom_headers", "url_variables")),
    "hook_delivery": Carried((("event_id", "hook_event"),), sealed=("body",), loose={"hook_id": "hook"}),
    "hook_event": Carried(_PROJECT),
    "idempotent_call": Stays("a response that is kept for a day for whoever did not get it"),
    "identity": Stays("who people are at providers is known in their home pod"),
    "incoming_delivery": Carried((("hook_id", "incoming_hook"),)),
    "incoming_hook": Carried(_PROJECT, sealed=("secret",)),
    "installation": Stays("the pod itself"),
    "job": Carried(_PROJECT),
    "job_token_access": Carried(_PROJECT),
    "label": Carried(_OWNER),
    "lease": Ended(_JOB, "no runner holds a job of an organisation that moves"),
    "lease_clock": Stays("the pod's own clock"),
    "member": Carried(_PROJECT),
    "merge_request": Carried(_PROJECT, people_lists=("assignee_ids", "reviewer_ids")),
    "merge_request_approval": Carried(_MERGE_REQUEST),
    "merge_request_event": Carried(_MERGE_REQUEST),
    "merge_request_note": Carried(_MERGE_REQUEST),
    "merge_request_version": Carried(_MERGE_REQUEST),
    "message": Carried(
        (("notice_id", "notice"),),
        sealed=("body",),
        loose={"integration_id": "chat_integration"},
        anew={"held_until": None},
    ),
    "milestone": Carried(_OWNER),
    "mirror": Carried(_PROJECT, sealed=("credentials",), anew={"held_until": None}),
    "moved_row": Stays("what moves is packed here itself"),
    "name_claim": Stays("the claim on the organisation's path is handed over with the directory"),
    "namespace": Carried(),
    "namespace_member": Carried((("namespace_id", "namespace"),)),
    "notice": Carried(_PROJECT),
    "notification_setting": Carried(_OWNER),
    "object_to_delete": Stays("objects of this pod's store that no row needs"),
    "operation_caller": Carried(_PIPELINE),
    "operation_key": Carried(_PIPELINE, people=("caller_id",)),
    "organisation_arrival": Stays("what the pod knows of moves to it"),
    "organisation_move": Stays("what the pod knows of moves from it"),
    "outbox": Carried(_PIPELINE, anew={"sent_at": None, "attempts": 0, "error": ""}),
    "pinned_steps": Carried(_PIPELINE),
    "pipeline": Carried(_PROJECT, loose={"bridge_id": "job"}),
    "pipeline_config": Carried(_PIPELINE),
    "pipeline_schedule": Carried(_PROJECT, anew={"mirrored": 0}),
    "pipeline_subscription": Carried(_PROJECT, anew={"told_at": None}),
    "pipeline_trigger": Carried(_PROJECT, loose={"maker_id": "access_token"}),
    "play_variables": Carried(_PIPELINE),
    "project": Carried(anew={"may_run_as_server": False}),
    "project_redirect": Carried(_PROJECT),
    "project_share": Carried(_PROJECT),
    "project_star": Carried(_PROJECT),
    "project_upload": Carried(_PROJECT, object_key="object_key"),
    "protected_branch": Carried(_PROJECT),
    "protected_environment": Carried(_OWNER),
    "protected_tag": Carried(_PROJECT),
    "push": Carried(_PROJECT),
    "queue_demand": Carried(_PROJECT),
    "queue_demand_tag": Carried((("demand_id", "queue_demand"),)),
    "queue_entry": Carried(_JOB),
    "ref_health": Carried(_PROJECT),
    "release": Carried(_PROJECT),
    "rendered_note": Ended((("owner_id", "merge_request_note"),), _ANEW),
    "rendered_release": Ended((("owner_id", "release"),), _ANEW),
    "rendered_request": Ended((("owner_id", "merge_request"),), _ANEW),
    "report": Carried(_JOB),
    "resource_group": Carried(_PROJECT),
    "runner": Carried(),
    "runner_manager": Carried((("runner_id", "runner"),)),
    "runner_project": Carried((("runner_id", "runner"),)),
    "schedule_tick": Carried((("schedule_id", "pipeline_schedule"),)),
    "schedule_variable": Carried((("schedule_id", "pipeline_schedule"),), sealed=("value",)),
    "secure_file": Carried(_PROJECT, object_key="object_key"),
    "ssh_key": Stays("keys of people"),
    "stage": Carried(_PIPELINE),
    "subscribed_run": Carried(_PROJECT),
    "test_report": Carried(_JOB),
    "trace": Carried(_JOB),
    "trace_chunk": Carried(_JOB),
    "trace_index": Carried(_JOB),
    "train_car": Carried(_PROJECT),
    "unit_test": Carried(_PROJECT),
    "unit_test_run": Carried(_JOB),
    "used_ticket": Stays("tickets that were shown to the pod"),
    "visit": Stays("where people of the pod went"),
}
"""What an administrator has permitted in a pod (`may_run_as_server`) does not move along."""

AUDITED: Final = {"project": "project", "group": "namespace"}
"""What audit events call the rows of these tables, in `entity_type`."""
