"""Random pipelines, and events that may happen to them: the same seed gives the same case."""

from dataclasses import replace
from random import Random
from typing import Any, Final

from tests.oracle.case import Case
from tests.oracle.events import Event
from tests.oracle.passes import settle
from tests.oracle.simulation import one_after_the_other
from tests.oracle.world import Attempt, Run, World

STAGES: Final = ("one", "two", "three", "four")
CODES: Final = (42, 137)
REASONS: Final = (
    "runner_system_failure",
    "scheduler_failure",
    "stuck_or_timeout_failure",
    "missing_dependency_failure",
)
MODES: Final = ("unordered", "oldest_first", "newest_first", "newest_ready_first")
LATER: Final = "later"
"""The pipeline of a newer commit."""

WHENS: Final = ("on_success",) * 11 + ("manual",) * 4 + ("delayed",) * 2 + ("always",) * 2 + ("on_failure",) * 2


def case_of(seed: str) -> Case:
    """A random case."""
    random = Random(seed)
    groups = [f"group-{number}" for number in range(random.choice((0, 0, 1, 2)))]
    files: dict[str, Any] = {}
    bridges = random.random() < 0.3
    config = _config(random, groups, files if bridges else None, depth=0)
    if random.random() < 0.3:
        files[LATER] = _config(random, groups, None, depth=0)
    modes = {group: random.choice(MODES) for group in groups}
    case = Case(config, (), files, modes, seed)
    return replace(case, moments=_moments(random, case, random.randint(4, 16)))


def _config(random: Random, groups: list[str], files: dict[str, Any] | None, depth: int) -> dict[str, Any]:
    stages = STAGES[: random.randint(1, 4 - depth)]
    config: dict[str, Any] = {"stages": list(stages)}
    if cancels := _cancels(random):
        config["workflow"] = {"auto_cancel": cancels}
    likes_needs = random.choice((0.0, 0.3, 0.7))
    made: list[tuple[int, str]] = []
    for number in range(random.randint(1 + (depth == 0), 7 - 2 * depth)):
        place = random.randrange(len(stages))
        name = f"{'abcdefgh'[number]}{depth or ''}"
        body: dict[str, Any] = {"stage": stages[place]}
        if files is not None and random.random() < 0.35:
            _bridge(random, body, groups, files, depth)
        else:
            _script(random, body, groups)
        _start(random, body)
        if random.random() < likes_needs:
            body["needs"] = _needs(random, [other for stage, other in made if stage <= place])
        config[name] = body
        made.append((place, name))
    if depth == 0 and random.random() < 0.15:
        config |= _skipped_beside_delayed(stages[random.randrange(len(stages))])
    if any("ghost" in str(body.get("needs", "")) for body in config.values() if isinstance(body, dict)):
        never = '$CI_COMMIT_REF_NAME == "no-such-ref"'
        config["ghost"] = {"stage": stages[0], "script": ["true"], "rules": [{"if": never}]}
    return config


def _skipped_beside_delayed(stage: str) -> dict[str, Any]:
    """A job that is skipped because of a manual one, and needs one that waits for its time."""
    work: dict[str, Any] = {"stage": stage, "script": ["true"]}
    waits = work | {"when": "delayed", "start_in": "1 hour"}
    return {"x": waits, "y": work | {"when": "manual"}, "z": work | {"needs": ["x", "y"]}}


def _cancels(random: Random) -> dict[str, str]:
    found = {}
    if random.random() < 0.15:
        found["on_job_failure"] = "all"
    if random.random() < 0.3:
        found["on_new_commit"] = random.choice(("conservative", "interruptible", "none"))
    return found


def _script(random: Random, body: dict[str, Any], groups: list[str]) -> None:
    body["script"] = ["true"]
    if random.random() < 0.3:
        body["allow_failure"] = random.choice((True, True, False, {"exit_codes": 42}, {"exit_codes": list(CODES)}))
    if random.random() < 0.25:
        body["retry"] = random.choice(
            (
                1,
                2,
                {"max": 1, "when": "runner_system_failure"},
                {"max": 2, "exit_codes": [137]},
                {"max": 1, "when": "always"},
            )
        )
    if random.random() < 0.08:
        body["parallel"] = 2
    if random.random() < 0.4:
        body["interruptible"] = random.random() < 0.7
    if groups and random.random() < 0.5:
        body["resource_group"] = random.choice(groups)


def _bridge(random: Random, body: dict[str, Any], groups: list[str], files: dict[str, Any], depth: int) -> None:
    name = f"child-{len(files)}.yml"
    files[name] = {}
    files[name] = _config(random, groups, files if depth < 1 else None, depth + 1)
    body["trigger"] = {"include": name}
    if strategy := random.choice(("", "depend", "depend", "mirror")):
        body["trigger"]["strategy"] = strategy
    if random.random() < 0.2:
        body["allow_failure"] = True
    if random.random() < 0.4:
        body["interruptible"] = True


