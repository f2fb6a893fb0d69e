"""Answers in the shapes that GitLab documents (docs.gitlab.com/api), also with what Perdure does not know."""

from typing import Any, Final

PATH: Final = "diaspora/web/diaspora-client"
ID: Final = 4
PERSON: Final = {
    "id": 50,
    "username": "maeda",
    "name": "Shinya Maeda",
    "state": "active",
    "locked": False,
    "avatar_url": "https://www.gravatar.com/avatar/8ca0?s=80&d=identicon",
    "web_url": "https://gitlab.example.com/maeda",
}
HOOK_SECRET: Final = "hook-s3cret"


def project(**more: Any) -> dict[str, Any]:
    """`GET /projects/:id?statistics=true` as a maintainer sees it."""
    return {
        "id": ID,
        "description": "A client",
        "name": "Diaspora Client",
        "name_with_namespace": "Diaspora / Web / Diaspora Client",
        "path": "diaspora-client",
        "path_with_namespace": PATH,
        "created_at": "2013-09-30T13:46:02.000Z",
        "default_branch": "main",
        "tag_list": [],
        "topics": [],
        "ssh_url_to_repo": "git@gitlab.example.com:diaspora/web/diaspora-client.git",
        "http_url_to_repo": "https://gitlab.example.com/diaspora/web/diaspora-client.git",
        "web_url": "https://gitlab.example.com/diaspora/web/diaspora-client",
        "readme_url": None,
        "namespace": {
            "id": 3,
            "name": "Web",
            "path": "web",
            "kind": "group",
            "full_path": "diaspora/web",
            "parent_id": 2,
        },
        "container_registry_image_prefix": "registry.example.com/diaspora/web/diaspora-client",
        "empty_repo": False,
        "archived": False,
        "visibility": "private",
        "resolve_outdated_diff_discussions": False,
        "container_expiration_policy": {"cadence": "1d", "enabled": False},
        "repository_object_format": "sha1",
        "issues_enabled": True,
        "merge_requests_enabled": True,
        "wiki_enabled": True,
        "jobs_enabled": True,
        "snippets_enabled": False,
        "container_registry_enabled": True,
        "issues_access_level": "enabled",
        "wiki_access_level": "enabled",
        "builds_access_level": "enabled",
        "snippets_access_level": "disabled",
        "container_registry_access_level": "enabled",
        "feature_flags_access_level": "enabled",
        "shared_runners_enabled": True,
        "group_runners_enabled": True,
        "lfs_enabled": True,
        "creator_id": 3,
        "import_status": "none",
        "open_issues_count": 1,
        "runners_token": "GR1348941runners-s3cret",
        "ci_default_git_depth": 50,
        "ci_delete_pipelines_in_seconds": None,
        "ci_forward_deployment_enabled": True,
        "ci_forward_deployment_rollback_allowed": True,
        "ci_job_token_scope_enabled": False,
        "ci_separated_caches": True,
        "ci_allow_fork_pipelines_to_run_in_parent_project": True,
        "ci_id_token_sub_claim_components": ["project_path", "ref_type", "ref"],
        "build_git_strategy": "fetch",
        "keep_latest_artifact": True,
        "restrict_user_defined_variables": True,
        "ci_pipeline_variables_minimum_override_role": "no_one_allowed",
        "runner_token_expiration_interval": None,
        "build_timeout": 5400,
        "auto_cancel_pending_pipelines": "disabled",
        "ci_config_path": "",
        "public_jobs": True,
        "shared_with_groups": [],
        "only_allow_merge_if_pipeline_succeeds": True,
        "allow_merge_on_skipped_pipeline": None,
        "only_allow_merge_if_all_discussions_are_resolved": False,
        "remove_source_branch_after_merge": True,
        "merge_method": "rebase_merge",
        "squash_option": "default_off",
        "auto_devops_enabled": False,
        "approvals_before_merge": 1,
        "mirror": False,
        "merge_pipelines_enabled": True,
        "merge_trains_enabled": False,
        "packages_enabled": True,
        "statistics": {"commit_count": 37, "repository_size": 1038090, "lfs_objects_size": 3_500_000, "wiki_size": 0},
        "permissions": {"project_access": {"access_level": 40, "notification_level": 3}, "group_access": None},
        "_links": {"self": "https://gitlab.example.com/api/v4/projects/4"},
        **more,
    }


