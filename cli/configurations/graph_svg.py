"""A plan as a picture: one SVG file that needs nothing else, light or dark as the reader's system is.

Stages are panels, needs are curves. Without a script: pointing at a job lights up its needs and what needs it.
"""

import html
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from cli.configurations.plan_graph import KINDS, Node, nodes
from cli.printable import printable
from domain.config.plan import Plan, When
from domain.graphs.layout import Layout, Panel, Sizes, by_stage, curve

GLYPHS: Final = {
    When.ON_SUCCESS: "●",
    When.ON_FAILURE: "✗",
    When.ALWAYS: "◆",
    When.MANUAL: "▶",
    When.DELAYED: "◷",
}
BRIDGE: Final = "⇢"

SIZES: Final = Sizes()
MAX_CHARACTERS: Final = 24
"""Of a node's label; the whole name is in its tooltip."""
MAX_STAGE_CHARACTERS: Final = 28
MAX_TOLD: Final = 12
"""Instances that a tooltip names."""

STYLE: Final = """
svg{--page:#ffffff;--panel:#f5f6f8;--node:#ffffff;--line:#d5d9e0;--text:#1c2330;--soft:#667085;--edge:#98a3b5;
--accent:#2f6fde;--manual:#8a5a00;--always:#0b7a5d;font-family:ui-sans-serif,system-ui,"Segoe UI",Roboto,sans-serif}
@media(prefers-color-scheme:dark){svg{--page:#12151b;--panel:#1a1f28;--node:#242b37;--line:#38414f;--text:#e8ecf2;
--soft:#98a3b3;--edge:#76839a;--accent:#7aa9ff;--manual:#e9b44c;--always:#5ccfa6}}
text{fill:var(--text);font-size:13px}
.page{fill:var(--page)}.panel{fill:var(--panel)}
.title{font-size:17px;font-weight:600}.sub,.count,.tag{fill:var(--soft)}.sub{font-size:13px}.count,.tag{font-size:11px}
.stage{font-weight:600}
.node rect{fill:var(--node);stroke:var(--line);stroke-width:1.2}
.node .glyph{fill:var(--accent);text-anchor:middle}
.manual rect,.delayed rect{stroke-dasharray:5 3}
.manual .glyph,.delayed .glyph{fill:var(--manual)}.always .glyph,.on_failure .glyph{fill:var(--always)}
.node:hover rect{stroke:var(--accent);stroke-width:2}
.edge{fill:none;stroke:var(--edge);stroke-width:1.3}.far{opacity:.55}.optional{stroke-dasharray:2 4}
.flow{fill:none;stroke:var(--soft);stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.start{fill:var(--accent)}
""".strip()


