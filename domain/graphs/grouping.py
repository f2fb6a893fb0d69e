"""Which node stands for which jobs: all instances of a parallel job are one, as long as that makes no circle."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.graphs.order import Vertex, whole


@dataclass(frozen=True, slots=True)
class GroupedJob:
    """A job as groups know it. `group` is the name that it shares with others of its stage, its own for one alone.

    `needs` are names of jobs, None for one that waits for its stages; those that are not there simply disappear.
    """

    name: str
    group: str
    stage: int
    needs: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Group:
    """A node: the positions of its jobs, and where it stands between the others."""

    name: str
    jobs: tuple[int, ...]
    vertex: Vertex


def grouped(jobs: Sequence[GroupedJob]) -> tuple[Group, ...]:
    """The nodes for all jobs, in the order of the first job of each.

    Two parallel jobs whose instances need one another's would need each other as nodes, and could not both stand to
    the left: such groups are shown as their single jobs.
    """
    groups = _made(jobs, frozenset())
    if whole([group.vertex for group in groups]).has_circle:
        groups = _made(jobs, _in_circles(groups))
    return groups


def _made(jobs: Sequence[GroupedJob], apart: frozenset[tuple[int, str]]) -> tuple[Group, ...]:
    members: dict[tuple[int, str, str], list[int]] = {}
    for position, job in enumerate(jobs):
        alone = job.name if (job.stage, job.group) in apart else ""
        members.setdefault((job.stage, job.group, alone), []).append(position)
    node_of = {jobs[position].name: node for node, group in enumerate(members.values()) for position in group}
    return tuple(
        Group(
            name if len(group) > 1 else jobs[group[0]].name,
            tuple(group),
            Vertex(stage, _needs(node, [jobs[position] for position in group], node_of)),
        )
        for node, ((stage, name, _), group) in enumerate(members.items())
    )


def _needs(node: int, group: Sequence[GroupedJob], node_of: dict[str, int]) -> tuple[int, ...] | None:
    """What the jobs of a node need together; None if all of them wait for their stages."""
    if all(job.needs is None for job in group):
        return None
    found = {node_of[name] for job in group for name in job.needs or () if name in node_of}
    return tuple(sorted(found - {node}))


def _in_circles(groups: Sequence[Group]) -> frozenset[tuple[int, str]]:
    """Stages and names of the groups of several jobs that may be in a circle, or come after one."""
    missing = [len(group.vertex.needs or ()) for group in groups]
    after: list[list[int]] = [[] for _ in groups]
    for node, group in enumerate(groups):
        for need in group.vertex.needs or ():
            after[need].append(node)
    free = [node for node, left in enumerate(missing) if not left]
    for node in free:  # grows while it is walked
        for later in after[node]:
            missing[later] -= 1
            if not missing[later]:
                free.append(later)
    outside = set(free)
    return frozenset(
        (group.vertex.stage, group.name)
        for node, group in enumerate(groups)
        if node not in outside and len(group.jobs) > 1
    )
