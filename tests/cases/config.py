"""Runs configuration cases (`samples/config.md`) through the compiler."""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any, Final

from domain.config.plan import JobPlan, Plan
from domain.config.reading.durations import parse_duration
from domain.errors import ConfigInvalid, PipelineFiltered
from domain.skipping import asks_to_skip
from tests.cases.report import Report
from tests.compiling import plan_of

SKIPPED: Final = Plan((), ())
"""What is left of a commit that asks for no pipeline."""


def _given(value: Any) -> dict[str, Any] | None:
    """The fields of a part of a plan that are not as by default."""
    if value is None:
        return None
    defaults = {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(value)
    }
    return {name: item for name, item in asdict(value).items() if defaults[name] is MISSING or item != defaults[name]}


def _caches(job: JobPlan) -> list[dict[str, Any]] | None:
    return [{**asdict(cache), "key": _key(cache.key)} for cache in job.cache] or None


def _key(key: Any) -> Any:
    return key.text if not key.files and not key.files_commits else _given(key)


def _trigger(job: JobPlan) -> dict[str, Any] | None:
    if job.trigger is None:
        return None
    forward = {
        "yaml_variables": job.trigger.forward_yaml_variables,
        "pipeline_variables": job.trigger.forward_pipeline_variables,
    }
    return {**(_given(job.trigger) or {}), "forward": forward}


FIELDS: Final[Mapping[str, Callable[[JobPlan], Any]]] = {
    "stage": lambda job: job.stage,
    "when": lambda job: str(job.when),
    "allow_failure": lambda job: job.allow_failure,
    "allow_failure_criteria": lambda job: (
        {"exit_codes": list(job.allow_failure_exit_codes)} if job.allow_failure_exit_codes else None
    ),
    "start_in": lambda job: job.start_in,
    "script": lambda job: list(job.script),
    "before_script": lambda job: list(job.before_script) or None,
    "after_script": lambda job: list(job.after_script) or None,
    "tags": lambda job: list(job.tags) or None,
    "image": lambda job: job.image and job.image.name,
    "services": lambda job: [service.image.name for service in job.services] or None,
    "retry": lambda job: asdict(job.retry) if job.retry.max else None,
    "timeout": lambda job: job.timeout,
    "interruptible": lambda job: job.interruptible,
    "resource_group": lambda job: job.resource_group or None,
    "coverage": lambda job: job.coverage or None,
    "cache": _caches,
    "artifacts": lambda job: _given(job.artifacts),
    "environment": lambda job: None if job.environment is None else asdict(job.environment),
    "trigger": _trigger,
    "dependencies": lambda job: None if job.dependencies is None else list(job.dependencies),
    "needs": lambda job: None if job.needs is None else [{"name": n.job, **asdict(n)} for n in job.needs],
    "variables": lambda job: {name: variable.value for name, variable in job.variables.items()},
}
"""Fields of a case's job, read from a plan."""


def run_file(path: Path) -> Report:
    """Run every case of a file."""
    report = Report()
    for line in path.read_text().splitlines():
        if line.strip():
            case = json.loads(line)
            report.note(case["name"], run(case))
    return report


def run(case: Mapping[str, Any]) -> list[str]:
    """Compile a case; what is not as it expects."""
    if asks_to_skip(case.get("commit_message", "")):
        return _judge(case["expect"], SKIPPED, "skipped")
    try:
        plan = plan_of(
            case["yaml"],
            files=case.get("files"),
            changed=case.get("changed_files"),
            source=case.get("source_event", "push"),
            ref=case.get("ref", "main"),
            kind=case.get("ref_type", "branch"),
            variables=case.get("variables"),
            message=case.get("commit_message", "Change something"),
        )
    except PipelineFiltered as error:
        return _judge_refusal(case, str(error), error.reason)
    except ConfigInvalid as error:
        return _judge_refusal(case, str(error), "config_error")
    return _judge(case["expect"], plan, "created")


def _judge_refusal(case: Mapping[str, Any], said: str, reason: str) -> list[str]:
    expected = case["expect"]
    gists = [*case.get("accept_also", ()), *filter(None, [expected.get("error")])]
    right = any(gist.lower() in said.lower() for gist in gists) or reason == expected.get("failure_reason")
    return [] if right else [f"expected {gists or expected}", f"refused ({reason}): {said}"]


def _judge(expected: Mapping[str, Any], plan: Plan, status: str) -> list[str]:
    if "error" in expected or "failure_reason" in expected:
        return [f"accepted; expected the error: {expected.get('error') or expected['failure_reason']}"]
    jobs = {job.name: job for job in plan.jobs}
    pipeline = {"status": status, "name": plan.name or None, "auto_cancel": asdict(plan.auto_cancel)}
    faults = []
    if not _fits(expected.get("pipeline", {}), pipeline):
        faults.append(f"the pipeline is {pipeline}, not {expected['pipeline']}")
    if "stages" in expected and expected["stages"] != list(plan.stages):
        faults.append(f"stages are {list(plan.stages)}, not {expected['stages']}")
    faults += [f"{name} should not be there" for name in expected.get("absent", ()) if name in jobs]
    for name, wanted in expected.get("jobs", {}).items():
        faults += _judge_job(wanted, jobs[name], name) if name in jobs else [f"{name} is not there"]
    return faults


def _judge_job(wanted: Mapping[str, Any], job: JobPlan, name: str) -> list[str]:
    faults = []
    for field, value in wanted.items():
        found = FIELDS[field](job)
        if field == "start_in" and isinstance(value, str):
            value = parse_duration(value)
        if not _fits(value, found):
            faults.append(f"{name}: {field} is {found}, not {value}")
    return faults


def _fits(wanted: Any, found: Any) -> bool:
    """Objects and elements of lists fit by subset; a name stands for an object of that name, one thing for its list."""
    if isinstance(wanted, Mapping):
        if isinstance(found, list | tuple) and len(found) == 1:
            return _fits(wanted, found[0])
        return isinstance(found, Mapping) and all(
            name in found and _fits(value, found[name]) for name, value in wanted.items()
        )
    if isinstance(wanted, list) and isinstance(found, list | tuple):
        return len(wanted) == len(found) and all(map(_fits, wanted, found))
    if isinstance(wanted, str) and isinstance(found, Mapping):
        return bool(found.get("name") == wanted)
    return bool(wanted == found)
