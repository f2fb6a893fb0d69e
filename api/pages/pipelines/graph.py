"""The graph of a pipeline as its template draws it: nodes with their places, curves, the critical path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

from api.pages.frame.templates import span
from application.bridges.downstream_pipelines import Related
from domain.graphs.chains import critical_path
from domain.graphs.counts import Counts, counted
from domain.graphs.grouping import Group, GroupedJob, grouped
from domain.graphs.layout import Layout, Panel, Sizes, by_needs, by_stage, curve
from domain.graphs.order import Vertex
from domain.graphs.timeline import Times, took
from domain.pipelines.named_pipeline import named_pipeline
from domain.pipelines.shown_status import ALLOWED, SHOWN, WARNING, Shown, shown_job, shown_whole
from domain.pipelines.status import Folded, Status, composite, fold
from domain.variables.job_variables import group_name
from domain.why.explanation import Explanation, Reason
from models.repositories.pipelines.overview import DrawnJobRow
from models.rows.pipelines import StageRow

STAGE_SIZES: Final = Sizes(width=216, height=36, row=44, column_gap=40, stage_gap=28, padding=12, margin=8, title=0)
NEEDS_SIZES: Final = Sizes(
    width=216, height=36, row=44, column_gap=40, stage_gap=48, padding=12, heading=8, margin=8, title=0
)
MAX_NODES: Final = 2_000
"""A graph with more is a list of its stages instead; the jobs are listed page by page."""
MAX_CURVES: Final = 4_000
"""Of needs that are drawn; where there are more, a node shows its own when it is pointed at."""
DENSE: Final = 400
MAX_CHARACTERS: Final = 40
"""Of a name in a node; what has no room is cut by the picture, the whole is in the tooltip."""
MAX_TOLD: Final = 300


@dataclass(frozen=True, slots=True)
class Node:
    """What is drawn at one place. `tag` stands at its end, `told` is its tooltip; `needs` are numbers of other nodes.

    `is_after` is true for one that waits for all stages before its own.
    """

    number: int
    name: str
    shown: Shown
    href: str
    tag: str
    told: str
    words: str
    x: int
    y: int
    stage: int
    needs: tuple[int, ...]
    is_after: bool
    is_critical: bool


@dataclass(frozen=True, slots=True)
class StageShown:
    """A stage as a heading of the picture."""

    name: str
    shown: Shown
    panel: Panel
    jobs: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole graph. `near` and `far` are the curves of needs, `critical` those of the critical path."""

    nodes: tuple[Node, ...]
    stages: tuple[StageShown, ...]
    near: str
    far: str
    critical: str
    seconds: float
    width: int
    height: int
    sizes: Sizes

    @property
    def is_dense(self) -> bool:
        """Whether so many curves cross that they are drawn paler."""
        return self.near.count("M") + self.far.count("M") > DENSE


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a graph is drawn from."""

    jobs: Sequence[DrawnJobRow]
    stages: Sequence[StageRow]
    whys: Mapping[int, Explanation]
    downstream: Mapping[int, Related]
    address: str
    project: str
    now: datetime


def groups_of(jobs: Sequence[DrawnJobRow]) -> tuple[Group, ...]:
    """The nodes of a pipeline: instances of a parallel job are one, by their names, as in GitLab."""
    return grouped(
        [
            GroupedJob(
                job.name,
                group_name(job.name),
                job.stage_position,
                None if job.needs is None else tuple(job.needs),
            )
            for job in jobs
        ]
    )


def picture(drawn: Drawn, groups: Sequence[Group], view: str) -> Picture:
    """The graph by `stage` or by `needs`; downstream pipelines stand to the right of the bridges that have them."""
    vertices = [group.vertex for group in groups]
    followed = [
        (number, drawn.downstream[drawn.jobs[job].id])
        for number, group in enumerate(groups)
        for job in group.jobs
        if drawn.jobs[job].id in drawn.downstream
    ]
    last = len(drawn.stages)
    every = [*vertices, *(Vertex(last, (number,)) for number, _ in followed)]
    sizes = NEEDS_SIZES if view == "needs" else STAGE_SIZES
    where = by_needs(every, sizes) if view == "needs" else by_stage(every, last + bool(followed), sizes)
    seconds = [max(took(_times(drawn.jobs[job]), drawn.now) for job in group.jobs) for group in groups]
    chain = critical_path(vertices, seconds)
    on_path = set(chain.vertices)
    nodes = [
        _node(drawn, group, number, where.corners[number], number in on_path) for number, group in enumerate(groups)
    ]
    nodes += [
        _below(related, len(groups) + at, where.corners[len(groups) + at], last, above)
        for at, (above, related) in enumerate(followed)
    ]
    near, far = _curves(every, where, sizes)
    return Picture(
        nodes=tuple(nodes),
        stages=tuple(_stages(drawn, where)),
        near=near,
        far=far,
        critical=" ".join(
            curve(where.corners[first], where.corners[second], sizes) for first, second in pairwise(chain.vertices)
        ),
        seconds=chain.seconds,
        width=where.width,
        height=where.height,
        sizes=sizes,
    )


def shown_group(jobs: Sequence[DrawnJobRow]) -> Shown:
    """The state of several jobs together; one that passed although some failed that may is a warning."""
    pairs = [(Status(job.status), job.allow_failure) for job in jobs]
    status = composite(pairs)
    is_warned = status is Status.SUCCESS and any(fold(*pair) == Folded.WARNING for pair in pairs)
    return SHOWN[WARNING if is_warned else status]


def _times(job: DrawnJobRow) -> Times:
    return Times(job.queued_at, job.started_at, job.finished_at)


def _node(drawn: Drawn, group: Group, number: int, corner: tuple[int, int], is_critical: bool) -> Node:
    jobs = [drawn.jobs[job] for job in group.jobs]
    first = jobs[0]
    is_one = len(jobs) == 1
    shown = shown_job(first) if is_one else shown_group(jobs)
    counts = counted((Status(job.status), job.allow_failure) for job in jobs)
    words = shown.label if is_one else _counted(counts)
    why = drawn.whys.get(first.id) if is_one else None
    return Node(
        number=number,
        name=_cut(group.name, MAX_CHARACTERS),
        shown=shown,
        href=f"/{drawn.project}/-/jobs/{first.id}" if is_one else f"{drawn.address}?open={number}#opened",
        tag="" if is_one else f"{counts.passed}/{counts.total}",
        told="\n".join(
            filter(
                None,
                [
                    f"{_cut(group.name, MAX_TOLD)}: {words}",
                    _ran(first) if is_one else "",
                    "" if why is None else _steady(why),
                ],
            )
        ),
        words=words,
        x=corner[0],
        y=corner[1],
        stage=first.stage_position,
        needs=group.vertex.needs or (),
        is_after=group.vertex.needs is None,
        is_critical=is_critical,
    )


def _steady(why: Explanation) -> str:
    """Why a job is as it is, as long as that stays: its place in the queue would change every node all the time."""
    if why.reason is Reason.RUNNER:
        return "It waits for a runner that fits; its place in the queue is told among the jobs."
    return f"{why.text} {why.next_step}".strip()


def _ran(job: DrawnJobRow) -> str:
    """How often a job was tried, and how long it took the last time if that is over."""
    parts = [f"attempt {job.attempt}"] if job.attempt > 1 else []
    if job.started_at is not None and job.finished_at is not None:
        parts.append(f"took {span((job.finished_at - job.started_at).total_seconds())}")
    return ", ".join(parts)


def _counted(counts: Counts) -> str:
    """As `12/40 passed, 3 failed`."""
    rest = [
        f"{number} {(ALLOWED if state == Folded.WARNING else SHOWN[state]).label}"
        for state, number in counts.by_state.items()
        if state != Status.SUCCESS
    ]
    return ", ".join([f"{counts.passed}/{counts.total} passed", *rest])


def _below(related: Related, number: int, corner: tuple[int, int], stage: int, above: int) -> Node:
    """A downstream pipeline."""
    shown = shown_whole(related.row)
    name = f"{related.full_path} {named_pipeline(related.row.id)}"
    return Node(
        number=number,
        name=_cut(name, MAX_CHARACTERS),
        shown=shown,
        href=f"/{related.full_path}/-/pipelines/{related.row.id}",
        tag="",
        told=f"{named_pipeline(related.row.id)} of {_cut(related.full_path, MAX_TOLD)}: {shown.label}",
        words=f"downstream pipeline, {shown.label}",
        x=corner[0],
        y=corner[1],
        stage=stage,
        needs=(above,),
        is_after=False,
        is_critical=False,
    )


def _stages(drawn: Drawn, where: Layout) -> list[StageShown]:
    numbers = [0] * len(drawn.stages)
    for job in drawn.jobs:
        numbers[job.stage_position] += 1
    found = []
    for panel in where.panels:
        if panel.stage < len(drawn.stages):
            stage = drawn.stages[panel.stage]
            found.append(StageShown(_cut(stage.name, MAX_CHARACTERS), shown_whole(stage), panel, numbers[panel.stage]))
        else:
            found.append(StageShown("Downstream", SHOWN[Status.CREATED], panel, len(drawn.downstream)))
    return found


def _curves(vertices: Sequence[Vertex], where: Layout, sizes: Sizes) -> tuple[str, str]:
    """The curves that end in the next column, and those that go further and cross other nodes."""
    if sum(len(vertex.needs or ()) for vertex in vertices) > MAX_CURVES:
        return "", ""
    near: list[str] = []
    far: list[str] = []
    for number, vertex in enumerate(vertices):
        end = where.corners[number]
        for need in vertex.needs or ():
            start = where.corners[need]
            is_far = end[0] - start[0] - sizes.width > sizes.near
            (far if is_far else near).append(curve(start, end, sizes))
    return " ".join(near), " ".join(far)


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
