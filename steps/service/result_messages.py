"""Lines of the file of results as messages that everybody can take."""

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.json_format import Error as JsonError
from google.protobuf.json_format import ParseDict

from domain.errors import NotFound
from domain.steps.fitting import smaller
from steps.proto import step_runner_pb2 as messages
from steps.service.times import timestamp

MAX_RESULT: Final = 3 * 1024 * 1024
"""Bytes of a result; with what comes with it a message stays below the 4 MiB that readers take."""


def result_of(line: Mapping[str, Any]) -> messages.StepResult:
    """A line as a message. What is too large for one is left out. Raises `NotFound` for a line that is none of ours."""
    try:
        found = _fitting(line["result"])
        found.path.extend(line["path"])
        found.stdout, found.stderr = line["stdout"], line["stderr"]
        if (at := timestamp(line["at"])) is not None:
            found.time.CopyFrom(at)
    except (JsonError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise NotFound(f"a result of the run is not what it was: {error}") from None
    return found


def _fitting(document: Mapping[str, Any]) -> messages.StepResult:
    found = messages.StepResult()
    for told in smaller(document):
        found = messages.StepResult()
        ParseDict(told, found)
        if found.ByteSize() <= MAX_RESULT:
            break
    return found
