"""Random parts of jobs: rules, filters, variables, parallel, and what `default` may hold too."""

from random import Random
from typing import Any, Final

from tests.fuzz.valid.conditions import ENVIRONMENT, NAMES, NAMES_OF_JOBS, If, random_condition
from tests.fuzz.valid.world import FOLDERS, GLOBS, VALUES, Document

DELAYS: Final = {"5 minutes": 300, "1 hour 30 min": 5_400, "a week": 604_800, "1:30": 90, "2 days": 172_800, "45": 45}
"""How long, in words and in seconds."""
LASTING: Final = {**DELAYS, "1 month": 2_592_000, "3h 10m": 11_400}
WHENS: Final = ("on_success", "on_failure", "always", "manual")
REFS: Final = ("branches", "tags", "main", "/^v\\d/", "schedules", "web", "merge_requests", "pushes", "feature")
FORMS: Final = ("branches", "tags", "main")


def variables(random: Random, most: int = 3, *, detailed: bool = True) -> Document:
    """Names and values; few refer to others, and those that are referred to refer to nothing."""
    found: Document = {}
    for name in random.sample(("A", "B", "C", "PATTERN", "FOLDER", "LINK"), random.randint(1, most)):
        value: Any = random.choice(VALUES)
        if name == "PATTERN":
            value = random.choice(("/^a/", "/b|v/", "a"))
        elif name == "FOLDER":
            value = random.choice(FOLDERS)
        elif name == "LINK":
            value = random.choice(("$A-$B", "${FOLDER}/x", "%A%", "$$A"))
        if detailed and random.random() < 0.2:
            value = {"value": value, "expand": random.random() < 0.5}
        found[name] = value
    return found


def clauses(random: Random, names: tuple[str, ...]) -> Document:
    """`if`, `changes` and `exists`: any of them, or none."""
    found: Document = {}
    if random.random() < 0.8:
        found["if"] = If.of(random_condition(random, names))
    if random.random() < 0.2:
        found["changes"] = _changes(random)
    if random.random() < 0.15:
        paths = _globs(random)
        found["exists"] = random.choice((paths, paths[0], {"paths": paths}))
    return found


def _changes(random: Random) -> Any:
    paths = _globs(random)
    if random.random() < 0.25:
        return {"paths": paths, **({"compare_to": "main"} if random.random() < 0.6 else {})}
    return paths


def _globs(random: Random) -> list[str]:
    return random.sample(list(GLOBS), random.randint(1, 2))


def rules(random: Random, *, in_environment: bool = False) -> list[Any]:
    """One to four items; some stand in a list of their own."""
    names = (*NAMES_OF_JOBS, ENVIRONMENT, ENVIRONMENT) if in_environment else NAMES_OF_JOBS
    found: list[Any] = [_rule(random, clauses(random, names)) for _ in range(random.randint(1, 3))]
    if random.random() < 0.45:
        found.append({"when": random.choice((*WHENS, "never"))})
    if random.random() < 0.15:
        found[0] = [found[0]]
    return found


def _rule(random: Random, item: Document) -> Document:
    if random.random() < 0.5 or not item:
        item["when"] = random.choice((*WHENS, "never", "never", "delayed"))
    if item.get("when") == "delayed":
        item["start_in"] = random.choice(tuple(DELAYS))
    if random.random() < 0.25:
        item["allow_failure"] = random.random() < 0.5
    if random.random() < 0.25:
        item["variables"] = variables(random, 2, detailed=False)
    if random.random() < 0.1:
        item["interruptible"] = random.random() < 0.5
    return item


def workflow(random: Random) -> Document:
    """Most end in an item that always holds."""
    found: Document = {}
    if random.random() < 0.8:
        items = [clauses(random, NAMES) for _ in range(random.randint(1, 3))]
        for item in items:
            if random.random() < 0.3 or not item:
                item["when"] = random.choice(("always", "always", "never"))
            if random.random() < 0.3:
                item["variables"] = variables(random, 2, detailed=False)
            if random.random() < 0.2:
                item["auto_cancel"] = {"on_new_commit": random.choice(("none", "interruptible"))}
        found["rules"] = [*items, *([{"when": "always"}] if random.random() < 0.8 else [])]
    if random.random() < 0.3 or not found:
        found["auto_cancel"] = {"on_new_commit": random.choice(("conservative", "none")), "on_job_failure": "all"}
    return found


def filters(random: Random) -> Document:
    """`only`, `except`, or both."""
    kinds = random.choice((("only",), ("only",), ("except",), ("only", "except")))
    return {kind: _filter(random) for kind in kinds}


def _filter(random: Random) -> Any:
    refs = random.sample(REFS, random.randint(1, 3))
    if random.random() < 0.6:
        return refs
    found: Document = {"refs": refs} if random.random() < 0.6 else {}
    if random.random() < 0.6:
        found["variables"] = [If.of(random_condition(random, NAMES_OF_JOBS)) for _ in range(random.randint(1, 2))]
    if random.random() < 0.3 or not found:
        found["changes"] = _globs(random)
    return found


def defaults(random: Random) -> Document:
    """What jobs take that do not say it themselves."""
    return {
        key: value
        for key, value in {
            "tags": random.choice((["docker"], ["big", "linux"], [])),
            "interruptible": random.random() < 0.5,
            "retry": random.choice((1, 2, {"max": 1, "when": ["runner_system_failure"]}, {"max": "2"})),
            "timeout": random.choice(tuple(LASTING)),
            "before_script": random.choice((["prepare"], "prepare", [])),
        }.items()
        if random.random() < 0.4
    }


def parallel(random: Random, *, matrix: bool = False) -> Any:
    """A number, or a matrix of one or two mappings."""
    if not matrix and random.random() < 0.4:
        return random.randint(1, 4)
    rows = []
    for _ in range(random.choice((1, 1, 2))):
        names = random.sample(("A", "B", "SIZE"), random.randint(1, 2))
        rows.append({name: random.choice((["a", "b"], ["one", "v1", "one"], "xyz", [1, 2, 3])) for name in names})
    return {"matrix": rows}


def allow_failure(random: Random) -> Any:
    """For jobs with a script."""
    return random.choice((True, False, True, {"exit_codes": 42}, {"exit_codes": [1, 137]}))
