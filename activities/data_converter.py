"""Temporal's pydantic data converter, with one set of type adapters for a whole process.

The SDK makes a converter for each workflow that it runs, and each would build its adapters anew: pydantic compiles one
for every type that crosses Temporal, which took a sixth of the processor time in which a worker opens pipelines.
"""

from typing import Final

from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
)

_JSON: Final = PydanticJSONPlainPayloadConverter()


class SharedPydanticConverter(CompositePayloadConverter):
    """What `PydanticPayloadConverter` does, byte by byte; its adapters are those of all others."""

    def __init__(self) -> None:
        """Take the SDK's converters, and ours for JSON."""
        usual = DefaultPayloadConverter.default_encoding_payload_converters
        super().__init__(*(_JSON if isinstance(one, JSONPlainPayloadConverter) else one for one in usual))


data_converter: Final = DataConverter(payload_converter_class=SharedPydanticConverter)
