"""Variables and reasons of pipelines as they are stored (`domain.sealed_documents`), with this installation's key."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from application.pipelines.ci_variables import opened
from auth.encryption import Sealer
from domain.config.rules.scope import names_in
from domain.config.why import why_shown
from domain.sealed_documents import Change, open_reason, open_variables, seal_variables
from domain.sealed_for import PIPELINE
from models.repositories.pipelines.bridges import Bridge
from models.repositories.queue.hand_outs import HandOut

Around = TypeVar("Around", HandOut, Bridge)


def seal_of(sealer: Sealer) -> Change:
    """What seals a value of a pipeline or a job."""
    return partial(sealer.seal, purpose=PIPELINE)


def opening_of(sealer: Sealer) -> Change:
    """What opens a value of a pipeline or a job again. Raises `Invalid` with a wrong key."""
    return partial(sealer.open, purpose=PIPELINE)


def opened_variables(sealer: Sealer, items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The variables that a pipeline or a job was given, in clear. Raises `Invalid` with a wrong key."""
    return open_variables(items, opening_of(sealer))


def reason_shown(sealer: Sealer, why: Mapping[str, Any], *, may_run: bool) -> dict[str, Any]:
    """A reason as somebody may see it (`domain.config.why.why_shown`); it is opened for those who see its values."""
    return why_shown(open_reason(why, opening_of(sealer)) if may_run else why, may_run=may_run)


def with_opened_variables(sealer: Sealer, rows: Around) -> Around:
    """The rows behind a job with all variables in clear: those of owners, of its pipeline and of the job itself."""
    return replace(
        rows,
        ci_variables=opened(sealer, rows.sealed),
        sealed=(),
        pipeline=replace(rows.pipeline, variables=opened_variables(sealer, rows.pipeline.variables)),
        job=replace(rows.job, variables=opened_variables(sealer, rows.job.variables)),
    )


def given_variables(sealer: Sealer, given: Mapping[str, str], url: str) -> list[dict[str, Any]]:
    """Variables that somebody gives a job, as they are stored: what the `url` of its environment shows is no secret."""
    items = [{"key": name, "value": value} for name, value in given.items()]
    return seal_variables(items, seal_of(sealer), clear=names_in(url))
