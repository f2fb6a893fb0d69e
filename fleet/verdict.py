"""How a job ended, in the words of the protocol.

Source: docs/reference/runner-protocol.md, "Job updates", "Failure reasons".
"""

from dataclasses import dataclass

ALWAYS_KNOWN = frozenset({"script_failure", "runner_system_failure", "job_execution_timeout"})
"""Failure reasons that every server understands."""

SUBSTITUTES = {
    "image_pull_failure": "runner_system_failure",
    "runner_unsupported": "runner_system_failure",
    "runner_configuration_error": "script_failure",
    "runner_external_dependency_failure": "runner_system_failure",
}
"""What is said instead of a reason that the server did not list; any other becomes `unknown_failure`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`state` is `success` or `failed`; `failure_reason` and `exit_code` only go with the latter."""

    state: str
    failure_reason: str = ""
    exit_code: int = 0

    def reported(self, known_reasons: tuple[str, ...]) -> "Verdict":
        """The same verdict with a failure reason that the server understands (`features.failure_reasons`)."""
        reason = self.failure_reason
        if self.state != "failed" or reason in ALWAYS_KNOWN or reason in known_reasons:
            return self
        substitute = SUBSTITUTES.get(reason, "unknown_failure") if reason else "script_failure"
        return Verdict(self.state, substitute, self.exit_code)


SUCCESS = Verdict("success")


def failed(reason: str, exit_code: int = 0) -> Verdict:
    """A failure for `reason`; `exit_code` is the script's, 0 where no script decided."""
    return Verdict("failed", reason, exit_code)
