"""Shapes of documents."""

import pytest
from jsonschema import validate

from api.openapi.shapes import differences, schema_of

EXAMPLE = {"id": 1, "name": "a", "ratio": 1.5, "on": True, "none": None, "list": [{"a": 1}], "empty": []}


def test_an_example_fits_the_schema_that_is_made_of_it() -> None:
    schema = schema_of(EXAMPLE)
    validate(EXAMPLE, schema)
    assert schema["properties"]["on"] == {"type": "boolean"}
    assert schema["properties"]["none"] == {}
    assert schema["properties"]["list"]["items"]["properties"] == {"a": {"type": "integer"}}


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        ({**EXAMPLE, "id": 7, "ratio": 2, "none": "x", "list": [], "empty": [3]}, []),
        ({**EXAMPLE, "id": None}, []),
        ({**EXAMPLE, "id": "7"}, [".id: integer is string"]),
        ({**EXAMPLE, "on": 1}, [".on: boolean is integer"]),
        ({**EXAMPLE, "list": [{"a": 1}, {"b": 1}]}, []),
        ({**EXAMPLE, "list": [{"b": 1}]}, [".list[].a", ".list[].b"]),
        ({**EXAMPLE, "more": 1}, [".more"]),
        ({name: value for name, value in EXAMPLE.items() if name != "id"}, [".id"]),
        ([EXAMPLE], [": object is array"]),
    ],
)
def test_other_fields_and_other_kinds_are_told(found: object, wrong: list[str]) -> None:
    assert differences(EXAMPLE, found) == wrong
