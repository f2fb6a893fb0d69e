"""Makes a case smaller for as long as the product still fails it in the same way."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from domain.errors import PerdureError
from tests.oracle.case import Case, Fault
from tests.oracle.plan import GLOBAL
from tests.oracle.trial import Open, trial

MAX_TRIALS = 600
"""After so many trials what was found must do."""


async def shrunk(fault: Fault, open_project: Open, most: int = MAX_TRIALS) -> Fault:
    """The fault of a smaller case; what comes after the fault goes first."""
    best = replace(fault, case=replace(fault.case, moments=fault.case.moments[: fault.moment]))
    left, found = most, True
    while found and left > 0:
        found = False
        for smaller in _smaller(best.case):
            left -= 1
            if left <= 0:
                break
            again = await _fault_of(smaller, open_project)
            if again is not None and again.kind() == fault.kind():
                moments = again.case.moments[: again.moment]
                best, found = replace(again, case=replace(again.case, moments=moments)), True
                break
    return best


async def _fault_of(case: Case, open_project: Open) -> Fault | None:
    """The fault of a case; one whose configuration is no longer valid has none."""
    try:
        return await trial(case, open_project)
    except (PerdureError, KeyError, ValueError):
        return None


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with something less, the greatest steps first."""
    for number in reversed(range(len(case.moments))):
        yield replace(case, moments=case.moments[:number] + case.moments[number + 1 :])
    for name in case.files:
        files = {other: body for other, body in case.files.items() if other != name}
        yield replace(_without(case, lambda event, gone=name: event.run == gone), files=files)
    for where, config in [("", case.config), *case.files.items()]:
        for smaller, gone in _smaller_configs(config):
            yield _with(case, where, smaller, gone)
    for name in case.modes:
        yield replace(case, modes={other: mode for other, mode in case.modes.items() if other != name})
    yield from _plainer_moments(case)


def _plainer_moments(case: Case) -> Iterator[Case]:
    """Cases with an event less in a moment, with a plainer one, or with one after the other."""
    for number, events in enumerate(case.moments):
        for place, event in enumerate(events):
            rest = events[:place] + events[place + 1 :]
            if rest:
                yield replace(case, moments=(*case.moments[:number], rest, *case.moments[number + 1 :]))
            for plainer in _plainer(event):
                changed = (*events[:place], plainer, *events[place + 1 :])
                yield replace(case, moments=(*case.moments[:number], changed, *case.moments[number + 1 :]))
        if len(events) > 1:
            alone = tuple((event,) for event in events)
            yield replace(case, moments=(*case.moments[:number], *alone, *case.moments[number + 1 :]))


def _plainer(event: Any) -> Iterator[Any]:
    if event.graceful:
        yield replace(event, graceful=False)
    if event.code is not None:
        yield replace(event, code=None)
    if event.reason != "script_failure":
        yield replace(event, reason="script_failure")


def _with(case: Case, where: str, config: Mapping[str, Any], gone: str) -> Case:
    """The case with another configuration; events of a job that is gone do not happen."""
    changed = replace(case, config=config) if not where else replace(case, files={**case.files, where: config})
    return _without(changed, lambda event: bool(gone) and event.job.split(" ")[0] == gone) if gone else changed


def _without(case: Case, is_gone: Any) -> Case:
    moments = (tuple(event for event in events if not is_gone(event)) for events in case.moments)
    return replace(case, moments=tuple(events for events in moments if events))


def _smaller_configs(config: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Configurations with a job, a key of a job, a need, or a stage less, and the name of the job that is gone."""
    jobs = [name for name in config if name not in GLOBAL]
    for name in jobs:
        if len(jobs) > 1:
            rest = {other: _unneeded(body, name) for other, body in config.items() if other != name}
            yield rest, name
    if "workflow" in config:
        yield {name: body for name, body in config.items() if name != "workflow"}, ""
    for name in jobs:
        for plainer in _plainer_jobs(config[name]):
            yield {**config, name: plainer}, ""
    used = {config[name].get("stage") for name in jobs}
    if any(stage not in used for stage in config.get("stages", ())):
        yield {**config, "stages": [stage for stage in config["stages"] if stage in used]}, ""
    for earlier, later in zip(config.get("stages", ())[:-1], config.get("stages", ())[1:], strict=True):
        moved = {
            name: {**config[name], "stage": earlier} if config[name].get("stage") == later else config[name]
            for name in jobs
        }
        yield {**config, **moved}, ""


def _plainer_jobs(job: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A job with a key or a need less."""
    for key in sorted(set(job) - {"script", "stage", "trigger", "start_in"}):
        body = {other: value for other, value in job.items() if other != key}
        if key == "when":
            body.pop("start_in", None)
        yield body
    for need in job.get("needs", ()):
        yield {**job, "needs": [other for other in job["needs"] if other != need]}


def _unneeded(body: Any, name: str) -> Any:
    """A job without its need of another one."""
    if not isinstance(body, Mapping) or "needs" not in body:
        return body
    return {**body, "needs": [one for one in body["needs"] if one != name and one != {"job": name, "optional": True}]}
