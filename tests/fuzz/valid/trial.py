"""One world through the compiler, beside what the judge expects of it."""

from dataclasses import asdict, dataclass
from typing import Any

from domain.config.plan import JobPlan, Plan
from domain.errors import ConfigInvalid, PipelineFiltered
from tests.compiling import plan_of
from tests.fuzz.invariants import broken_rules
from tests.fuzz.valid.judge import Expected, Judge
from tests.fuzz.valid.parts import DELAYS
from tests.fuzz.valid.world import MAIN, World


@dataclass(frozen=True)
class Verdict:
    """`outcome` is planned, filtered or refused; `faults` are disagreements and broken rules."""

    outcome: str
    faults: tuple[str, ...]
    jobs: int = 0


def trial(world: World) -> Verdict:
    """Compile a world, and say where the compiler and the judge differ. Whatever else it raises is a trace."""
    expected = Judge(world).expected()
    try:
        plan = compiled(world.texts(), world)
    except PipelineFiltered as filtered:
        return Verdict("filtered", _unless(expected.filtered == filtered.reason, f"{filtered}", expected))
    except ConfigInvalid as invalid:
        return Verdict("refused", _unless(_names_all(invalid, expected), f"{invalid}", expected))
    if expected.filtered or expected.refused:
        return Verdict("planned", _unless(False, "a plan", expected))
    return Verdict("planned", (*broken_rules(plan), *_differences(plan, expected)), len(plan.jobs))


def compiled(texts: dict[str, str], world: World) -> Plan:
    """The plan of the texts for the world's event."""
    happening = world.happening
    files = {path: text for path, text in texts.items() if path != MAIN}
    return plan_of(
        texts[MAIN],
        files={**files, MAIN: ""},
        changed=happening.changed,
        source=happening.source,
        ref=happening.ref,
        kind=happening.kind,
        variables=happening.variables,
    )


def _unless(agreed: bool, found: str, expected: Expected) -> tuple[str, ...]:
    return () if agreed else (f"found {found}; expected {_told(expected)}",)


def _told(expected: Expected) -> str:
    if expected.refused:
        return f"to be refused: {sorted(expected.refused)}"
    return expected.filtered or f"the jobs {sorted(expected.jobs)}"


def _names_all(invalid: ConfigInvalid, expected: Expected) -> bool:
    """Each expected need is told, and nothing else."""
    told = [issue.message for issue in invalid.issues]
    return bool(expected.refused) and all(
        any(f"'{job}' job needs '{need}' job" in text or (text.startswith(f"{job} ") and need in text) for text in told)
        for job, need in expected.refused
    )


def _differences(plan: Plan, expected: Expected) -> list[str]:
    found = {job.name: _document(job) for job in plan.jobs}
    faults = [f"{name} is in" for name in found.keys() - expected.jobs.keys()]
    faults += [f"{name} is missing" for name in expected.jobs.keys() - found.keys()]
    if plan.stages != expected.stages:
        faults.append(f"stages are {plan.stages}, expected {expected.stages}")
    if plan.auto_cancel.on_new_commit != expected.on_new_commit:
        faults.append(f"on_new_commit is {plan.auto_cancel.on_new_commit}, expected {expected.on_new_commit}")
    for name in found.keys() & expected.jobs.keys():
        wanted = expected.jobs[name]
        faults += [
            f"{name}: {key} is {value!r}, expected {wanted[key]!r}"
            for key, value in found[name].items()
            if value != wanted[key]
        ]
    return faults


def _document(job: JobPlan) -> dict[str, Any]:
    """What the judge speaks of."""
    environment = job.environment
    return {
        "stage": job.stage,
        "when": str(job.when),
        "start_in": next((words for words, seconds in DELAYS.items() if seconds == job.start_in), job.start_in),
        "allow_failure": job.allow_failure,
        "exit_codes": job.allow_failure_exit_codes,
        "needs": None if job.needs is None else [asdict(need) for need in job.needs],
        "dependencies": None if job.dependencies is None else list(job.dependencies),
        "variables": {name: (variable.value, variable.raw) for name, variable in job.variables.items()},
        "node": (job.node_index, job.node_total),
        "tags": job.tags,
        "interruptible": job.interruptible,
        "retry": job.retry.max,
        "timeout": job.timeout,
        "before_script": job.before_script,
        "script": job.script,
        "environment": environment and (environment.name, environment.action, environment.on_stop),
        "project": job.trigger and job.trigger.project,
    }