def _start(random: Random, body: dict[str, Any]) -> None:
    when = random.choice(WHENS)
    if when == "delayed" and "trigger" in body:
        when = "manual"
    if when == "on_success":
        return
    late = {"start_in": "1 hour"} if when == "delayed" else {}
    if random.random() < 0.5:
        body |= {"when": when, **late}
        if when == "manual" and random.random() < 0.3:
            body["allow_failure"] = False
        return
    rule: dict[str, Any] = {"when": when, **late}
    if random.random() < 0.3:
        rule["allow_failure"] = random.random() < 0.6
    body["rules"] = [rule]


def _needs(random: Random, others: list[str]) -> list[Any]:
    chosen: list[Any] = random.sample(others, min(len(others), random.choice((0, 1, 1, 2, 3))))
    needs = [{"job": name, "optional": True} if random.random() < 0.2 else name for name in chosen]
    return [*needs, {"job": "ghost", "optional": True}] if random.random() < 0.1 else needs


def _moments(random: Random, case: Case, most: int) -> tuple[tuple[Event, ...], ...]:
    """What happens, chosen by what the simulation says is possible; of several worlds any may be the one."""
    world = random.choice(settle(case.world()))
    moments = []
    for _ in range(most):
        events = _moment(random, world)
        if not events:
            break
        moments.append(events)
        world, _ = random.choice(one_after_the_other(world, events))
    return tuple(moments)


def _moment(random: Random, world: World) -> tuple[Event, ...]:
    wanted = random.choice((1, 1, 1, 1, 1, 2, 2, 3))
    events: list[Event] = []
    for _ in range(wanted):
        possible = [
            (event, weight)
            for event, weight in _possible(random, world)
            if not any(_excludes(event, other) for other in events)
        ]
        if possible:
            events.append(random.choices([e for e, _ in possible], [weight for _, weight in possible])[0])
    return tuple(events)


PHYSICAL: Final = frozenset({"run", "success", "drop", "due"})


def _excludes(one: Event, other: Event) -> bool:
    """Whether the same thing would happen twice, or two runners would speak of one job."""
    same = (one.run, one.job) == (other.run, other.job)
    return same and (one.kind == other.kind or {one.kind, other.kind} <= PHYSICAL)


def _possible(random: Random, world: World) -> list[tuple[Event, float]]:
    """Events with their weights."""
    found: list[tuple[Event, float]] = []
    for run in world.runs.values():
        for attempt in run.jobs.values():
            found += [(event, weight) for event, weight in _of_job(random, run, attempt) if weight]
        for name, number in run.leaving:
            found.append((_end(random, run, name, number), 2.0))
        troubled = any(one.status in {"failed", "canceled", "skipped"} for one in run.jobs.values())
        found.append((Event("cancel_pipeline", run=run.key), 0.2))
        found.append((Event("retry_pipeline", run=run.key), 0.5 if troubled else 0.05))
    if LATER in world.files and LATER not in world.runs:
        found.append((Event("newer_commit", run=LATER), 0.5))
    return found


_COMMANDS: Final[dict[str, tuple[tuple[str, float], ...]]] = {
    "created": (("cancel", 0.15), ("play", 0.05)),
    "waiting_for_resource": (("cancel", 0.3),),
    "pending": (("cancel", 0.25),),
    "running": (("cancel", 0.8), ("retry", 0.03)),
    "canceling": (("retry", 0.3), ("cancel", 0.05)),
    "manual": (("play", 2.0), ("cancel", 0.3), ("retry", 0.05)),
    "scheduled": (("due", 1.5), ("play", 1.0), ("unschedule", 0.7), ("cancel", 0.3)),
    "success": (("retry", 0.25), ("play", 0.1)),
    "failed": (("retry", 1.2), ("play", 0.2)),
    "canceled": (("retry", 1.2),),
    "skipped": (("retry", 0.05),),
}


def _of_job(random: Random, run: Run, attempt: Attempt) -> list[tuple[Event, float]]:
    name, status = attempt.job.name, attempt.status
    commands = dict(_COMMANDS[status])
    beside = {other.status for other in run.jobs.values()}
    if status == "manual" and "scheduled" in beside:
        commands["cancel"] = 6.0  # what was skipped because of it stays so when the time of the other comes
    if status == "scheduled" and "canceled" in beside:
        commands["due"] = 6.0
    found = [(Event(kind, name, run.key), weight) for kind, weight in commands.items()]
    if attempt.job.bridge:
        return found
    if status == "pending":
        found.append((Event("run", name, run.key, graceful=random.random() < 0.4), 3.0))
        found.append((Event("drop", name, run.key, reason="stuck_or_timeout_failure"), 0.3))
    elif status in {"running", "canceling"}:
        found.append((_end(random, run, name), 4.0))
    return found


def _end(random: Random, run: Run, name: str, attempt: int = 0) -> Event:
    if random.random() < 0.55:
        return Event("success", name, run.key, attempt=attempt)
    reason = random.choice(REASONS) if random.random() < 0.25 else "script_failure"
    code = random.choice((None, 1, *CODES))
    return Event("drop", name, run.key, code, reason, attempt=attempt)
