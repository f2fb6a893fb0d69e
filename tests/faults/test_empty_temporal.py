"""Temporal's database is deleted in the middle of 20 running pipelines: SQL alone brings each to its right end."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domain.pipelines.status import COMPLETE
from tests.faults.played_pod import PlayedPod, played_pod
from tests.waiting import eventually

pytestmark = pytest.mark.slow

SHAPES = {
    "stages": """
        compile a: {stage: one, script: x}
        compile b: {stage: one, script: x}
        check a: {stage: two, script: x}
        check b: {stage: two, script: x}
    """,
    "graph": """
        root: {stage: two, needs: [], script: x}
        left: {stage: two, needs: [root], script: x}
        right: {stage: two, needs: [root], script: x}
        join: {stage: two, needs: [left, right], script: x}
    """,
    "gates": """
        before: {stage: one, script: x}
        play it: {stage: two, when: manual, allow_failure: false, script: x}
        left alone: {stage: two, when: manual, script: x}
        later: {stage: two, when: delayed, start_in: 3 seconds, script: x}
    """,
    "troubled": """
        flaky: {stage: one, retry: 1, variables: {PLAY: "1 ok"}, script: x}
        allowed: {stage: one, allow_failure: true, variables: {PLAY: "1"}, script: x}
        in turn: {stage: two, resource_group: line, script: x}
    """,
    "broken": """
        broken: {stage: one, variables: {PLAY: "1"}, script: x}
        spared: {stage: two, script: x}
        rescue: {stage: two, when: on_failure, script: x}
    """,
}
"""What each kind of pipeline consists of; one more job follows, which no runner takes before Temporal is empty."""

RIGHT_ENDS = {"broken": "failed"}
"""How each kind ends that is no success."""

OTHER_JOBS = {
    "left alone": ("manual", 1),
    "flaky": ("success", 2),
    "allowed": ("failed", 1),
    "broken": ("failed", 1),
    "spared": ("skipped", 1),
}
"""Status and number of attempts of each job that does not succeed at once."""

EACH = 4
LAST = "the last"
TAG = "last"


def config() -> str:
    """One configuration for all shapes; variable `SHAPE` chooses."""
    lines = ["stages: [one, two, three]", f"{LAST}: {{stage: three, when: always, tags: [{TAG}], script: x}}"]
    for shape, jobs in SHAPES.items():
        only = f"only: {{variables: ['$SHAPE == \"{shape}\"']}}"
        lines += [line.strip().replace(": {", f": {{{only}, ", 1) for line in jobs.strip().splitlines()]
    return "\n".join(lines) + "\n"


@pytest.fixture
async def pod(tmp_path: Path) -> AsyncIterator[PlayedPod]:
    async with played_pod(tmp_path, {".gitlab-ci.yml": config()}) as running:
        yield running


async def test_sql_alone_brings_all_pipelines_to_their_ends(pod: PlayedPod) -> None:
    await pod.push("ci.skip")
    pipelines = {await pod.create(SHAPE=shape): shape for shape in SHAPES for _ in range(EACH)}
    assert len(pipelines) == 20
    async with pod.playing(longest=0.5) as players:

        async def half_way() -> bool:
            return len(players.seen.acknowledged) >= 25

        await eventually(half_way, "some jobs have ended", 60)
        await pod.empty_temporal()
        assert not any(pod.ledger.status(pipeline) in COMPLETE for pipeline in pipelines)
        async with pod.playing([await pod.runner(TAG)]) as last:
            await pod.over(*pipelines)
    ends = {pipeline: pod.ledger.end(pipeline) for pipeline in pipelines}
    assert {pipeline: end.pipeline for pipeline, end in ends.items()} == {
        pipeline: RIGHT_ENDS.get(shape, "success") for pipeline, shape in pipelines.items()
    }
    for pipeline, shape in pipelines.items():
        expected = {name: OTHER_JOBS.get(name, ("success", 1)) for name in _names(shape)}
        assert ends[pipeline].jobs == expected
    assert players.seen.asked_again == last.seen.asked_again == []
    assert len(last.seen.acknowledged) == len(pipelines)


def _names(shape: str) -> list[str]:
    return [LAST, *(line.strip().partition(": {")[0] for line in SHAPES[shape].strip().splitlines())]