def svg(plan: Plan, title: str) -> str:
    """The whole picture; `title` stands over it."""
    drawn = nodes(plan)
    where = by_stage([node.vertex for node in drawn], len(plan.stages), SIZES)
    width = max(where.width, SIZES.margin * 2 + len(title) * 9)
    parts = [
        _opening(width, where.height, title),
        f"<title>{_escaped(title)}</title>",
        f"<style>{STYLE}\n{_hover(drawn)}</style>",
        '<rect class="page" width="100%" height="100%"/>',
        f'<text class="title" x="{SIZES.margin}" y="{SIZES.margin + 16}">{_escaped(title)}</text>',
        f'<text class="sub" x="{SIZES.margin}" y="{SIZES.margin + 38}">{_escaped(_summary(plan))}</text>',
        *_panels(where, drawn, plan.stages),
        *_edges(drawn, where),
        *(_node(position, node, where.corners[position]) for position, node in enumerate(drawn)),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _opening(width: int, height: int, title: str) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{_escaped(title)}">'


def _summary(plan: Plan) -> str:
    absent = f", {len(plan.absent)} not in this pipeline" if plan.absent else ""
    return f"{_counted(len(plan.jobs), 'job')} in {_counted(len(plan.stages), 'stage')}{absent}"


def _hover(drawn: Sequence[Node]) -> str:
    """Rules that light up the curves of the node that is pointed at."""
    ends = {end for at, node in enumerate(drawn) for need in node.needs or () for end in (at, need)}
    return "\n".join(
        f"svg:has(#n{end}:hover) .e{end}{{stroke:var(--accent);stroke-width:2.5;opacity:1}}" for end in sorted(ends)
    )


def _panels(where: Layout, drawn: Sequence[Node], stages: Sequence[str]) -> Iterator[str]:
    """Stages, and arrows to those in which a job waits for the stages before."""
    top, height = SIZES.margin + SIZES.title, where.height - 2 * SIZES.margin - SIZES.title
    counts = Counter[int]()
    for node in drawn:
        counts[node.vertex.stage] += len(node.jobs)
    for panel in where.panels:
        count, y = counts[panel.stage], top + 26
        yield f'<rect class="panel" x="{panel.x}" y="{top}" width="{panel.width}" height="{height}" rx="10"/>'
        name, left = _cut(stages[panel.stage], MAX_STAGE_CHARACTERS), panel.x + SIZES.padding
        yield f'<text class="stage" x="{left}" y="{y}">{name}</text>'
        right = panel.x + panel.width - SIZES.padding
        yield f'<text class="count" x="{right}" y="{y}" text-anchor="end">{count}</text>'
    waiting = {node.vertex.stage for node in drawn if node.needs is None}
    for before, panel in pairwise(where.panels):
        if panel.stage in waiting:
            yield _flow(before, panel, stages[panel.stage], top + SIZES.heading // 2 + 2)


def _flow(before: Panel, panel: Panel, stage: str, y: int) -> str:
    start, end = before.x + before.width + 10, panel.x - 10
    title = f"jobs of {stage} without needs wait for the stages before"
    return (
        f'<path class="flow" d="M{start} {y}H{end}M{end - 6} {y - 5}L{end} {y}L{end - 6} {y + 5}">'
        f"<title>{_escaped(title)}</title></path>"
    )


def _edges(drawn: Sequence[Node], where: Layout) -> Iterator[str]:
    for position, node in enumerate(drawn):
        optional = {need.job for job in node.jobs for need in job.needs or () if need.optional}
        for need in node.needs or ():
            start, end = where.corners[need], where.corners[position]
            kind = " optional" if drawn[need].jobs[0].name in optional else ""
            kind += " far" if end[0] - start[0] - SIZES.width > SIZES.near else ""
            yield f'<path class="edge e{need} e{position}{kind}" d="{curve(start, end, SIZES)}"/>'


def _node(position: int, node: Node, corner: tuple[int, int]) -> str:
    x, y = corner
    middle = SIZES.height // 2 + 5
    glyph = BRIDGE if node.jobs[0].trigger else GLYPHS[node.kind]
    tag = f"×{len(node.jobs)}" if len(node.jobs) > 1 else ""
    start = f'<circle class="start" cx="0" cy="{SIZES.height // 2}" r="3.5"/>' if node.needs == () else ""
    return (
        f'<g class="node {node.kind}" id="n{position}" transform="translate({x} {y})">'
        f"<title>{_escaped(_told(node))}</title>"
        f'<rect width="{SIZES.width}" height="{SIZES.height}" rx="7"/>{start}'
        f'<text class="glyph" x="18" y="{middle}">{glyph}</text>'
        f'<text x="34" y="{middle}">{_cut(node.name, MAX_CHARACTERS - (len(tag) + 1 if tag else 0))}</text>'
        f'<text class="tag" x="{SIZES.width - 10}" y="{middle}" text-anchor="end">{tag}</text></g>'
    )


def _told(node: Node) -> str:
    """The tooltip: name, what is special, what it waits for, why it is here."""
    job = node.jobs[0]
    lines = [node.label, *filter(None, [KINDS[node.kind], "may fail" if job.allow_failure else ""])]
    if node.needs == ():
        lines.append("starts at once")
    elif job.needs:
        lines.append("needs " + ", ".join(need.job for need in job.needs[:MAX_TOLD]))
    if len(node.jobs) > 1:
        names = [one.name for one in node.jobs[:MAX_TOLD]]
        lines.append(", ".join(names) + (", ..." if len(node.jobs) > MAX_TOLD else ""))
    return "\n".join([*map(printable, lines), printable(f"why: {job.why.text}")])


def _cut(text: str, characters: int) -> str:
    return _escaped(text if len(text) <= characters else text[: characters - 1] + "…")


def _escaped(text: str) -> str:
    """Text fit for XML: no markup, no characters that XML forbids."""
    return html.escape("\n".join(printable(line) for line in text.split("\n")))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
