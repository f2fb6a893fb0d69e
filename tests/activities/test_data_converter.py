"""What crosses Temporal is written and read as pydantic's own converter does it, with adapters that are made once."""

from dataclasses import dataclass
from typing import Any, TypeGuard

import pytest
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter, PydanticPayloadConverter

from activities.data_converter import SharedPydanticConverter
from domain.messages import Operation, PipelineInput
from domain.pipelines.status import Status
from domain.pipelines.verdict import Verdict


@dataclass(frozen=True)
class OnlyHere:
    """A type that nothing else has sent."""

    number: int


@pytest.mark.parametrize(
    "value",
    [None, b"bytes", "text", PipelineInput(7), Operation("key", 3, {"NAME": "value"}), (Verdict(1, Status.FAILED, 2),)],
    ids=lambda value: type(value).__name__,
)
def test_payloads_are_those_of_the_sdk_s_converter(value: Any) -> None:
    usual, ours = PydanticPayloadConverter(), SharedPydanticConverter()
    payload = ours.to_payload(value)
    assert payload == usual.to_payload(value)
    assert ours.from_payload(payload, type(value)) == usual.from_payload(payload, type(value))


def test_an_adapter_is_made_once_for_all_workflows() -> None:
    first, second = SharedPydanticConverter(), SharedPydanticConverter()
    (shared,) = {id(one): one for made in (first, second) for one in made.converters.values() if _is_json(one)}.values()
    payload = first.to_payload(OnlyHere(1))
    before = shared._type_adapter.cache_info().misses
    assert [made.from_payload(payload, OnlyHere) for made in (first, second)] == [OnlyHere(1), OnlyHere(1)]
    assert shared._type_adapter.cache_info().misses == before + 1


def _is_json(converter: object) -> TypeGuard[PydanticJSONPlainPayloadConverter]:
    return isinstance(converter, PydanticJSONPlainPayloadConverter)
