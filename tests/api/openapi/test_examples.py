"""Each example of the OpenAPI document is true: the call answers so, with a document of that shape."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from api.openapi.examples import Example, examples
from api.openapi.shapes import differences
from tests.api.openapi.requests import REQUESTS, Request
from tests.api.openapi.story import SHOWN_TOKEN, Story, open_story

NAMED_BY_DATA = {"request_headers", "response_headers"}
"""Objects whose names are data."""


@pytest.fixture
async def story(tmp_path: Path) -> AsyncIterator[Story]:
    """The installation in which the examples were called."""
    async with open_story(tmp_path) as opened:
        yield opened


def test_each_call_that_should_have_an_example_has_one_and_no_other() -> None:
    known = {f"{method} {path}" for method, path in examples()}
    assert known == {request.name for request in REQUESTS}, "run python -m tests.api.openapi.examples"
    assert len(REQUESTS) == len(known)


async def test_a_call_answers_as_its_example_says(story: Story) -> None:
    for request in REQUESTS:
        example = examples()[request.method, f"/api/v4{request.path}"]
        assert await wrong(story, request, example) == [], f"{request.name}: run python -m tests.api.openapi.examples"


async def wrong(story: Story, request: Request, example: Example) -> list[str]:
    """Where the response is another one than the example says."""
    response = await story.call(request, example.path, example.query, _real(story, example.body))
    if response.status_code != example.status:
        return [f"{response.status_code} is not {example.status}: {response.text}"]
    if isinstance(example.response, str) or example.response is None:
        return [] if bool(response.text) == bool(example.response) else [response.text]
    return differences(_shaped(example.response), _shaped(response.json()))


def _real(story: Story, body: Any) -> Any:
    """The body of an example with the one thing in it that nobody can know."""
    if isinstance(body, dict):
        return {name: _real(story, value) for name, value in body.items()}
    return story.values["trigger_token"] if body == SHOWN_TOKEN else body


def _shaped(value: Any) -> Any:
    if isinstance(value, list):
        return [_shaped(inner) for inner in value]
    if isinstance(value, dict):
        return {name: {} if name in NAMED_BY_DATA else _shaped(inner) for name, inner in value.items()}
    return value
