"""One event as the clauses of a configuration see it: its variables, and the verdicts on rules and filters.

Source: docs/reference/ci-yaml.md, "Rules", "only and except", "Predefined variables".
"""

from collections.abc import Mapping
from typing import Any

from domain.config.context import Context
from domain.config.job import JobDraft
from domain.config.plan import AutoCancel, Variable
from domain.config.readers.parallel import Instance
from domain.config.reading.issues import Issues
from domain.config.reading.tree import Place
from domain.config.rules.filters import Filter, decide_filters
from domain.config.rules.path_clauses import PathMatches
from domain.config.rules.rules import Decision, Rule, decide
from domain.config.rules.scope import Layer, Scope
from domain.config.sources import Sources
from domain.config.why import PRESENT
from domain.variables.job_variables import group_name
from domain.variables.predefined import slug


class Event:
    """Decides for one event; the same clauses with the same values are looked at once."""

    def __init__(
        self,
        context: Context,
        variables: Mapping[str, Variable],
        sources: Sources,
        issues: Issues,
        *,
        default_filter: bool,
        every_job: bool = False,
    ) -> None:
        """`variables` are the global ones, with those of the workflow's rule.

        `default_filter` says that jobs without rules are for branches and tags only; `every_job` that all jobs are in,
        whatever their rules say.
        """
        self._every_job = every_job
        self.reads: set[str] = set()
        self._context = context
        self._sources = sources
        self._issues = issues
        self._pipeline = Layer(context.pipeline, private=True)
        self._project = Layer(context.project, private=True)
        self._default_filter = default_filter
        self._layers: dict[int, tuple[Mapping[str, Variable], Mapping[str, str]]] = {}
        self._decided: dict[tuple[Any, ...], Decision] = {}
        self._matches = PathMatches()
        self.variables = variables
        self.auto_cancel = AutoCancel()
        self.why = PRESENT

    def scope(self, *yaml: Mapping[str, Variable], job: Mapping[str, str] | None = None) -> Scope:
        """What may be seen: `yaml` are layers of the configuration, the strongest first; `job` is the weakest."""
        layers = (self._pipeline, self._project, *map(self._layer_of, yaml), self._context.predefined, job or {})
        return Scope(layers, self._context.hidden, self.reads)

    def decide(self, draft: JobDraft, instance: Instance | None, inherited: Mapping[str, Variable]) -> Decision:
        """Whether a job is in, and which of its rules says so."""
        if self._every_job:
            return Decision(None, PRESENT)
        if draft.rules is None and draft.only is None and draft.excepted is None:
            return self._without_rules()
        scope = self._job_scope(draft, instance, inherited)
        key = (id(draft.rules), id(draft.only), id(draft.excepted), *scope.signature(_names(draft)))
        known = self._decided.get(key)
        if known is None:
            known = self._decided[key] = self._look(draft, scope)
            if known.error:
                place = known.rule.place if known.rule else draft.place
                self._issues.add(f"{draft.name} job: {known.error}", f"jobs:{draft.name}:rules", place)
        return known

    def workflow(self, rules: tuple[Rule, ...]) -> Decision:
        """Whether there is a pipeline at all."""
        decision = decide(
            rules, self.scope(self.variables), self._sources, name="workflow:rules", matches=self._matches
        )
        if decision.error:
            place = decision.rule.place if decision.rule else Place(1, 1)
            self._issues.add(f"workflow {decision.error}", "workflow:rules", place)
        return decision

    def _look(self, draft: JobDraft, scope: Scope) -> Decision:
        if draft.rules is not None:
            return decide(draft.rules, scope, self._sources, matches=self._matches)
        return self._filtered(draft.only, draft.excepted, scope)

    def _without_rules(self) -> Decision:
        if () not in self._decided:
            self._decided[()] = self._filtered(None, None, self.scope())
        return self._decided[()]

    def _filtered(self, only: Filter | None, excepted: Filter | None, scope: Scope) -> Decision:
        return decide_filters(
            only,
            excepted,
            scope,
            self._context,
            self._sources,
            default=self._default_filter,
            matches=self._matches,
        )

    def _job_scope(self, draft: JobDraft, instance: Instance | None, inherited: Mapping[str, Variable]) -> Scope:
        matrix = {name: Variable(value) for name, value in instance.values.items()} if instance else {}
        return self.scope(matrix, draft.variables, inherited, job=job_variables(draft, instance))

    def _layer_of(self, variables: Mapping[str, Variable]) -> Mapping[str, str]:
        if not variables:
            return {}
        known = self._layers.get(id(variables))
        if known is None:
            known = self._layers[id(variables)] = (variables, Layer(variables))
        return known[1]


def _names(draft: JobDraft) -> tuple[str, ...]:
    """The variables that a job's clauses speak of."""
    if draft.rules is not None:
        return tuple({name: None for rule in draft.rules for name in rule.names})
    filters = (filter_ for filter_ in (draft.only, draft.excepted) if filter_ is not None)
    return tuple({name: None for filter_ in filters for name in filter_.names})


def job_variables(draft: JobDraft, instance: Instance | None) -> dict[str, str]:
    """What a job's rules know of the job itself."""
    name = instance.name if instance else draft.name
    return {
        "CI_JOB_NAME": name,
        "CI_JOB_NAME_SLUG": slug(name),
        "CI_JOB_GROUP_NAME": group_name(name),
        "CI_JOB_STAGE": draft.stage or "",
        "CI_NODE_TOTAL": str(instance.total if instance else 1),
        **({"CI_NODE_INDEX": str(instance.index)} if instance else {}),
        **_environment_as_written(draft),
    }


def _environment_as_written(draft: JobDraft) -> dict[str, str]:
    """What the job says of its environment; names in it are not looked up before the job is in."""
    written = draft.environment
    if written is None:
        return {}
    known = {
        "CI_ENVIRONMENT_NAME": written.name,
        "CI_ENVIRONMENT_ACTION": written.action,
        "CI_ENVIRONMENT_TIER": written.deployment_tier,
        "CI_ENVIRONMENT_URL": written.url,
    }
    return {name: value for name, value in known.items() if value}
