"""Runs configuration cases (`samples/config.md`) through the compiler."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, Final

from domain.config.plan import NO_RETRY, CacheKey, JobPlan, Plan
from domain.config.readers.variables import scalar_text
from domain.config.reading.durations import parse_duration
from domain.config.reading.parsed_files import ParsedFiles
from domain.errors import ConfigInvalid, PipelineFiltered
from domain.pipelines.skipping import asks_to_skip
from tests.cases.report import Report
from tests.compiling import plan_of

SKIPPED: Final = Plan((), ())
"""What is left of a commit that asks for no pipeline."""

HEEDING: Final = frozenset({"push", "merge_request_event"})
"""Events for which a commit may ask for none; the others were asked for by somebody."""


def _caches(job: JobPlan) -> list[dict[str, Any]]:
    return [{**asdict(cache), "key": _key(cache.key)} for cache in job.cache]


def _key(key: CacheKey) -> Any:
    return asdict(key) if key.files or key.files_commits else key.text


def _trigger(job: JobPlan) -> dict[str, Any] | None:
    if job.trigger is None:
        return None
    forward = {
        "yaml_variables": job.trigger.forward_yaml_variables,
        "pipeline_variables": job.trigger.forward_pipeline_variables,
    }
    return {**asdict(job.trigger), "name": job.trigger.project, "forward": forward}


def _plain(value: Any) -> Any:
    """A part of a plan as JSON would hold it."""
    return None if value is None else asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


FIELDS: Final[Mapping[str, Callable[[JobPlan], Any]]] = {
    "allow_failure_criteria": lambda job: {"exit_codes": list(job.allow_failure_exit_codes)},
    "retry": lambda job: None if job.retry == NO_RETRY else asdict(job.retry),
    "services": lambda job: [{**asdict(one), **asdict(one.image)} for one in job.services],
    "cache": _caches,
    "trigger": _trigger,
    "needs": lambda job: None if job.needs is None else [{"name": need.job, **asdict(need)} for need in job.needs],
    "variables": lambda job: {name: variable.value for name, variable in job.variables.items()},
}
"""Fields of a case's job that are not written like those of a plan."""

DURATIONS: Final = frozenset({"start_in", "timeout"})
"""Fields that a case may write as text."""


def run_file(path: Path) -> Report:
    """Run every case of a file."""
    report = Report()
    for line in path.read_text().splitlines():
        if line.strip():
            case = json.loads(line)
            try:
                faults = run(case)
            except Exception as error:  # noqa: BLE001  (one case must not hide what became of the others)
                faults = [f"{type(error).__name__}: {error}"]
            report.note(case["name"], faults)
    return report


def run(case: Mapping[str, Any]) -> list[str]:
    """Compile a case; what is not as it expects."""
    if case.get("source_event", "push") in HEEDING and asks_to_skip(case.get("commit_message", "")):
        return _judge(case["expect"], SKIPPED, "skipped")
    try:
        plan = compiled(case)
    except PipelineFiltered as error:
        return _judge_refusal(case, str(error), error.reason)
    except ConfigInvalid as error:
        return _judge_refusal(case, str(error), "config_error")
    return _judge(case["expect"], plan, "created")


def compiled(case: Mapping[str, Any], parsed: ParsedFiles | None = None) -> Plan:
    """The plan of a case. Raises `ConfigInvalid`, `PipelineFiltered`."""
    return plan_of(
        case["yaml"],
        files=case.get("files"),
        changed=case.get("changed_files"),
        source=case.get("source_event", "push"),
        ref=case.get("ref", "main"),
        kind=case.get("ref_type", "branch"),
        variables=case.get("variables"),
        message=case.get("commit_message", "Change something"),
        parsed=parsed,
    )


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
    faults += _judge_warnings(expected["warnings"], plan) if "warnings" in expected else []
    faults += [f"{name} should not be there" for name in expected.get("absent", ()) if name in jobs]
    for name, wanted in expected.get("jobs", {}).items():
        faults += _judge_job(wanted, jobs[name], name) if name in jobs else [f"{name} is not there"]
    return faults


def _judge_warnings(wanted: Sequence[str], plan: Plan) -> list[str]:
    """Each warning has its gist, in the order of the plan, and there are no others."""
    found = [warning.message for warning in plan.warnings]
    fits = len(found) == len(wanted) and all(gist in message for gist, message in zip(wanted, found, strict=True))
    return [] if fits else [f"warnings are {found}, not {list(wanted)}"]


def _judge_job(wanted: Mapping[str, Any], job: JobPlan, name: str) -> list[str]:
    faults = []
    for field, value in wanted.items():
        found = FIELDS[field](job) if field in FIELDS else _plain(getattr(job, field))
        if field in DURATIONS and isinstance(value, str):
            value = parse_duration(value)
        if not _fits_field(field, value, found):
            faults.append(f"{name}: {field} is {found}, not {value}")
    return faults


def _fits_field(field: str, wanted: Any, found: Any) -> bool:
    """As `_fits`, with the short forms that some keywords have."""
    if field == "retry" and isinstance(wanted, int | Mapping):
        wanted = {"max": wanted} if isinstance(wanted, int) else wanted
        return _fits({"max": 0, **wanted}, found or asdict(NO_RETRY))
    if field == "interruptible" and wanted is False:
        return not found
    if field in {"needs", "dependencies"}:
        return (wanted is None) == (found is None) and _fits(wanted, found)
    return _fits(wanted, found)


def _fits(wanted: Any, found: Any) -> bool:
    """Objects and elements of lists fit by subset; null fits what is not set, one thing its list, a name its object."""
    if wanted is None or wanted == []:
        return found is None or (not isinstance(found, bool | int) and not found) or found == {"exit_codes": []}
    if isinstance(wanted, Mapping):
        if isinstance(found, list | tuple) and len(found) == 1:
            return _fits(wanted, found[0])
        return isinstance(found, Mapping) and all(_fits(value, found.get(name)) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list | tuple):
        return len(wanted) == len(found) and all(map(_fits, wanted, found))
    if isinstance(found, list | tuple) and len(found) == 1:
        return _fits(wanted, found[0])
    if isinstance(found, Mapping) and not isinstance(wanted, list):
        return any(found.get(key) == wanted for key in ("name", "local", "value"))
    if isinstance(found, str) and isinstance(wanted, bool | int | float):
        return found == scalar_text(wanted)
    return bool(wanted == found) and isinstance(wanted, bool) == isinstance(found, bool)
