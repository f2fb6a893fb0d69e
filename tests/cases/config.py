"""Runs configuration cases (`samples/config.md`) through the compiler."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from domain.config.compile import compile_config
from domain.config.durations import parse_duration
from domain.config.plan import JobPlan, Plan
from domain.errors import ConfigInvalid
from tests.cases.processing import LATER
from tests.cases.report import Report

NOT_COMPILED: Final = frozenset({"commit_message", "pipeline"})
"""What the compiler does not see or give: markers in commit messages, fields of pipelines."""

FIELDS: Final[Mapping[str, Callable[[JobPlan], Any]]] = {
    "stage": lambda job: job.stage,
    "when": lambda job: str(job.when),
    "allow_failure": lambda job: job.allow_failure,
    "allow_failure_criteria": lambda job: {"exit_codes": list(job.allow_failure_exit_codes)},
    "start_in": lambda job: job.start_in,
    "script": lambda job: list(job.script),
    "before_script": lambda job: list(job.before_script) or None,
    "tags": lambda job: list(job.tags) or None,
    "image": lambda job: job.image and job.image.name,
    "retry": lambda job: asdict(job.retry),
    "timeout": lambda job: job.timeout,
    "needs": lambda job: None if job.needs is None else [{"name": n.job, **asdict(n)} for n in job.needs],
    "variables": lambda job: {name: variable.value for name, variable in job.variables.items()},
}
"""Fields of a case's job, read from a plan; any other one is a keyword of a later version."""


def run_file(path: Path) -> Report:
    """Run every case of a file."""
    report = Report()
    for line in path.read_text().splitlines():
        case = json.loads(line)
        later = NOT_COMPILED.intersection([*case, *case["expect"]])
        try:
            faults = _judge(case["expect"], compile_config(case["yaml"]))
        except ConfigInvalid as error:
            faults = _judge_refusal(case, error)
            later |= {issue.path for issue in error.issues if LATER in issue.message}
        if faults and later:
            report.unsupported[case["name"]] = ", ".join(sorted(later))
        else:
            report.note(case["name"], faults)
    return report


def _judge_refusal(case: Mapping[str, Any], error: ConfigInvalid) -> list[str]:
    gists = [*case.get("accept_also", ()), *filter(None, [case["expect"].get("error")])]
    said = str(error).lower()
    return [] if any(gist.lower() in said for gist in gists) else [f"refused: {error}"]


def _judge(expected: Mapping[str, Any], plan: Plan) -> list[str]:
    if "error" in expected:
        return [f"accepted; expected the error: {expected['error']}"]
    jobs = {job.name: job for job in plan.jobs}
    faults = [f"pipeline fields are not compiled: {expected['pipeline']}"] if "pipeline" in expected else []
    if "stages" in expected and expected["stages"] != list(plan.stages):
        faults.append(f"stages are {list(plan.stages)}, not {expected['stages']}")
    faults += [f"{name} should not be there" for name in expected.get("absent", ()) if name in jobs]
    for name, fields in expected.get("jobs", {}).items():
        faults += _judge_job(fields, jobs[name], name) if name in jobs else [f"{name} is not there"]
    return faults


def _judge_job(fields: Mapping[str, Any], job: JobPlan, name: str) -> list[str]:
    faults = []
    for field, wanted in fields.items():
        found = FIELDS[field](job) if field in FIELDS else None
        if field == "start_in" and isinstance(wanted, str):
            wanted = parse_duration(wanted)
        if not _fits(wanted, found):
            faults.append(f"{name}: {field} is {found}, not {wanted}")
    return faults


def _fits(wanted: Any, found: Any) -> bool:
    """Objects and elements of lists fit by subset; a name stands for an object of that name."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            name in found and _fits(value, found[name]) for name, value in wanted.items()
        )
    if isinstance(wanted, list) and isinstance(found, list | tuple):
        return len(wanted) == len(found) and all(map(_fits, wanted, found))
    if isinstance(wanted, str) and isinstance(found, Mapping):
        return bool(found.get("name") == wanted)
    return bool(wanted == found)
