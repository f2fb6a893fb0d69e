"""The job as GitLab Runner decodes it: one field of a wrong type loses the whole job.

Source: docs/reference/runner-protocol.md, "Job document".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class OneOf:
    """A text that is one of a few; the runner fails or misreads any other."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Nullable:
    """A field that the runner also takes as null."""

    shape: Any


@dataclass(frozen=True)
class MapOf:
    """An object whose keys anybody may choose."""

    shape: Any


WHEN: Final = OneOf(("on_success", "on_failure", "always"))
VARIABLE: Final = {"key": str, "value": str, "public": bool, "masked": bool, "file": bool, "raw": bool}
CONTAINER: Final = {
    "name": str,
    "alias": str,
    "entrypoint": [str],
    "command": [str],
    "ports": [{"number": int, "protocol": str, "name": str}],
    "pull_policy": [OneOf(("always", "if-not-present", "never"))],
    "executor_opts": {"docker": {"platform": str, "user": str}, "kubernetes": {"user": str}},
}
VAULT: Final = {
    "server": {
        "url": str,
        "namespace": str,
        "auth": {"name": str, "path": str, "data": {"jwt": str, "role": str}},
    },
    "engine": {"name": str, "path": str},
    "path": str,
    "field": str,
}
SECRET: Final = {
    "vault": VAULT,
    "gcp_secret_manager": {
        "name": str,
        "version": str,
        "server": {
            "project_number": str,
            "workload_identity_federation_pool_id": str,
            "workload_identity_federation_provider_id": str,
            "jwt": str,
        },
    },
    "azure_key_vault": {
        "name": str,
        "version": str,
        "server": {"url": str, "client_id": str, "tenant_id": str, "jwt": str},
    },
    "aws_secrets_manager": MapOf(Nullable(object)),
    "gitlab_secrets_manager": MapOf(Nullable(object)),
    "file": bool,
}

PAYLOAD: Final[dict[str, Any]] = {
    "id": int,
    "token": str,
    "allow_git_fetch": bool,
    "job_info": {
        "id": int,
        "name": str,
        "stage": str,
        "pipeline_id": int,
        "project_id": int,
        "project_name": str,
        "project_full_path": str,
        "namespace_id": int,
        "root_namespace_id": int,
        "organization_id": int,
        "instance_id": str,
        "instance_uuid": str,
        "user_id": int,
        "scoped_user_id": Nullable(int),
        "time_in_queue_seconds": int,
        "project_jobs_running_on_instance_runners_count": str,
        "queue_size": int,
        "queue_depth": int,
    },
    "git_info": {
        "repo_url": str,
        "repo_object_format": OneOf(("sha1", "sha256")),
        "ref": str,
        "sha": str,
        "before_sha": str,
        "ref_type": OneOf(("branch", "tag")),
        "refspecs": [str],
        "depth": int,
        "protected": Nullable(bool),
    },
    "runner_info": {"uuid": str, "timeout": int},
    "inputs": [{"key": str, "value": {"type": str, "content": object, "sensitive": bool}}],
    "variables": [VARIABLE],
    "steps": [
        {
            "name": OneOf(("script", "after_script")),
            "script": [str],
            "timeout": int,
            "when": WHEN,
            "allow_failure": bool,
        }
    ],
    "image": Nullable(CONTAINER),
    "services": [{**CONTAINER, "variables": [VARIABLE]}],
    "artifacts": [
        {
            "name": str,
            "untracked": bool,
            "paths": [str],
            "exclude": [str],
            "when": WHEN,
            "artifact_type": str,
            "artifact_format": OneOf(("zip", "gzip", "raw", "zipzstd", "tarzstd")),
            "expire_in": str,
        }
    ],
    "cache": [
        {
            "key": str,
            "untracked": bool,
            "paths": [str],
            "policy": OneOf(("", "pull-push", "pull", "push")),
            "when": WHEN,
            "fallback_keys": [str],
        }
    ],
    "credentials": [{"type": str, "url": str, "username": str, "password": str}],
    "dependencies": [{"id": int, "token": str, "name": str, "artifacts_file": {"filename": str, "size": int}}],
    "features": {
        "trace_sections": bool,
        "token_mask_prefixes": [str],
        "failure_reasons": [str],
        "steps_artifact": bool,  # ours, as is `steps_resume`
        "tracing": Nullable(
            {"trace_id": str, "span_parent_id": str, "otel_endpoints": [{"url": str, "auth": Nullable(object)}]}
        ),
    },
    "secrets": MapOf(SECRET),
    "hooks": [{"name": OneOf(("pre_get_sources_script", "post_get_sources_script")), "script": [str]}],
    "steps_resume": Nullable(object),
    "run": str,
    "policy_options": {
        "execution_policy_job": bool,
        "policy_name": str,
        "policy_variables_override_allowed": bool,
        "policy_variables_override_exceptions": [str],
    },
    "suspend_options": {"suspend_on_success": bool, "suspend_on_failure": bool, "runtime_environment_key": str},
}
"""Every field of the protocol with its type; `object` is anything but null."""

