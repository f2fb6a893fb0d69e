"""What this runner tells the server about itself (docs/reference/runner-protocol.md, "Runner info")."""

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

RUNNER_NAME = "perdure-runner"

DONE = (
    "variables", "artifacts", "shared", "upload_multiple_artifacts", "upload_raw_artifacts", "refspecs", "masking",
    "raw_variables", "artifacts_exclude", "multi_build_steps", "trace_reset", "trace_checksum", "trace_size",
    "cancelable", "return_exit_code", "cancel_gracefully", "two_phase_job_commit", "job_inputs",
    "native_steps_integration", "steps_resume",
)  # fmt: skip
NOT_DONE = (
    "image", "services", "cache", "fallback_cache_keys", "session", "terminal", "proxy", "vault_secrets",
    "service_variables", "service_multiple_aliases", "image_executor_opts", "service_executor_opts",
)  # fmt: skip

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "i686": "386", "armv7l": "arm"}
"""Python's machine names in the words of the protocol."""


def runner_version() -> str:
    """The version of the installed package; `0.0.0` when run from a bare checkout."""
    try:
        return version("perdure")
    except PackageNotFoundError:
        return "0.0.0"


def architecture() -> str:
    """The processor family, `amd64` for instance."""
    machine = platform.machine()
    return ARCHITECTURES.get(machine, machine)


def runner_info(executor: str = "shell") -> dict[str, Any]:
    """The `info` object of verify, job requests and updates; every feature key is present."""
    return {
        "name": RUNNER_NAME,
        "version": runner_version(),
        "revision": runner_version(),
        "platform": platform.system().lower(),
        "architecture": architecture(),
        "executor": executor,
        "shell": "bash",
        "config": {"gpus": ""},
        "features": {**dict.fromkeys(DONE, True), **dict.fromkeys(NOT_DONE, False)},
    }
