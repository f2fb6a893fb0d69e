"""Random worlds whose configurations are right: the same seed gives the same world.

What may still be wrong depends on the event, as in GitLab: a need whose job is left out by its rules.
"""

from random import Random
from typing import Any, Final

from tests.fuzz.valid import parts
from tests.fuzz.valid.conditions import If, random_condition
from tests.fuzz.valid.documents import extended
from tests.fuzz.valid.world import MAIN, Document, Reference, World, happening

STAGES: Final = ("prepare", "build", "test", "check", "ship")
DEFAULT_STAGES: Final = ("build", "test", "deploy")
ONE, TWO, EXTRA, TEMPLATE = "ci/one.yml", "ci/two.yml", "ci/extra.yml", "ci/templates/lint.yml"
CHILD: Final = "ci/child.yml"


def world_of(seed: str, *, one_file: bool = False) -> World:
    """A random world; with `one_file` nothing is included."""
    random = Random(seed)
    made = _Configuration(random)
    files = {MAIN: [made.root]} if one_file else _split(random, made)
    files[CHILD] = [{"child": {"script": "true"}}]
    return World(seed, files, happening(random))


class _Configuration:
    """One mapping, built from the top down."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.root: Document = {}
        self.bases: dict[str, str] = {}
        """Hidden jobs, and which kind of job may extend them: any, ruled, or filtered."""
        self.jobs: list[str] = []
        self.stages = self._top()
        for number in range(random.choice((0, 1, 2, 3))):
            self._base(f".base-{number}")
        for number in range(random.randint(1, 9)):
            self._job(f"{'abcdefghi'[number]}{random.choice(('', ' job', ':x', '-1'))}")
        if random.random() < 0.2:
            self._environment_pair()

    def _top(self) -> tuple[str, ...]:
        random, root = self.random, self.root
        stages: tuple[str, ...] = DEFAULT_STAGES
        if random.random() < 0.8:
            count = random.randint(1, 4)
            stages = tuple(sorted(random.sample(STAGES, count), key=STAGES.index))
            written: list[Any] = list(stages)
            root["stages"] = [written[:1], *written[1:]] if random.random() < 0.15 else written
        if random.random() < 0.5:
            root["default"] = parts.defaults(random) or {"tags": ["docker"]}
        if random.random() < 0.7:
            root["variables"] = parts.variables(random, 4)
            if random.random() < 0.2:
                root["variables"]["C"] = {"value": "b", "description": "Which", "options": ["a", "b"]}
        if random.random() < 0.35:
            root["workflow"] = parts.workflow(random)
        return (".pre", *stages, ".post")

    def _base(self, name: str) -> None:
        """A hidden job: parts of jobs, on top of other hidden ones."""
        random = self.random
        kind = random.choice(("any", "any", "ruled", "filtered"))
        base = self._neutral()
        if kind == "ruled":
            base["rules"] = parts.rules(random)
        elif kind == "filtered":
            base.update(parts.filters(random))
        if random.random() < 0.3:
            base["stage"] = random.choice(self.stages[1:-1])
        below = [other for other, of in self.bases.items() if of in ("any", kind)]
        if below and random.random() < 0.4:
            base["extends"] = random.choice(below)
        self.root[name] = base or {"interruptible": True}
        self.bases[name] = kind

    def _neutral(self) -> Document:
        """What fits every job."""
        random = self.random
        found: Document = {}
        if random.random() < 0.35:
            found["variables"] = parts.variables(random)
        if random.random() < 0.25:
            found["when"] = random.choice(parts.WHENS)
        if random.random() < 0.2:
            found["allow_failure"] = random.random() < 0.5
        if random.random() < 0.15:
            found["interruptible"] = random.random() < 0.5
        return found

    def _job(self, name: str) -> None:
        random = self.random
        job = self._neutral()
        kind = random.choice(("ruled", "ruled", "ruled", "plain", "plain", "filtered"))
        job = {**self._work(), **job}
        self._extend(job, kind)
        if kind == "ruled" and ("extends" not in job or random.random() < 0.5):
            job["rules"] = self._rules(job)
        elif kind == "filtered" and "only" not in self._seen(job) and "except" not in self._seen(job):
            job.update(parts.filters(random))
        elif kind == "plain" and "script" in job and random.random() < 0.12:
            job |= {"when": "delayed", "start_in": random.choice(tuple(parts.DELAYS))}
        if random.random() < 0.2:
            job["parallel"] = parts.parallel(random, matrix="trigger" in job)
        if random.random() < 0.12:
            job["inherit"] = {"variables": random.choice((True, False, ["A", "FOLDER"]))}
            if random.random() < 0.5:
                job["inherit"]["default"] = random.choice((True, False, ["tags", "retry"]))
        self._place(job)
        self.root[name] = job
        self.jobs.append(name)

    def _work(self) -> Document:
        random = self.random
        if random.random() < 0.12:
            return {"trigger": random.choice(("group/other", {"include": [{"local": f"/{CHILD}"}]}))}
        job: Document = {"script": random.choice(("make", ["make", "make test"], [["a"], "b"], [""]))}
        if random.random() < 0.15:
            job["allow_failure"] = parts.allow_failure(random)
        if random.random() < 0.2:
            job |= parts.defaults(random)
        if random.random() < 0.1:
            job["environment"] = random.choice(("a", {"name": "review/$A"}, {"name": "b", "action": "prepare"}))
        return job

    def _extend(self, job: Document, kind: str) -> None:
        fitting = [name for name, of in self.bases.items() if of in ("any", kind)]
        if fitting and self.random.random() < 0.55:
            chosen = self.random.sample(fitting, self.random.randint(1, min(2, len(fitting))))
            job["extends"] = chosen if len(chosen) > 1 or self.random.random() < 0.5 else chosen[0]

    def _rules(self, job: Document) -> list[Any]:
        in_environment = "$" not in str(job.get("environment", "$"))
        found = parts.rules(self.random, in_environment=in_environment)
        ruled = [name for name, kind in self.bases.items() if kind == "ruled" and "rules" in self.root[name]]
        if ruled and self.random.random() < 0.25:
            found.insert(0, Reference([self.random.choice(ruled), "rules"]))
        return found

    def _seen(self, job: Document) -> Document:
        return extended({**self.root, "": job}, "")

    def _place(self, job: Document) -> None:
        """A stage, and what it waits for: jobs written before it, so that nothing goes round in circles."""
        random = self.random
        stage = self._seen(job).get("stage")
        if stage is None and ("test" not in self.stages or random.random() < 0.8):
            edges = random.random() < 0.08
            stage = job["stage"] = random.choice((".pre", ".post") if edges else self.stages[1:-1])
        place = self.stages.index(stage or "test")
        before = [name for name in self.jobs if self.stages.index(self._stage(name)) <= place]
        if random.random() < 0.35:
            job["needs"] = self._needs(random.sample(before, random.randint(0, min(3, len(before)))))
        if "script" in job and "needs" not in job and before and random.random() < 0.1:
            job["dependencies"] = random.sample(before, random.randint(0, 1))
        for rule in job.get("rules", ()):
            single = [name for name in before if "parallel" not in self._seen(self.root[name])]
            if isinstance(rule, dict) and single and random.random() < 0.12:
                rule["needs"] = random.sample(single, random.randint(1, min(2, len(single))))

    def _stage(self, name: str) -> str:
        return str(self._seen(self.root[name]).get("stage", "test"))

    def _needs(self, names: list[str]) -> list[Any]:
        """Needs of jobs that may be left out are most often optional."""
        random = self.random
        found: list[Any] = []
        for name in names:
            seen = self._seen(self.root[name])
            certain = not {"rules", "only", "except"} & seen.keys()
            need: Any = name
            if random.random() < (0.1 if certain else 0.85):
                need = {"job": name, "optional": True}
            elif random.random() < 0.2:
                need = {"job": name, "artifacts": random.random() < 0.5}
            found.append(self._picked(need, seen))
        if random.random() < 0.06:
            found.append(random.choice((None, {"job": "nobody", "optional": True})))
        return found

    def _picked(self, need: Any, seen: Document) -> Any:
        """Perhaps one instance of a parallel job, by its name or by its values."""
        random, given = self.random, seen.get("parallel")
        if given is None or random.random() < 0.5:
            return need
        whole = need if isinstance(need, dict) else {"job": need}
        if isinstance(given, int):
            return {**whole, "job": f"{whole['job']} {random.randint(1, given)}/{given}"}
        row = random.choice(given["matrix"])
        values = {name: random.choice(values if isinstance(values, list) else [values]) for name, values in row.items()}
        return {**whole, "parallel": {"matrix": [values]}}

    def _environment_pair(self) -> None:
        stage = self.random.choice(self.stages[1:-1])
        name = self.random.choice(("review/$CI_COMMIT_REF_SLUG", "live"))
        self.root["open"] = {
            "stage": stage,
            "script": "open",
            "environment": {"name": name, "on_stop": "close", "auto_stop_in": "2 days"},
        }
        self.root["close"] = {
            "stage": stage,
            "script": "close",
            "when": "manual",
            "environment": {"name": name, "action": "stop"},
        }


def _split(random: Random, made: _Configuration) -> dict[str, list[Document]]:
    """The same configuration in several files, and some that no job of the main one speaks of."""
    main, one, two = dict(made.root), Document(), Document()
    for name in list(main):
        file = random.choice((one, two, None, None))
        if name not in ("stages", "workflow") and file is not None:
            file[name] = main.pop(name)
            if name in made.jobs and random.random() < 0.25:
                main[name] = {"variables": parts.variables(random, 2)}
    files: dict[str, list[Document]] = {MAIN: [main]}
    includes: list[Any] = []
    if two:
        files[TWO] = [two]
        (one if one and random.random() < 0.4 else main)["include"] = f"/{TWO}"
    if one:
        files[ONE] = [one]
        includes.append(random.choice((f"/{ONE}", {"local": ONE})))
    includes += [*_extra(random, files), *_with_inputs(random, files, made.stages)]
    if includes:
        above = main.pop("include", None)
        main["include"] = [*([above] if above else []), *includes]
        if len(main["include"]) == 1 and random.random() < 0.5:
            main["include"] = main["include"][0]
    return files


def _extra(random: Random, files: dict[str, list[Document]]) -> list[Any]:
    """A file whose include has rules; nothing needs what it holds."""
    if random.random() < 0.75:
        return []
    files[EXTRA] = [{"extra": {"stage": ".pre", "script": "extra"}, "variables": {"C": "extra"}}]
    when = {} if random.random() < 0.5 else {"when": random.choice(("always", "never"))}
    condition = If.of(random_condition(random, ("A", "B", "CI_PIPELINE_SOURCE", "CI_COMMIT_BRANCH")))
    return [{"local": EXTRA, "rules": [{"if": condition, **when}]}]


def _with_inputs(random: Random, files: dict[str, list[Document]], stages: tuple[str, ...]) -> list[Any]:
    """A file that is included once or twice, each time for another tool."""
    if random.random() < 0.75:
        return []
    files[TEMPLATE] = [_HEADER, _template(random, stages)]
    tools = random.sample(("ruff", "mypy"), random.randint(1, 2))
    return [{"local": TEMPLATE, "inputs": {"tool": tool}} for tool in tools]


_HEADER: Final[Document] = {"spec": {"inputs": {"tool": None, "level": {"default": "strict"}}}}


def _template(random: Random, stages: tuple[str, ...]) -> Document:
    return {
        "$[[ inputs.tool ]]-lint": {
            "stage": random.choice(stages[1:-1]),
            "script": ["run $[[ inputs.tool ]] --$[[ inputs.level ]]"],
            "variables": {"TOOL": "$[[ inputs.tool ]]"},
        }
    }
