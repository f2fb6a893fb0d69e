"""What GitLab makes of a world, by a reading of its documented rules that shares nothing with the compiler.

GitLab: "CI/CD YAML syntax reference" ("rules", "needs", "parallel", "allow_failure", "inherit", "workflow"),
"Specify when jobs run with rules", "CI/CD variables" ("CI/CD variable precedence").
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tests.fuzz.valid.conditions import Get, holds
from tests.fuzz.valid.documents import extended, flat, one_mapping
from tests.fuzz.valid.only_except import passes
from tests.fuzz.valid.spread import Instance, spread
from tests.fuzz.valid.taken import texts_of, variables_of, what_it_takes
from tests.fuzz.valid.world import MAIN, Document, World

NOT_JOBS: Final = ("stages", "default", "variables", "workflow")
MAX_NEEDS: Final = 50
ALWAYS: Final[Document] = {}
"""The item that decides where there are no rules."""


@dataclass(frozen=True)
class Expected:
    """Jobs by name with what is compared of them; or why there is no pipeline; or what is refused, and of which job."""

    jobs: dict[str, Document] = field(default_factory=dict)
    stages: tuple[str, ...] = ()
    filtered: str = ""
    refused: frozenset[tuple[str, str]] = frozenset()
    on_new_commit: str = "conservative"


@dataclass(frozen=True)
class Candidate:
    """One instance of a job, before anybody knows whether it is in."""

    written: str
    job: Document
    instance: Instance


class Judge:
    """One world and its event."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.happening = world.happening
        self.root = one_mapping(world, MAIN, self._includes)
        self.workflow: Document = self.root.get("workflow", {})
        names = [name for name in self.root if name not in NOT_JOBS and not name.startswith(".")]
        self.jobs = {name: extended(self.root, name) for name in names}
        self.instances = {name: spread(name, job.get("parallel")) for name, job in self.jobs.items()}

    def expected(self) -> Expected:
        """The verdict."""
        ruling = self._workflow()
        if ruling is None:
            return Expected(filtered="filtered_by_workflow_rules")
        shared = {**variables_of(self.root), **variables_of(ruling)}
        chosen = {}
        for one in self._candidates():
            rule = self._decided(one, shared)
            if rule is not None:
                chosen[one.instance.name] = (one, rule)
        refused = frozenset(self._refused(chosen))
        if refused:
            return Expected(refused=refused)
        jobs = {name: self._planned(one, rule, shared, chosen) for name, (one, rule) in chosen.items()}
        used = {job["stage"] for job in jobs.values()}
        if not used - {".pre", ".post"}:
            return Expected(filtered="filtered_by_rules")
        stages = [".pre", *flat(self.root.get("stages", ["build", "test", "deploy"]), self.root), ".post"]
        cancels = {**self.workflow.get("auto_cancel", {}), **ruling.get("auto_cancel", {})}
        return Expected(
            jobs=jobs,
            stages=tuple(stage for stage in stages if stage in used),
            on_new_commit=cancels.get("on_new_commit", "conservative"),
        )

    def _candidates(self) -> Iterator[Candidate]:
        for name, job in self.jobs.items():
            for instance in self.instances[name]:
                yield Candidate(name, job, instance)

    def _includes(self, rules: list[Document]) -> bool:
        """The configuration's own variables are not known yet."""
        return self._first(rules, self._get({})) is not None

    def _workflow(self) -> Document | None:
        if "rules" not in self.workflow:
            return ALWAYS
        return self._first(self.workflow["rules"], self._get(texts_of(variables_of(self.root))))

    def _first(self, rules: Any, get: Get) -> Document | None:
        """The first item whose clauses all hold, unless it says never."""
        for rule in flat(rules, getattr(self, "root", {})):
            if self._all_hold(rule, get):
                return None if rule.get("when") == "never" else rule
        return None

    def _all_hold(self, rule: Document, get: Get) -> bool:
        if "if" in rule and not holds(rule["if"].condition, get):
            return False
        if "changes" in rule:
            changes = rule["changes"] if isinstance(rule["changes"], dict) else {"paths": rule["changes"]}
            if not self.happening.differs(changes["paths"], get, compared="compare_to" in changes):
                return False
        if "exists" in rule:
            exists = rule["exists"]
            paths = exists["paths"] if isinstance(exists, dict) else exists
            return self.world.exists(paths if isinstance(paths, list) else [paths], get)
        return True

    def _decided(self, one: Candidate, shared: Document) -> Document | None:
        """The item that puts a job in; None if it is out."""
        yaml = {**self._inherited(one.job, shared), **variables_of(one.job), **one.instance.values}
        get = self._get(texts_of(yaml), one)
        if "rules" in one.job:
            return self._first(one.job["rules"], get)
        by_default = "rules" not in self.workflow
        return ALWAYS if passes(one.job, self.happening, get, by_default=by_default) else None

    def _inherited(self, job: Document, shared: Document) -> Document:
        kept = job.get("inherit", {}).get("variables", True)
        return {name: value for name, value in shared.items() if kept is True or (kept and name in kept)}

    def _get(self, yaml: dict[str, str], one: Candidate | None = None) -> Get:
        """Variables of the run are stronger than the configuration's, predefined ones weaker."""
        of_job = {}
        if one is not None:
            environment = one.job.get("environment", {})
            name = environment if isinstance(environment, str) else environment.get("name")
            of_job = {
                "CI_JOB_NAME": one.instance.name,
                "CI_JOB_STAGE": one.job.get("stage", "test"),
                "CI_NODE_TOTAL": str(one.instance.total or 1),
                **({"CI_NODE_INDEX": str(one.instance.index)} if one.instance.index else {}),
                **({"CI_ENVIRONMENT_NAME": name} if name else {}),
            }
        return {**of_job, **self.happening.predefined(), **yaml, **self.happening.variables}.get

    def _needs(self, needs: Any) -> Iterator[Document]:
        """Every need by the full name of what is needed."""
        for need in needs:
            if need is None:
                continue
            need = {"job": need} if isinstance(need, str) else need
            told = {"artifacts": need.get("artifacts", True), "optional": need.get("optional", False)}
            instances = self.instances.get(need["job"])
            if instances is None:
                yield {"job": need["job"], **told}
                continue
            for picked in need.get("parallel", {}).get("matrix", [None]):
                wanted = picked and f"{need['job']}: [{', '.join(map(str, picked.values()))}]"
                yield from ({"job": one.name, **told} for one in instances if wanted in (None, one.name))

    def _refused(self, chosen: dict[str, tuple[Candidate, Document]]) -> Iterator[tuple[str, str]]:
        """Needs of a job that is in must be in too, unless they are optional or a rule named them."""
        for name, (one, rule) in chosen.items():
            own = list(self._needs(one.job.get("needs", ())))
            for need in own:
                if need["job"] not in chosen and not need["optional"]:
                    yield name, need["job"]
            if len(list(self._needs(rule["needs"])) if "needs" in rule else own) > MAX_NEEDS:
                yield name, f"one job can only need {MAX_NEEDS} others"

    def _planned(
        self, one: Candidate, rule: Document, shared: Document, chosen: dict[str, tuple[Candidate, Document]]
    ) -> Document:
        job = one.job
        when = rule.get("when", job.get("when", "on_success"))
        codes = job.get("allow_failure", job.get("when") == "manual")
        allowed = rule.get("allow_failure", codes)
        needs = rule.get("needs", job.get("needs"))
        dependencies = job.get("dependencies")
        own = {**self._inherited(job, shared), **variables_of(job), **one.instance.values}
        return {
            "stage": job.get("stage", "test"),
            "when": when,
            "start_in": rule.get("start_in", job.get("start_in")) if when == "delayed" else None,
            "allow_failure": allowed is True,
            "exit_codes": tuple(flat(allowed["exit_codes"], {})) if isinstance(allowed, dict) else (),
            "needs": None if needs is None else [need for need in self._needs(needs) if need["job"] in chosen],
            "dependencies": None
            if dependencies is None
            else [need["job"] for need in self._needs(dependencies) if need["job"] in chosen],
            "variables": {**own, **variables_of(rule)},
            "node": (one.instance.index, one.instance.total),
            **what_it_takes(job, rule, self.root),
        }
