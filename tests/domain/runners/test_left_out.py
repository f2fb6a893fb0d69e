"""What a runner leaves out, by what it says of itself."""

from typing import Any

import pytest

from domain.runners.left_out import Asked, left_out
from fleet.features import runner_info

EVERYTHING = Asked({"name": "ruby:3.3"}, [{"image": {"name": "postgres:16"}}, {"image": {"name": "redis"}}], [{}])
NO_IMAGE = "X has no containers: `image` ruby:3.3 is not used."
NO_SERVICES = "X has no containers: `services` postgres:16, redis are not started."
NO_CACHE = "X keeps no caches: `cache` is neither restored nor saved."

SHELL_OF_GITLAB = {"executor": "shell", "features": {"image": False, "services": False, "cache": True}}
DOCKER_OF_GITLAB = {"executor": "docker", "features": {"image": True, "services": True, "cache": True}}
REGISTERED_ONLY = {"features": {"image": False, "services": False, "cache": True}}
"""What GitLab Runner says when it registers, whatever its executor is."""


@pytest.mark.parametrize(
    ("info", "sentences"),
    [
        (runner_info(), (NO_IMAGE, NO_SERVICES, NO_CACHE)),
        (SHELL_OF_GITLAB, (NO_IMAGE, NO_SERVICES)),
        ({"executor": "shell"}, (NO_IMAGE, NO_SERVICES)),
        ({"executor": "ssh", "features": {}}, (NO_IMAGE, NO_SERVICES)),
        ({"executor": "shell", "features": {"image": True, "services": True}}, ()),
        (DOCKER_OF_GITLAB, ()),
        ({"executor": "docker", "features": {"variables": True}}, ()),
        ({"executor": "custom"}, ()),
        (REGISTERED_ONLY, ()),
        ({}, ()),
    ],
)
def test_the_executor_and_features_decide(info: dict[str, Any], sentences: tuple[str, ...]) -> None:
    assert left_out(EVERYTHING, "X", info) == sentences


def test_nothing_is_left_out_of_a_job_that_asks_for_nothing() -> None:
    assert left_out(Asked(), "X", runner_info()) == ()
