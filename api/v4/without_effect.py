"""Parameters that GitLab documents and that have no effect here: passed over, or refused because they restrict.

A client that sends all that GitLab documents does not fail, and none believes in a guard that is not there. What is
passed over is named in the OpenAPI document, beside what is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from domain.errors import FieldsInvalid


@dataclass(frozen=True, slots=True)
class WithoutEffect:
    """A parameter that nothing heeds; `why` says so in words.

    `only` are the values that say how it is here anyway, as texts: any other one is refused. None: all are passed over.
    """

    why: str
    only: tuple[str, ...] | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """How the OpenAPI document tells of it."""
        if self.only is None:
            return {"description": f"Passed over: {self.why}."}
        return {"description": f"Refused unless it is {_listed(self.only)}: {self.why}."}

    def fault_of(self, value: object) -> str:
        """What is wrong with a value; empty if it may be passed over. Null counts as not given."""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if value is None or self.only is None or text in self.only:
            return ""
        return f"is not kept here: {self.why}; leave it out or give {_listed(self.only)}"


Parameters = Mapping[str, WithoutEffect]


def _listed(values: tuple[str, ...]) -> str:
    return " or ".join(value or "empty" for value in values)


def refuse_unkept(known: Parameters, values: Mapping[str, Any]) -> None:
    """Raise `FieldsInvalid` with every parameter whose value asks for what is not here."""
    faults = {name: fault for name in known.keys() & values.keys() if (fault := known[name].fault_of(values[name]))}
    if faults:
        raise FieldsInvalid(**dict(sorted(faults.items())))


_OFF: Final = ("false", "0")
_ON: Final = ("true", "1")
_EMPTY: Final = ("",)
_NOT_HERE: Final = WithoutEffect("there is nothing of the kind here")
_NO_PICTURES: Final = WithoutEffect("there are no pictures of people, groups and projects")
_NO_TOPICS: Final = WithoutEffect("projects have no topics")
_TEXT: Final = WithoutEffect("texts are proposed as they are")


def _part(what: str) -> WithoutEffect:
    return WithoutEffect(f"{what} are for whoever may see the project", ("enabled",))


_TEMPLATES: Final = WithoutEffect("projects are not made of templates; fork one", ("", *_OFF))
_MIRRORED: Final = WithoutEffect("set a mirror up by PUT /projects/:id/mirror/pull", ("", *_OFF))

PROJECT: Final[Parameters] = {
    **dict.fromkeys(
        (
            *("issues_enabled", "wiki_enabled", "snippets_enabled", "packages_enabled", "service_desk_enabled"),
            *("issues_access_level", "wiki_access_level", "snippets_access_level", "package_registry_access_level"),
            *("pages_access_level", "requirements_access_level", "feature_flags_access_level"),
            *("infrastructure_access_level", "monitor_access_level", "model_experiments_access_level"),
            *("model_registry_access_level", "security_and_compliance_access_level"),
            *("container_registry_enabled", "container_registry_access_level", "request_access_enabled"),
            *("container_expiration_policy_attributes", "lfs_enabled", "show_default_award_emojis"),
            *("autoclose_referenced_issues", "issue_branch_template", "issues_template", "repository_storage"),
            "warn_about_potentially_unwanted_characters",
            *("build_coverage_regex", "show_diff_preview_in_email", "printing_merge_request_link_enabled"),
            *("spp_repository_pipeline_access", "duo_features_enabled", "auto_duo_code_review_enabled"),
        ),
        _NOT_HERE,
    ),
    "avatar": _NO_PICTURES,
    "topics": _NO_TOPICS,
    "tag_list": _NO_TOPICS,
    **dict.fromkeys(
        ("suggestion_commit_message", "merge_commit_template", "squash_commit_template", "merge_requests_template"),
        _TEXT,
    ),
    "merge_requests_enabled": WithoutEffect("merge requests cannot be turned off", _ON),
    "merge_requests_access_level": _part("merge requests"),
    "jobs_enabled": WithoutEffect("pipelines cannot be turned off; archive the project", _ON),
    "builds_access_level": _part("pipelines"),
    "repository_access_level": _part("files and commits"),
    "releases_access_level": _part("releases"),
    "environments_access_level": _part("environments"),
    "operations_access_level": _part("environments"),
    "analytics_access_level": _part("charts"),
    "forking_access_level": WithoutEffect("who may read a project may fork it", ("enabled",)),
    "public_builds": WithoutEffect("who may read a project may read its jobs", _ON),
    "public_jobs": WithoutEffect("who may read a project may read its jobs", _ON),
    "emails_enabled": WithoutEffect("people choose what they are told by e-mail", _ON),
    "emails_disabled": WithoutEffect("people choose what they are told by e-mail", _OFF),
    "only_allow_merge_if_all_status_checks_passed": WithoutEffect(
        "there are no external status checks; let commit statuses and only_allow_merge_if_pipeline_succeeds guard",
        _OFF,
    ),
    "merge_request_title_regex": WithoutEffect("titles are not checked", _EMPTY),
    "merge_request_title_regex_description": WithoutEffect("titles are not checked"),
    "prevent_merge_without_jira_issue": WithoutEffect("nothing is known of Jira", _OFF),
    "external_authorization_classification_label": WithoutEffect("no other service is asked who may come in", _EMPTY),
    "enforce_auth_checks_on_uploads": WithoutEffect("files are for whoever may see the project", _ON),
    "resolve_outdated_diff_discussions": WithoutEffect("people resolve threads"),
    "auto_devops_deploy_strategy": WithoutEffect(
        "set the CI/CD variables STAGING_ENABLED and INCREMENTAL_ROLLOUT_MODE", ("continuous",)
    ),
    "mirror": _MIRRORED,
    "mirror_trigger_builds": _MIRRORED,
    "import_url": _MIRRORED,
    "mirror_user_id": _MIRRORED,
    "mirror_overwrites_diverged_branches": _MIRRORED,
    "mirror_branch_regex": _MIRRORED,
    "only_mirror_protected_branches": _MIRRORED,
    "ci_allow_fork_pipelines_to_run_in_parent_project": WithoutEffect(
        "pipelines of forks run there unless a maintainer starts one"
    ),
    "ci_forward_deployment_rollback_allowed": WithoutEffect("older deployments may be run again by retrying", _ON),
    "ci_separated_caches": WithoutEffect("caches of protected and of other refs are always apart", _ON),
    "restrict_user_defined_variables": WithoutEffect("developers give variables to pipelines that they start", _OFF),
    "ci_pipeline_variables_minimum_override_role": WithoutEffect(
        "developers give variables to pipelines that they start", ("developer",)
    ),
    "ci_push_repository_for_job_token_allowed": WithoutEffect("jobs do not push with their token", _OFF),
    "ci_id_token_sub_claim_components": WithoutEffect("the claim tells project, kind of ref and ref"),
    "ci_restrict_pipeline_cancellation_role": WithoutEffect("developers cancel pipelines", ("developer",)),
    "merge_trains_skip_train_allowed": WithoutEffect("who may merge may merge past the train"),
    "allow_pipeline_trigger_approve_deployment": WithoutEffect("deployments need no approval"),
    "fallback_approvals_required": WithoutEffect("give approvals_before_merge", ("0",)),
    "resource_group_default_process_mode": WithoutEffect(
        "set the mode of each resource group by PUT /projects/:id/resource_groups/:key", ("unordered",)
    ),
    "mr_default_target_self": WithoutEffect("merge requests of forks name their target"),
}
"""Of `POST` and `PUT /projects`."""

NEW_PROJECT: Final[Parameters] = {
    **PROJECT,
    "template_name": _TEMPLATES,
    "template_project_id": _TEMPLATES,
    "use_custom_template": _TEMPLATES,
    "group_with_project_templates_id": _TEMPLATES,
    "repository_object_format": WithoutEffect("repositories are of sha1", ("sha1",)),
}

GROUP: Final[Parameters] = {
    **dict.fromkeys(
        (
            *("lfs_enabled", "mentions_disabled", "request_access_enabled", "auto_devops_enabled"),
            *("shared_runners_minutes_limit", "extra_shared_runners_minutes_limit", "two_factor_grace_period"),
            *("file_template_project_id", "duo_availability", "experiment_features_enabled", "max_artifacts_size"),
            *("show_diff_preview_in_email", "wiki_access_level", "math_rendering_limits_enabled"),
            "lock_math_rendering_limits_enabled",
        ),
        _NOT_HERE,
    ),
    "avatar": _NO_PICTURES,
    "emails_enabled": PROJECT["emails_enabled"],
    "emails_disabled": PROJECT["emails_disabled"],
    "membership_lock": WithoutEffect("maintainers add members to projects", _OFF),
    "share_with_group_lock": WithoutEffect("maintainers share projects with groups", _OFF),
    "require_two_factor_authentication": WithoutEffect("ask your provider of identities for second factors", _OFF),
    "default_branch_protection": WithoutEffect("the default branch of a new project is for maintainers", ("2",)),
    "default_branch_protection_defaults": WithoutEffect(
        "the default branch of a new project is for maintainers", ("{}",)
    ),
    "shared_runners_setting": WithoutEffect(
        "projects say whether instance runners take their jobs (shared_runners_enabled)", ("enabled",)
    ),
    "prevent_forking_outside_group": WithoutEffect("who may read a project may fork it", _OFF),
    "prevent_sharing_groups_outside_hierarchy": WithoutEffect("groups are not shared with groups"),
    "ip_restriction_ranges": WithoutEffect("restrict addresses in front of the server", _EMPTY),
    "allowed_email_domains_list": WithoutEffect("administrators make accounts", _EMPTY),
    "unique_project_download_limit": WithoutEffect("downloads are not counted", ("0",)),
    "default_branch": WithoutEffect("each new project says what its default branch is", ("", "main")),
}
"""Of `POST` and `PUT /groups`."""

USER: Final[Parameters] = {
    **dict.fromkeys(
        (
            *("bio", "linkedin", "location", "organization", "skype", "twitter", "discord", "website_url", "theme_id"),
            *("color_scheme_id", "public_email", "commit_email", "job_title", "pronouns", "view_diffs_file_by_file"),
            *("skip_confirmation", "skip_reconfirmation", "note", "shared_runners_minutes_limit"),
            *("extra_shared_runners_minutes_limit", "group_id_for_saml", "github", "mastodon", "bluesky", "orcid"),
        ),
        _NOT_HERE,
    ),
    "avatar": _NO_PICTURES,
    "private_profile": WithoutEffect("of people others see name and username, and what they did where both may read"),
    "auditor": WithoutEffect("there are no auditors; name an administrator", _OFF),
    "extern_uid": WithoutEffect("people sign in by OpenID Connect, and are known from then on", _EMPTY),
    "provider": WithoutEffect("people sign in by OpenID Connect, and are known from then on", _EMPTY),
}
"""Of `POST` and `PUT /users`."""

HOOK: Final[Parameters] = {
    **dict.fromkeys(
        (
            *("issues_events", "confidential_issues_events", "wiki_page_events"),
            *("feature_flag_events", "milestone_events", "emoji_events", "vulnerability_events", "subgroup_events"),
            *("member_events", "project_events", "resource_access_token_events", "resource_deploy_token_events"),
            "member_approval_events",
        ),
        WithoutEffect("hooks are not told of that"),
    ),
    "custom_webhook_template": WithoutEffect("bodies are GitLab's", _EMPTY),
}
"""Of `POST` and `PUT .../hooks`."""

ENVIRONMENT: Final[Parameters] = {
    "description": WithoutEffect("environments have no description"),
    "auto_stop_setting": WithoutEffect("what has a time to stop is stopped then", ("always",)),
    **dict.fromkeys(("cluster_agent_id", "kubernetes_namespace", "flux_resource_path"), _NOT_HERE),
}

CHANGED_ENVIRONMENT: Final[Parameters] = {
    **ENVIRONMENT,
    "name": WithoutEffect("environments keep their names, as in GitLab"),
}

MERGE_REQUEST: Final[Parameters] = {
    "allow_collaboration": WithoutEffect("who may merge does not push to forks"),
    "allow_maintainer_to_push": WithoutEffect("who may merge does not push to forks"),
    "approvals_before_merge": WithoutEffect("set it for the project", ("0",)),
    "discussion_locked": WithoutEffect("discussions cannot be locked", _OFF),
    "merge_after": WithoutEffect("merge requests wait for no time", _EMPTY),
}

PROTECTED_BRANCH: Final[Parameters] = {
    **dict.fromkeys(
        ("allowed_to_push", "allowed_to_merge", "allowed_to_unprotect"),
        WithoutEffect("rules name no people, groups or keys; give push_access_level and merge_access_level", ("[]",)),
    ),
    "unprotect_access_level": WithoutEffect("maintainers unprotect branches", ("40",)),
    "code_owner_approval_required": WithoutEffect("there are no code owners", _OFF),
}

PROTECTED_TAG: Final[Parameters] = {
    "allowed_to_create": WithoutEffect("rules name no people, groups or keys; give create_access_level", ("[]",)),
}
