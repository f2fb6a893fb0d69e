"""The graph of a plan as it is drawn, with one node for all instances of a parallel job; and as mermaid.

`domain.graphs` says where nodes stand, `graph_svg` draws them.
"""

from dataclasses import dataclass
from typing import Final

from cli.printable import printable
from domain.config.plan import JobPlan, Plan, When
from domain.graphs.grouping import GroupedJob, grouped
from domain.graphs.order import Vertex
from domain.variables.job_variables import group_name

KINDS: Final[dict[When, str]] = {
    When.ON_SUCCESS: "",
    When.ON_FAILURE: "after a failure",
    When.ALWAYS: "always",
    When.MANUAL: "manual",
    When.DELAYED: "delayed",
}
"""What a picture says of a job's `when`."""

_SPECIAL: Final = str.maketrans({character: f"#{ord(character)};" for character in '"#<>&`\\'})
"""Mermaid's own way to write characters that mean something to it, or to the page around it."""


@dataclass(frozen=True, slots=True)
class Node:
    """A job, or all instances of a parallel one.

    `jobs` are the instances, `vertex` says where it stands between the others.
    """

    name: str
    stage: str
    jobs: tuple[JobPlan, ...]
    vertex: Vertex

    @property
    def needs(self) -> tuple[int, ...] | None:
        """Positions in the list of nodes; None waits for the stages before."""
        return self.vertex.needs

    @property
    def label(self) -> str:
        """The name, with the number of instances."""
        return f"{self.name} ×{len(self.jobs)}" if len(self.jobs) > 1 else self.name

    @property
    def kind(self) -> When:
        """When it runs; instances that differ count as the first of them."""
        return self.jobs[0].when


def nodes(plan: Plan) -> tuple[Node, ...]:
    """What is drawn, in the order of the plan."""
    stage_of = {stage: position for position, stage in enumerate(plan.stages)}
    jobs = [
        GroupedJob(
            job.name,
            job.name if job.node_index is None else group_name(job.name),
            stage_of[job.stage],
            None if job.needs is None else tuple(need.job for need in job.needs),
        )
        for job in plan.jobs
    ]
    return tuple(
        Node(group.name, plan.stages[group.vertex.stage], tuple(plan.jobs[one] for one in group.jobs), group.vertex)
        for group in grouped(jobs)
    )


def mermaid(plan: Plan) -> str:
    """A flowchart: stages as boxes, needs as arrows; a dotted arrow says that a stage waits for the one before."""
    drawn = nodes(plan)
    lines = ["flowchart LR"]
    for number, stage in enumerate(plan.stages):
        lines.append(f'  subgraph s{number}["{_quoted(stage)}"]')
        lines += [f"    {_mermaid_node(at, node)}" for at, node in enumerate(drawn) if node.stage == stage]
        lines.append("  end")
    lines += [f"  n{need} --> n{at}" for at, node in enumerate(drawn) for need in node.needs or ()]
    waiting = {node.stage for node in drawn if node.needs is None}
    lines += [f"  s{at} -.-> s{at + 1}" for at, stage in enumerate(plan.stages[1:]) if stage in waiting]
    lines.append("  classDef manual stroke-dasharray: 4 3")
    return "\n".join(lines) + "\n"


def _mermaid_node(position: int, node: Node) -> str:
    words = KINDS[node.kind]
    label = _quoted(node.label) + (f"<br/><i>{words}</i>" if words else "")
    opening, closing = ("[[", "]]") if node.jobs[0].trigger else ("(", ")")
    manual = ":::manual" if node.kind == When.MANUAL else ""
    return f'n{position}{opening}"{label}"{closing}{manual}'


def _quoted(text: str) -> str:
    return printable(text).translate(_SPECIAL)
