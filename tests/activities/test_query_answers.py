"""What queries are told of jobs by the database, and that they are answered without it."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from activities.query_answers import QueryAnswers
from domain.errors import NotFound
from domain.why.explanation import Explanation, Reason

TOLD = Explanation(Reason.PERSON, "It waits for a person.", {}, "Play it.")


async def answered(explain: object) -> dict[int, dict[str, str]]:
    """What a query in a thread of the worker is told."""
    answers = QueryAnswers(explain)  # type: ignore[arg-type]
    return await asyncio.to_thread(answers.explain, 3, [7])


async def test_a_query_is_told_what_pages_say() -> None:
    async def explain(pipeline_id: int, job_ids: Sequence[int]) -> Mapping[int, tuple[str, Explanation]]:
        assert (pipeline_id, job_ids) == (3, [7])
        return {7: ("manual", TOLD)}

    words = {"status": "manual", "why": "It waits for a person.", "next_step": "Play it."}
    assert await answered(explain) == {7: words}


@pytest.mark.parametrize("error", [NotFound("Pipeline Not Found"), OSError("away")])
async def test_a_database_that_fails_tells_nothing(error: Exception) -> None:
    async def explain(*_given: object) -> Mapping[int, tuple[str, Explanation]]:
        raise error

    assert await answered(explain) == {}


async def test_a_database_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A workflow task that takes two seconds fails as a deadlock."""
    monkeypatch.setattr("activities.query_answers.WITHIN", 0.05)
    asked = asyncio.Event()
    given_up = asyncio.Event()

    async def explain(*_given: object) -> Mapping[int, tuple[str, Explanation]]:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()
        return {}

    assert await answered(explain) == {}
    if asked.is_set():
        await given_up.wait()
