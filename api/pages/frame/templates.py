"""Templates: Jinja2 with everything escaped that is not marked as HTML."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from api.pages.frame.assets import asset_path
from api.pages.frame.copies import notice_of_copy
from api.pages.frame.form_tokens import form_token
from api.pages.frame.glyphs import sprite, symbol_of
from api.pages.frame.live_parts import Collector, Fragment
from api.pages.frame.sections import SECTIONS
from domain.diffs.visible_text import visible
from domain.moments import moment
from domain.pipelines.named_pipeline import named_pipeline
from domain.pipelines.shown_status import SHOWN, shown_as, shown_job, shown_whole
from models.rows.pipelines import PipelineRow


def stamp(value: datetime | None) -> Markup:
    """A moment: readable without a script, which makes `3 min ago` of it."""
    if value is None:
        return Markup("")
    text = value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return Markup('<time datetime="{}" title="{}" data-ago>{}</time>').format(moment(value), text, text)


def day(value: datetime) -> str:
    """A moment to come, to the minute."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def lasted(begin: datetime | None, end: datetime | None) -> Markup:
    """How long something took. What still runs shows its beginning, which a script turns into a running clock."""
    if begin is None:
        return Markup("")
    if end is None:
        text = begin.astimezone(UTC).strftime("since %H:%M:%S UTC")
        return Markup('<time datetime="{}" data-since>{}</time>').format(moment(begin), text)
    return Markup("{}").format(span(max(0.0, (end - begin).total_seconds())))


def ran(pipeline: PipelineRow) -> Markup:
    """How long a pipeline has run, without what it waited; one that has not rested yet shows a running clock."""
    if pipeline.duration is None:
        return lasted(pipeline.started_at, pipeline.finished_at)
    return Markup("{}").format(span(pipeline.duration))


def span(seconds: float) -> str:
    """Seconds as people say them: `0.4 s`, `42 s`, `3 min 5 s`, `2 h 7 min`."""
    if round(seconds, 1) < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size(count: int) -> str:
    """Bytes as people say them."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent.parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(stamp=stamp, day=day, span=span, size=size, visible=visible)
    environment.globals.update(
        asset=asset_path,
        form_token=form_token,
        lasted=lasted,
        named_pipeline=named_pipeline,
        notice_of_copy=notice_of_copy,
        ran=ran,
        project_sections=SECTIONS,
        shown=SHOWN,
        shown_as=shown_as,
        shown_job=shown_job,
        shown_whole=shown_whole,
        sprite=sprite(),
        symbol_of=symbol_of,
    )
    return environment


_ENVIRONMENT: Final = _environment()


def render(template: str, **values: Any) -> str:
    """A whole template."""
    return _ENVIRONMENT.get_template(template).render(**values)


def fragment(template: str, **values: Any) -> Fragment:
    """A live part; the template marks its pieces with `part` (`api.pages.frame.live_parts`)."""
    collector = Collector()
    frame = render(template, part=collector.part, **values)
    return Fragment(frame, collector.pieces)
