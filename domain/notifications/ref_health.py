"""How the pipelines of a ref went, from one to the next: what makes a success a fix.

Source of the rules: GitLab's `Ci::Ref`, whose status moves when the last pipeline of a ref has ended.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from domain.notifications.occasions import Occasion
from domain.pipelines.status import Status


class Health(StrEnum):
    """How the pipelines of a ref go."""

    SUCCESS = "success"
    FAILED = "failed"
    FIXED = "fixed"


AFTER: Final[Mapping[Status, Mapping[Health | None, Health]]] = {
    Status.SUCCESS: {
        None: Health.SUCCESS,
        Health.SUCCESS: Health.SUCCESS,
        Health.FIXED: Health.SUCCESS,
        Health.FAILED: Health.FIXED,
    },
    Status.FAILED: dict.fromkeys((None, *Health), Health.FAILED),
}
"""What a pipeline that ends so makes of what was before; None where no pipeline of the ref has ended yet."""

_OCCASIONS: Final[Mapping[Health, Occasion]] = {
    Health.SUCCESS: Occasion.PIPELINE_SUCCEEDED,
    Health.FAILED: Occasion.PIPELINE_FAILED,
    Health.FIXED: Occasion.PIPELINE_FIXED,
}


def after(before: Health | None, status: Status) -> Health:
    """How a ref fares when its last pipeline has ended as `success` or `failed`."""
    return AFTER[status][before]


def occasion_of(status: Status, health: Health | None) -> Occasion:
    """What is told of a pipeline that has ended; `health` is None unless it is the last one of its ref."""
    if health is not None:
        return _OCCASIONS[health]
    return Occasion.PIPELINE_FAILED if status is Status.FAILED else Occasion.PIPELINE_SUCCEEDED
