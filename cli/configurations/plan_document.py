"""A plan as one JSON document: what `perdure plan --json` prints.

The fields of jobs have the names and forms of `.gitlab-ci.yml`: `start_in` is a duration as text, `timeout` is seconds,
`image` is a name. A field that is not set is null. Source: docs/command-line.md, "JSON".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from cli.configurations.offline import Outcome
from domain.config.issue import ConfigIssue
from domain.config.plan import (
    NO_RETRY,
    AbsentJob,
    Artifacts,
    Cache,
    CacheKey,
    Environment,
    Image,
    JobPlan,
    Pages,
    Plan,
    Service,
    Trigger,
    Variable,
)
from domain.config.why import Clause, Why

Document = dict[str, Any]

_UNITS: Final = (("week", 604_800), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def document(outcome: Outcome) -> Document:
    """The whole document; the same keys whether there is a pipeline, none, or errors."""
    plan = outcome.plan or Plan((), ())
    return {
        "pipeline": _pipeline(outcome, plan),
        "stages": list(plan.stages),
        "jobs": [job_document(job) for job in plan.jobs],
        "absent": [_absent(job) for job in plan.absent],
        "warnings": issue_documents(plan.warnings),
        "errors": issue_documents(outcome.errors),
    }


def issue_documents(issues: Sequence[ConfigIssue]) -> list[Document]:
    """`file`, `line`, `column`, `path` and `message` of each; the numbers are 0 where the place is not known."""
    names = ("file", "line", "column", "path", "message")
    return [{name: getattr(issue, name) for name in names} for issue in issues]


def job_document(job: JobPlan) -> Document:
    """One job with all of its fields."""
    return {"name": job.name, **{name: read(job) for name, read in FIELDS.items()}}


def duration_text(seconds: int) -> str:
    """A duration as people write it: `1 hour 30 minutes`."""
    words = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            words.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return " ".join(words) or "0 seconds"


def _pipeline(outcome: Outcome, plan: Plan) -> Document:
    context = outcome.context
    return {
        "name": plan.name or None,
        "status": outcome.status,
        "failure_reason": outcome.reason or None,
        "source": context.source,
        "ref": context.ref,
        "ref_type": str(context.ref_kind),
        "sha": context.predefined.get("CI_COMMIT_SHA"),
        "auto_cancel": asdict(plan.auto_cancel),
        "variables": _values(plan.variables),
        "includes": [asdict(included) for included in plan.includes],
        "why": _why(plan.why) if outcome.plan else None,
    }


def _why(why: Why) -> Document:
    return {
        "included": why.included,
        "clause": why.clause,
        "text": why.text,
        "tried": [_clause(clause) for clause in why.tried],
    }


def _clause(clause: Clause) -> Document:
    """Without `private`: whoever asks here gave the values themselves."""
    shown = asdict(clause) | {"values": dict(clause.values)}
    del shown["private"]
    return shown


def _absent(job: AbsentJob) -> Document:
    return {"name": job.name, "stage": job.stage, "why": _why(job.why)}


def _values(variables: Mapping[str, Variable]) -> dict[str, str]:
    return {name: variable.value for name, variable in variables.items()}


def _needs(job: JobPlan) -> list[Document] | None:
    """None for a job that waits for the stages before its own."""
    if job.needs is None:
        return None
    return [{"name": need.job, "artifacts": need.artifacts, "optional": need.optional} for need in job.needs]


def _criteria(job: JobPlan) -> Document | None:
    codes = job.allow_failure_exit_codes
    return {"exit_codes": list(codes)} if codes else None


def _retry(job: JobPlan) -> Document | None:
    return None if job.retry == NO_RETRY else _lists(asdict(job.retry))


def _image_options(image: Image | None) -> Document | None:
    """What is told of an image besides its name."""
    options = {name: value for name, value in asdict(image).items() if value and name != "name"} if image else {}
    return _lists(options) or None


def _service(service: Service) -> Document:
    return {
        "name": service.image.name,
        "alias": service.alias or None,
        "command": list(service.command) or None,
        "variables": _values(service.variables),
        "image_options": _image_options(service.image),
    }


def _cache(cache: Cache) -> Document:
    return {**_lists(asdict(cache)), "key": _cache_key(cache.key)}


def _cache_key(key: CacheKey) -> str | Document:
    files = {name: list(paths) for name in ("files", "files_commits") if (paths := getattr(key, name))}
    if not files:
        return key.text
    return {**files, **({"prefix": key.prefix} if key.prefix else {})}


def _artifacts(artifacts: Artifacts | None) -> Document | None:
    if artifacts is None:
        return None
    found = {name: value or None for name, value in _lists(asdict(artifacts)).items()}
    report = found.pop("coverage_report")
    reports = {kind: list(paths) for kind, paths in artifacts.reports.items()}
    found["reports"] = {**reports, **({"coverage_report": report} if report else {})} or None
    found["untracked"] = artifacts.untracked
    return found


def _environment(environment: Environment | None) -> Document | None:
    return _set(asdict(environment)) if environment else None


def _pages(pages: Pages | None) -> Document | None:
    return _set(asdict(pages)) if pages else None


def _trigger(trigger: Trigger | None) -> Document | None:
    if trigger is None:
        return None
    found = _set(_lists(asdict(trigger)))
    forward = {name: found.pop(f"forward_{name}") for name in ("yaml_variables", "pipeline_variables")}
    return {**found, "forward": {name: value is True for name, value in forward.items()}}


def _set(found: Mapping[str, Any]) -> Document:
    """Null in place of everything that is empty."""
    return {name: value or None for name, value in found.items()}


def _lists(found: Mapping[str, Any]) -> Document:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


FIELDS: Final[Mapping[str, Callable[[JobPlan], Any]]] = {
    "stage": lambda job: job.stage,
    "when": lambda job: str(job.when),
    "allow_failure": lambda job: job.allow_failure,
    "allow_failure_criteria": _criteria,
    "start_in": lambda job: None if job.start_in is None else duration_text(job.start_in),
    "needs": _needs,
    "foreign_needs": lambda job: [asdict(need) for need in job.foreign_needs],
    "dependencies": lambda job: None if job.dependencies is None else list(job.dependencies),
    "script": lambda job: list(job.script) or None,
    "before_script": lambda job: list(job.before_script) or None,
    "after_script": lambda job: list(job.after_script) or None,
    "run": lambda job: list(job.run) or None,
    "trigger": lambda job: _trigger(job.trigger),
    "variables": lambda job: _values(job.variables),
    "tags": lambda job: list(job.tags) or None,
    "image": lambda job: job.image.name if job.image else None,
    "image_options": lambda job: _image_options(job.image),
    "services": lambda job: [_service(service) for service in job.services] or None,
    "cache": lambda job: [_cache(cache) for cache in job.cache] or None,
    "artifacts": lambda job: _artifacts(job.artifacts),
    "retry": _retry,
    "timeout": lambda job: job.timeout,
    "interruptible": lambda job: job.interruptible,
    "environment": lambda job: _environment(job.environment),
    "resource_group": lambda job: job.resource_group or None,
    "node_index": lambda job: job.node_index,
    "node_total": lambda job: job.node_total,
    "coverage": lambda job: job.coverage or None,
    "manual_confirmation": lambda job: job.manual_confirmation or None,
    "release": lambda job: job.release or None,
    "pages": lambda job: _pages(job.pages),
    "hooks": lambda job: {name: list(lines) for name, lines in job.hooks.items()} or None,
    "id_tokens": lambda job: {name: {"aud": list(audiences)} for name, audiences in job.id_tokens.items()} or None,
    "secrets": lambda job: dict(job.secrets) or None,
    "identity": lambda job: job.identity or None,
    "dast_configuration": lambda job: job.dast_configuration or None,
    "inputs": lambda job: dict(job.inputs) or None,
    "why": lambda job: _why(job.why),
}
"""Field of a job in the document -> how it is read."""
