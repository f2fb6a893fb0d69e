"""Which tables grow for as long as an installation runs, and which do not; every table is one or the other."""

from collections.abc import Mapping
from typing import Final

_MULTIPLIED: Final = (
    "artifact contribution deployment job pipeline pipeline_config push stage test_report trace unit_test_run"
).split()
"""What `bench.growth` multiplies."""
FILLED: Final = (
    "audit_event commit_comment commit_report commit_status cross_pod_downstream cross_pod_need cross_pod_upstream "
    "hook_delivery hook_event idempotent_call incoming_delivery merge_request merge_request_approval "
    "merge_request_note merge_request_version message notice operation_key "
    "pinned_steps ref_health release rendered_note rendered_release rendered_request report "
    "schedule_tick subscribed_run train_car"
).split()
"""What it leaves empty."""

GROWING: Final = frozenset((*_MULTIPLIED, *FILLED))

BOUNDED: Final[Mapping[str, str]] = {
    "as many as there are people": "account access_token identity ended_session ssh_key visit brought_visitor badge",
    "as many as somebody has set up": (
        "namespace namespace_member project project_redirect project_share project_star project_upload member "
        "ci_variable deploy_token forge_link hook incoming_hook job_token_access label milestone mirror "
        "notification_setting chat_integration pipeline_schedule schedule_variable pipeline_subscription "
        "pipeline_trigger protected_branch protected_environment protected_tag deploy_access_level secure_file "
        "cross_pod_follower environment resource_group unit_test"
    ),
    "as many as there are machines": "runner runner_manager runner_project queue_demand queue_demand_tag",
    "one row": "installation lease_clock",
    "only what is under way": (
        "lease queue_entry outbox merge_request_event "
        "operation_caller play_variables trace_chunk trace_index object_to_delete used_ticket "
        "name_claim moved_row organisation_arrival organisation_move"
    ),
}
"""By the reason: tables that stay small, though they may be scanned."""
