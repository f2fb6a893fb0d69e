"""Search attributes by which a developer finds pipelines in the Temporal Web UI."""

from typing import Final

from temporalio.common import SearchAttributeKey

PROJECT: Final = SearchAttributeKey.for_keyword("CiProject")
REF: Final = SearchAttributeKey.for_keyword("CiRef")
STATUS: Final = SearchAttributeKey.for_keyword("CiStatus")
SOURCE: Final = SearchAttributeKey.for_keyword("CiSource")
PIPELINE_ID: Final = SearchAttributeKey.for_int("CiPipelineId")

ALL: Final = (PROJECT, REF, STATUS, SOURCE, PIPELINE_ID)