def variable(key: str, value: str | None, **more: Any) -> dict[str, Any]:
    """An item of `GET /projects/:id/variables`."""
    return {
        "variable_type": "env_var",
        "key": key,
        "value": value,
        "hidden": False,
        "protected": False,
        "masked": False,
        "raw": False,
        "environment_scope": "*",
        "description": None,
        **more,
    }


def level(number: int | None, words: str, **more: Any) -> dict[str, Any]:
    """An entry of a protected branch or tag, as paid editions show it."""
    return {
        "id": 1001,
        "access_level": number,
        "access_level_description": words,
        "user_id": None,
        "group_id": None,
        **more,
    }


SCHEDULES: Final = [
    {
        "id": 13,
        "description": "Test schedule pipeline",
        "ref": "refs/heads/main",
        "cron": "0 1 * * 5",
        "cron_timezone": "Pacific Time (US & Canada)",
        "next_run_at": "2026-05-19T13:41:00.000Z",
        "active": True,
        "created_at": "2026-05-19T13:31:08.849Z",
        "updated_at": "2026-05-19T13:40:17.727Z",
        "owner": PERSON,
    },
    {
        "id": 14,
        "description": "Of a branch that is gone",
        "ref": "refs/heads/gone",
        "cron": "0 1 * * 5",
        "cron_timezone": "UTC",
        "next_run_at": None,
        "active": False,
        "created_at": "2026-05-19T13:31:08.849Z",
        "updated_at": "2026-05-19T13:40:17.727Z",
        "owner": None,
    },
    {
        "id": 15,
        "description": "In words",
        "ref": "main",
        "cron": "every day at noon",
        "cron_timezone": "UTC",
        "next_run_at": "2026-05-19T12:00:00.000Z",
        "active": True,
        "created_at": "2026-05-19T13:31:08.849Z",
        "updated_at": "2026-05-19T13:40:17.727Z",
        "owner": PERSON,
    },
]
SCHEDULE_DETAILS: Final = {
    "last_pipeline": {"id": 332, "sha": "0e78", "ref": "refs/heads/main", "status": "pending"},
    "variables": [{"key": "TEST_VARIABLE_1", "variable_type": "file", "value": "TEST_1", "raw": True}],
    "inputs": [{"name": "deploy_strategy", "value": "blue-green"}, {"name": "feature_flags", "value": ["a", "b"]}],
}

