"""The tokens of runners and for them: the one place that says what stands in them.

Source: docs/reference/reliability.md, "Tokens".
"""

from typing import Final

from auth.secret_token import FIRST_CELL, REGISTRATION, routable_token

TYPE_NUMBER: Final = {"instance_type": 1, "group_type": 2, "project_type": 3}
"""How a token names the type of its runner."""


def runner_token(prefix: str, pod_number: int, organisation_id: int, runner_type: str) -> str:
    """A new token of a runner, with `prefix` saying how it came to be.

    `organisation_id` is 0 for a runner of the whole pod; `runner_type` is
    `instance_type`, `group_type` or `project_type`.
    """
    return routable_token(prefix, {"c": pod_number + FIRST_CELL, "o": organisation_id, "t": TYPE_NUMBER[runner_type]})


def registration_token(pod_number: int, organisation_id: int) -> str:
    """A new token with which runners register; `organisation_id` is 0 for runners of the whole pod."""
    return routable_token(REGISTRATION, {"c": pod_number + FIRST_CELL, "o": organisation_id})