REQUIRED: Final = frozenset({"id", "token", "job_info", "git_info", "runner_info", "variables", "steps", "features"})


def faults(value: Any, shape: Any = PAYLOAD, path: str = "") -> Iterator[str]:
    """What a strict decoder finds wrong: the place, and the value there."""
    match shape:
        case Nullable(shape=inner):
            if value is not None:
                yield from faults(value, inner, path)
        case OneOf(texts=texts):
            yield from () if value in texts else [f"{path} is {value!r}, not one of {texts}"]
        case MapOf() | list() | dict() if type(value) is (list if isinstance(shape, list) else dict):
            yield from _faults_within(value, shape, path)
        case _ if not _is_a(value, shape):
            yield f"{path} is {value!r}, not {shape!r}"


def _faults_within(value: Any, shape: Any, path: str) -> Iterator[str]:
    match shape:
        case [inner]:
            parts = [(part, inner, f"{path}[]") for part in value]
        case MapOf(shape=inner):
            parts = [(part, inner, f"{path}.{key}") for key, part in value.items()]
        case _:
            yield from (f"{path}.{key} is not a field" for key in value.keys() - shape.keys())
            parts = [(value[key], shape[key], f"{path}.{key}".removeprefix(".")) for key in shape.keys() & value.keys()]
    for part, inner, place in parts:
        yield from faults(part, inner, place)


def _is_a(value: Any, shape: Any) -> bool:
    """Whether a value is of a type, not of one below it: true is no integer."""
    return value is not None if shape is object else type(value) is shape


def fields(shape: Any = PAYLOAD, path: str = "") -> Iterator[str]:
    """The path of every field, lists as `[]`: `git_info.depth`, `steps[].name`."""
    match shape:
        case Nullable(shape=inner):
            yield from fields(inner, path)
        case MapOf(shape=inner):
            yield from fields(inner, f"{path}.*")
        case [inner]:
            yield from fields(inner, f"{path}[]")
        case dict():
            for key, inner in shape.items():
                yield from fields(inner, f"{path}.{key}".removeprefix("."))
        case _:
            yield path


def filled(value: Any, shape: Any = PAYLOAD, path: str = "") -> Iterator[str]:
    """The paths of `fields` at which a payload says something: neither null nor an empty list."""
    match shape:
        case Nullable(shape=inner):
            yield from filled(value, inner, path)
        case MapOf(shape=inner) if isinstance(value, dict):
            for part in value.values():
                yield from filled(part, inner, f"{path}.*")
        case [inner] if isinstance(value, list):
            for part in value:
                yield from filled(part, inner, f"{path}[]")
        case dict() if isinstance(value, dict):
            for key in shape.keys() & value.keys():
                yield from filled(value[key], shape[key], f"{path}.{key}".removeprefix("."))
        case _ if value is not None and not isinstance(shape, dict | list):
            yield path
