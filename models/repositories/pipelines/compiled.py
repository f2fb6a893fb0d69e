"""What a compiled configuration leaves in the database: plans of jobs and reasons, as small JSON documents."""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any, Final

from domain.config.plan import JobPlan, Plan
from domain.config.why import Clause, Why

_COLUMNS: Final = frozenset({"name", "stage", "why"})
"""Fields of a job's plan that have a place of their own."""

_ALWAYS: Final = frozenset({"script", "allow_failure"})
"""Fields that are there whatever they say: SQL reads them."""

_DEFAULTS: Final = tuple(
    (field.name, field.default if field.default_factory is MISSING else field.default_factory())
    for field in fields(JobPlan)
    if field.name not in _COLUMNS | _ALWAYS
)


def plan_document(plan: JobPlan) -> dict[str, Any]:
    """The plan of a job, without what is as by default."""
    given = ((name, getattr(plan, name), default) for name, default in _DEFAULTS)
    changed = {name: value for name, value, default in given if value is not default and value != default}
    return {"script": plan.script, "allow_failure": plan.allow_failure, **changed}


def reasons_document(plan: Plan) -> dict[str, Any]:
    """Why the pipeline is there, which jobs are not and why, and the warnings."""
    return {
        "why": why_document(plan.why),
        "absent": [{"name": job.name, "stage": job.stage, "why": why_document(job.why)} for job in plan.absent],
        "warnings": [asdict(warning) for warning in plan.warnings],
        "includes": [asdict(included) for included in plan.includes],
    }


def why_document(why: Why) -> dict[str, Any]:
    """A reason, with the clauses that were looked at; `domain.config.why.why_shown` says who sees what of it."""
    return {
        "included": why.included,
        "clause": why.clause,
        "text": why.text,
        "tried": [_clause(clause) for clause in why.tried],
    }


def _clause(clause: Clause) -> Mapping[str, Any]:
    document = {"name": clause.name, "matched": clause.matched, "expression": clause.expression}
    if clause.values:
        document |= {"values": dict(clause.values), "private": list(clause.private)}
    optional = {"detail": clause.detail, "file": clause.file, "line": clause.line}
    return {**document, **{name: value for name, value in optional.items() if value}}
