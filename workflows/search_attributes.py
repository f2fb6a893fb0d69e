"""Search attributes by which a developer finds pipelines in the Temporal Web UI."""

from typing import Final

from temporalio import workflow
from temporalio.common import SearchAttributeKey

from domain.pipelines.status import Status

PROJECT: Final = SearchAttributeKey.for_keyword("CiProject")
REF: Final = SearchAttributeKey.for_keyword("CiRef")
STATUS: Final = SearchAttributeKey.for_keyword("CiStatus")
SOURCE: Final = SearchAttributeKey.for_keyword("CiSource")
PIPELINE_ID: Final = SearchAttributeKey.for_int("CiPipelineId")

ALL: Final = (PROJECT, REF, STATUS, SOURCE, PIPELINE_ID)

_ON_ITS_WAY: Final = frozenset({Status.CREATED, Status.PREPARING, Status.PENDING, Status.RUNNING})


def shown_status(status: Status) -> str:
    """What `CiStatus` says: `running` for all that is on its way, since each change costs Temporal a write."""
    return str(Status.RUNNING if status in _ON_ITS_WAY else status)


def show(status: Status) -> None:
    """Have the workflow that calls this found by the status of its pipeline; costs nothing if it is so already."""
    wanted = shown_status(status)
    if workflow.info().typed_search_attributes.get(STATUS) != wanted:
        workflow.upsert_search_attributes([STATUS.value_set(wanted)])
