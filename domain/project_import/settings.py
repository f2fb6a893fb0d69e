"""What a project is set to (docs.gitlab.com/api/projects): what we know of it, and what we do not."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from domain.project_import.plan import Call, Document, Item, NotCarried, Outcome, Plan, unchanged
from domain.projects.config_place import CONFIG_FILE

KIND: Final = "setting"
_DEPTH: Final = "ci_default_git_depth"

_NULL_MEANS: Final = frozenset({"description", _DEPTH})
"""Fields of which null says something: no description, all commits."""
FIELDS: Final = (
    "name",
    "description",
    "default_branch",
    "ci_config_path",
    "build_timeout",
    "auto_cancel_pending_pipelines",
    "auto_devops_enabled",
    "ci_forward_deployment_enabled",
    "keep_latest_artifact",
    "max_artifacts_size",
    "ci_delete_pipelines_in_seconds",
    "shared_runners_enabled",
    "group_runners_enabled",
    "merge_method",
    "squash_option",
    "only_allow_merge_if_pipeline_succeeds",
    "allow_merge_on_skipped_pipeline",
    "only_allow_merge_if_all_discussions_are_resolved",
    "remove_source_branch_after_merge",
    "merge_pipelines_enabled",
    "merge_trains_enabled",
    "approvals_before_merge",
    _DEPTH,
    "build_git_strategy",
)
"""Fields of `PUT /projects/:id` that mean the same on both sides; each may be set after those before it."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A field that has no counterpart: which values need none, and what is to be done about others."""

    field: str
    ordinary: tuple[Any, ...]
    reason: str
    advice: str = ""


_OLDER: Final = "restrict_user_defined_variables"
_NEWER: Final = "ci_pipeline_variables_minimum_override_role"
"""Two fields for one setting, of which newer servers show both."""
_UNKNOWN: Final = (
    Unknown(
        _NEWER,
        ("developer", None),
        "At the source pipelines may be given variables only from the role {value} on.",
    ),
    Unknown(_OLDER, (False, None), "At the source few may give pipelines variables."),
    Unknown("public_jobs", (True, None), "Jobs are shown to members only at the source."),
    Unknown(
        "ci_separated_caches",
        (True, None),
        "Protected and other branches share caches at the source.",
        "Set `cache:unprotect` where it is wanted.",
    ),
    Unknown(
        "ci_restrict_pipeline_cancellation_role",
        ("developer", None),
        "At the source pipelines may be canceled by {value} only.",
    ),
    Unknown(
        "resource_group_default_process_mode",
        ("unordered", None),
        "New resource groups are {value} at the source.",
        "Set the mode of each by the API.",
    ),
    Unknown(
        "may_run_as_server",
        (False, None),
        "At the source jobs may run as the server's own user.",
        "An administrator allows it with `perdure runner allow`.",
    ),
    Unknown("ci_forward_deployment_rollback_allowed", (True, None), "Roll-backs by retry are refused at the source."),
    Unknown(
        "only_allow_merge_if_all_discussions_are_resolved",
        (False, None),
        "At the source only merge requests whose discussions are resolved can be merged; there are none here.",
    ),
    Unknown("mirror", (False, None), "It is a mirror of a repository elsewhere.", "Set up the mirror here."),
    Unknown("archived", (False, None), "It is archived at the source.", "Archive it here when all is there."),
)


def plan(source: Document, present: Document) -> Plan:
    """A call for each field that differs; the caller may make them one."""
    items = [_item(field, source[field], present.get(field)) for field in FIELDS if _says(source, field)]
    return Plan(tuple(items), (*_unknown(source), *_visibility(source, present)))


def _says(source: Document, field: str) -> bool:
    return source.get(field) is not None or (field in _NULL_MEANS and field in source)


def _item(field: str, wanted: Any, have: Any) -> Item:
    wanted = _plain(field, wanted)
    if wanted == _plain(field, have):
        return unchanged(KIND, field)
    return Item(KIND, field, Outcome.UPDATED, (Call("PUT", "", {field: wanted}),))


def _plain(field: str, value: Any) -> Any:
    """One of several ways of writing the same."""
    if field == "description":
        return value or ""
    if field == _DEPTH:
        return value or 0
    if field == "ci_config_path":
        return value or CONFIG_FILE
    return value


def _unknown(source: Document) -> Iterator[NotCarried]:
    for one in _UNKNOWN:
        if one.field == _OLDER and _NEWER in source:
            continue
        value = source.get(one.field, one.ordinary[0])
        if value not in one.ordinary:
            shown = "none" if value is None else value
            yield NotCarried(KIND, one.field, one.reason.format(value=shown), one.advice)


def _visibility(source: Document, present: Document) -> Iterator[NotCarried]:
    """Who sees a project that is here already is never changed by an import."""
    wanted, have = source.get("visibility"), present.get("visibility")
    if wanted and have and wanted != have:
        reason = f"It is {wanted} at the source and {have} here, where it was before this import."
        yield NotCarried(KIND, "visibility", reason, "Change it in the project's settings if you mean it.")
