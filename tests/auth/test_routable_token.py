"""What stands in the token of a runner."""

import pytest

from auth.routable_token import TYPE_NUMBER, runner_token
from domain.pods.routable_token import Route, read_route
from domain.pods.token_prefixes import RUNNER, RUNNER_BY_REGISTRATION


@pytest.mark.parametrize("runner_type", TYPE_NUMBER)
@pytest.mark.parametrize("prefix", [RUNNER, RUNNER_BY_REGISTRATION])
def test_a_runners_token_leads_to_its_pod_and_organisation(prefix: str, runner_type: str) -> None:
    token = runner_token(prefix, 3, 1000, runner_type)
    assert token.startswith(prefix)
    assert read_route(token) == Route(pod_number=3, organisation_id=1000, runner_type=TYPE_NUMBER[runner_type])


def test_no_two_tokens_are_the_same() -> None:
    assert runner_token(RUNNER, 0, 0, "instance_type") != runner_token(RUNNER, 0, 0, "instance_type")