LISTS: Final[dict[str, list[dict[str, Any]]]] = {
    "variables": [
        variable("DEPLOY_KEY", "s3cret-value", protected=True, masked=True, environment_scope="production"),
        variable("FILE", "a: 1\n", variable_type="file", raw=True, description="A file"),
        variable("HIDDEN", None, masked=True, hidden=True),
        variable("SHORT", "abc", masked=True),
    ],
    "environments": [
        {
            "id": 1,
            "name": "review/fix-foo",
            "slug": "review-fix-foo-dfjre3",
            "description": None,
            "external_url": "https://review-fix-foo-dfjre3.gitlab.example.com",
            "state": "available",
            "tier": "development",
            "created_at": "2019-05-25T18:55:13.252Z",
            "updated_at": "2019-05-27T18:55:13.252Z",
            "enable_advanced_logs_querying": False,
            "logs_api_path": "/project/-/logs/k8s.json?environment_name=review%2Ffix-foo",
            "auto_stop_at": "2019-06-03T18:55:13.252Z",
            "kubernetes_namespace": "flux-system",
            "flux_resource_path": "HelmRelease/flux-system",
            "auto_stop_setting": "always",
        },
        {
            "id": 2,
            "name": "old",
            "slug": "old",
            "external_url": None,
            "state": "stopped",
            "tier": "other",
            "created_at": "2019-05-25T18:55:13.252Z",
            "updated_at": "2019-05-27T18:55:13.252Z",
        },
    ],
    "protected_branches": [
        {
            "id": 101,
            "name": "main",
            "push_access_levels": [
                level(40, "Maintainers"),
                level(40, "Deploy key", deploy_key_id=1),
                level(None, "Shinya Maeda", user_id=50),
            ],
            "merge_access_levels": [level(None, "Example Merge Group", group_id=1234)],
            "unprotect_access_levels": [level(40, "Maintainers")],
            "allow_force_push": False,
            "code_owner_approval_required": True,
            "inherited": True,
        },
        {
            "id": 102,
            "name": "release/*",
            "push_access_levels": [
                {"id": 1, "access_level": 30, "access_level_description": "Developers + Maintainers"}
            ],
            "merge_access_levels": [
                {"id": 2, "access_level": 30, "access_level_description": "Developers + Maintainers"}
            ],
            "allow_force_push": True,
            "code_owner_approval_required": False,
        },
    ],
    "protected_tags": [
        {
            "name": "v*",
            "create_access_levels": [
                level(None, "Administrator", user_id=10),
                {"id": 2, "access_level": 40, "access_level_description": "Maintainers"},
            ],
        }
    ],
    "pipeline_schedules": SCHEDULES,
    "triggers": [
        {
            "id": 10,
            "description": "my trigger",
            "created_at": "2016-01-07T09:53:58.235Z",
            "last_used": None,
            "token": "glptt-6d056f63e50fe6f8c5f8f4aa10edb7",
            "updated_at": "2016-01-07T09:53:58.235Z",
            "expires_at": None,
            "owner": PERSON,
        },
        {
            "id": 11,
            "description": "over",
            "created_at": "2016-01-07T09:53:58.235Z",
            "last_used": None,
            "token": "glptt-3f",
            "updated_at": "2016-01-07T09:53:58.235Z",
            "expires_at": "2017-01-07T09:53:58.235Z",
            "owner": None,
        },
    ],
    "resource_groups": [
        {
            "id": 3,
            "key": "production",
            "process_mode": "newest_ready_first",
            "created_at": "2021-09-01T08:04:59.650Z",
            "updated_at": "2021-09-01T08:04:59.650Z",
        }
    ],
    "members": [{**PERSON, "access_level": 40, "expires_at": None}],
    "hooks": [
        {
            "id": 1,
            "url": f"https://me:{HOOK_SECRET}@hook.example/a/{HOOK_SECRET}?token={HOOK_SECRET}",
            "push_events": True,
            "enable_ssl_verification": True,
            "alert_status": "executable",
            "url_variables": [],
            "custom_headers": [],
        }
    ],
    "deploy_keys": [{"id": 1, "title": "Public key", "key": "ssh-rsa AAAA", "can_push": False}],
    "deploy_tokens": [],
    "access_tokens": [{"id": 42, "name": "Renovate", "scopes": ["api"], "active": True, "access_level": 40}],
    "runners": [{"id": 8, "description": "test-runner", "runner_type": "project_type", "status": "online"}],
    "releases": [{"tag_name": "v1", "name": "One", "description": "First"}],
    "merge_requests": [{"id": 1, "iid": 1, "title": "Add a thing", "state": "opened"}],
    "wikis": [{"title": "home", "slug": "home", "format": "markdown"}],
    "packages": [{"id": 1, "name": "com/example/app", "version": "1.0", "package_type": "maven"}],
    "registry/repositories": [{"id": 1, "name": "", "path": f"{PATH}", "location": "registry.example.com/x"}],
    "secure_files": [{"id": 1, "name": "myfile.jks", "checksum": "16630b", "checksum_algorithm": "sha256"}],
    "freeze_periods": [],
    "integrations": [{"id": 75, "title": "Jenkins CI", "slug": "jenkins", "active": True}],
    "remote_mirrors": [{"enabled": True, "id": 101486, "url": f"https://*****:*****@example.com/gitlab/{PATH}.git"}],
}
"""Lists below the project. What is missing is answered 404, as by other editions."""

FORBIDDEN: Final = frozenset({"job_token_scope/allowlist", "protected_environments"})
"""Lists that this token may not read."""
