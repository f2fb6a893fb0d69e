"""The tokens that name their pod: the one place that says what stands in them.

Source: docs/reference/reliability.md, "Tokens". Job tokens and sessions name it as their issuer (`auth.signed_token`).
"""

from typing import Final

from auth.secret_token import routable_token
from domain.pods.routable_token import Route
from domain.pods.token_prefixes import DEPLOY, PERSONAL, REGISTRATION, TRIGGER

TYPE_NUMBER: Final = {"instance_type": 1, "group_type": 2, "project_type": 3}
"""How a token names the type of its runner."""


def runner_token(prefix: str, pod_number: int, organisation_id: int, runner_type: str) -> str:
    """A new token of a runner, with `prefix` saying how it came to be.

    `organisation_id` is 0 for a runner of the whole pod; `runner_type` is
    `instance_type`, `group_type` or `project_type`.
    """
    return routable_token(prefix, Route(pod_number, organisation_id, TYPE_NUMBER[runner_type]))


def registration_token(pod_number: int, organisation_id: int = 0) -> str:
    """A new token with which runners register; `organisation_id` is 0 for runners of the whole pod."""
    return routable_token(REGISTRATION, Route(pod_number, organisation_id))


def personal_token(pod_number: int, user_id: int = 0, *, organisation_id: int = 0) -> str:
    """A new access token of a person (0 for one who is not there yet), or of an organisation's bot."""
    return routable_token(PERSONAL, Route(pod_number, organisation_id, user_id=user_id))


def trigger_token(pod_number: int, organisation_id: int, project_id: int) -> str:
    """A new token that starts pipelines of a project."""
    return routable_token(TRIGGER, Route(pod_number, organisation_id, project_id=project_id))


def deploy_token(pod_number: int, organisation_id: int, *, project_id: int = 0, group_id: int = 0) -> str:
    """A new deploy token of a project or of a group."""
    return routable_token(DEPLOY, Route(pod_number, organisation_id, project_id=project_id, group_id=group_id))
