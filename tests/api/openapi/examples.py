"""Writes `api/openapi/examples.json`: `python -m tests.api.openapi.examples`, and look at what has changed."""

import asyncio
import hashlib
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import orjson

import api.openapi.examples
from tests.api.openapi.requests import REQUESTS, Request
from tests.api.openapi.story import SHOWN_TOKEN, Story, open_story

FILE: Final = Path(api.openapi.examples.__file__).with_name(api.openapi.examples.FILE)
_URL: Final = "https://perdure.example.com"
_HOOK: Final = "https://hook.example.com"
_SHA: Final = re.compile(r"\b[0-9a-f]{40}\b")
_WORDS: Final = (
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)"), "2026-01-31T12:00:00.000Z"),
    (re.compile(r"\d{4}-\d\d-\d\d [\d:]{8} UTC"), "2026-01-31 12:00:00 UTC"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT"), "Sat, 31 Jan 2026 12:00:00 GMT"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "3f2b0c5e-8a41-4d57-9f0e-6c1d2a7b8e90"),
    (re.compile(r"glptt-[\w.-]{10,}"), SHOWN_TOKEN),
    (re.compile(r"https?://127\.0\.0\.1:\d+"), _URL),
    (re.compile(r"Python/[\d.]+ aiohttp/[\d.]+"), "nginx"),
    (re.compile(r"\b127\.0\.0\.1\b"), "203.0.113.7"),
    (re.compile(r"\bown-top\b"), "acme"),
    (re.compile(r"\bforeign-top\b"), "others"),
    (re.compile(r"\bown-member\b"), "ada"),
    (re.compile(r"\bOwn-Member\b"), "Ada"),
)
_MEASURED: Final = {
    "duration": 1.5,
    "queued_duration": 0.5,
    "execution_duration": 0.12,
    "seconds": 0.12,
    "oldest": 12.5,
    "p50": 4.2,
    "p95": 61.5,
    "oldest_pending": 12.5,
}
"""Numbers that are others each time."""


def tidy(value: Any, story: Story, name: str = "") -> Any:
    """A document without what is another one each time."""
    if isinstance(value, dict):
        return {key: tidy(inner, story, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [tidy(inner, story) for inner in value]
    if isinstance(value, int | float) and not isinstance(value, bool) and name in _MEASURED:
        return int(_MEASURED[name]) if isinstance(value, int) else _MEASURED[name]
    return _words(value, story, name) if isinstance(value, str) else value


def _words(text: str, story: Story, name: str) -> str:
    text = text.replace(story.hook_url, _HOOK)
    if name in {"id", "short_id", "sha", "short_sha"} and re.fullmatch(r"[0-9a-f]{8}", text):
        return _of(text)[:8]
    text = _SHA.sub(lambda match: _of(match[0][:8]), text)
    for pattern, word in _WORDS:
        text = pattern.sub(word, text)
    return text


_known: dict[str, str] = {}


def _of(short: str) -> str:
    """The same sha for the same commit, whatever it was this time; none stays none."""
    if not short.strip("0"):
        return "0" * 40
    number = len(_known)
    return _known.setdefault(short, hashlib.sha1(str(number).encode()).hexdigest())


async def example_of(story: Story, request: Request) -> dict[str, Any]:
    """An example, with the response that the call got."""
    path, body = story.parameters(request), story.body(request.body)
    response = await story.call(request, path, request.query, body)
    assert response.is_success, f"{request.name}: {response.status_code} {response.text}"
    kind = response.headers.get("content-type", "")
    found = response.json() if kind.startswith("application/json") else response.text or None
    if isinstance(found, list):
        found = found[:2]  # enough to see what they are like
    values = {
        "status": response.status_code,
        "path": path,
        "query": dict(request.query),
        "body": tidy(body, story),
        "response": tidy(found, story),
    }
    return {name: value for name, value in values.items() if value not in (None, {})}


async def _write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with open_story(Path(folder)) as story:
            found = {request.name: await example_of(story, request) for request in REQUESTS}
    FILE.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")
    sys.stdout.write(f"{FILE}: {len(found)} examples\n")


if __name__ == "__main__":
    asyncio.run(_write())
