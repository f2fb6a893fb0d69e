"""A plan in the terminal: stages, jobs, what they wait for, and why each is in or out. Words, never colour alone."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from cli.configurations.issue_text import IssueText, counted
from cli.configurations.offline import Outcome
from cli.configurations.plan_document import duration_text
from cli.printable import printable
from domain.config.context import Context, RefKind
from domain.config.plan import JobPlan, Need, Plan, When
from domain.config.why import Clause, Why

GLYPHS: Final = {
    When.ON_SUCCESS: ("●", "green"),
    When.ON_FAILURE: ("✗", "red"),
    When.ALWAYS: ("◆", "green"),
    When.MANUAL: ("⚙", "blue"),
    When.DELAYED: ("◷", "blue"),
}
BRIDGE: Final = ("⇢", "magenta")
ABSENT: Final = ("○", "dim")

EVENTS: Final = {
    "push": "a push to {ref}",
    "merge_request_event": "a merge request from {ref} into {target}",
    "schedule": "a schedule on {ref}",
    "api": "a call of the API on {ref}",
    "web": "a start by hand on {ref}",
    "trigger": "a trigger token on {ref}",
    "pipeline": "a pipeline of another project on {ref}",
    "parent_pipeline": "a parent pipeline on {ref}",
}
"""Source of a pipeline -> what happened, in words."""

MAX_NEEDS: Final = 8
"""Needs that are named; of more only the number is told."""
MAX_VALUE: Final = 60
"""Characters of a variable's value."""
MAX_EXPRESSION: Final = 160
"""Characters of a rule; `--json` has all of it."""
WIDEST_NAME: Final = 40
"""Columns up to which the names of jobs are padded."""
UNWRITTEN: Final = frozenset({"default", "default only"})
"""Clauses that stand in no configuration; the sentence about them says enough."""
_SHORT_SHA: Final = 8
INDENT: Final = " " * 6


def event_text(context: Context) -> str:
    """What happened, in words: `a push to main`."""
    ref = f"tag {context.ref}" if context.ref_kind == RefKind.TAG else context.ref
    target = context.predefined.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "")
    return EVENTS[context.source].format(ref=ref, target=target)


class PlanText:
    """Prints one outcome."""

    def __init__(self, outcome: Outcome, console: Console) -> None:
        """Nothing is printed yet."""
        self._outcome = outcome
        self._plan = outcome.plan or Plan((), ())
        self._console = console

    def show(self) -> None:
        """Print everything: the event, the stages with their jobs, the absent jobs, the warnings and errors."""
        issues = IssueText(self._outcome, self._console)
        if self._outcome.reason == "config_error":
            issues.show(self._outcome.errors, "error", "bold red")
            self._verdict("✗", "red", counted({"error": len(self._outcome.errors)}) + ": there is no pipeline")
            return
        self._heading()
        if self._plan.jobs and self._outcome.error is None:
            for stage in self._plan.stages:
                self._stage(stage)
        self._absent()
        issues.show(self._outcome.warnings, "warning", "bold yellow")
        self._summary()

    def _heading(self) -> None:
        context = self._outcome.context
        sha = context.predefined.get("CI_COMMIT_SHA", "")
        commit = f" at {sha[:_SHORT_SHA]}" if sha.strip("0") else ""
        self._line((f"Pipeline for {printable(event_text(context))}", "bold"), (commit, "dim"))
        facts = {
            "name": self._plan.name,
            "workflow": self._plan.why.text if self._plan.why.clause != "default" else "",
            "auto-cancel": _auto_cancel(self._plan),
            "includes": counted({"file": len(self._plan.includes)}),
        }
        for name, value in facts.items():
            if value:
                self._line((f"  {name:<12}", "dim"), printable(value))
        if self._plan.why.tried:
            self._clauses(self._plan.why)
        self._line("")

    def _stage(self, stage: str) -> None:
        jobs = [job for job in self._plan.jobs if job.stage == stage]
        self._line((printable(stage), "bold cyan"), (f"  {counted({'job': len(jobs)})}", "dim"))
        width = min(WIDEST_NAME, max(cell_len(printable(job.name)) for job in jobs))
        for why, group in groupby(jobs, key=lambda job: job.why):
            members = list(group)
            for job in members:
                words = "  ".join(printable(word) for word in _attributes(job))
                glyph = BRIDGE if job.trigger else GLYPHS[job.when]
                name = printable(job.name)
                padding = " " * (width - cell_len(name))
                self._line("  ", glyph, f" {name}{padding}", (f"  {words}".rstrip(), "dim"))
            self._why(why, len(members))
        self._line("")

    def _absent(self) -> None:
        if not self._plan.absent:
            return
        self._line(("Not in this pipeline", "bold"), (f"  {counted({'job': len(self._plan.absent)})}", "dim"))
        for why, group in groupby(self._plan.absent, key=lambda job: job.why):
            members = list(group)
            for job in members:
                self._line("  ", ABSENT, f" {printable(job.name)}", (f"  stage {printable(job.stage)}", "dim"))
            self._why(why, len(members))
        self._line("")

    def _why(self, why: Why, jobs: int) -> None:
        """The reason of the jobs above, and the clauses that were looked at; what GitLab takes for granted is short."""
        self._line((f"    ↳ {'' if jobs == 1 else f'these {jobs}: '}", "dim"), printable(why.text))
        if why.clause not in UNWRITTEN:
            self._clauses(why)

    def _clauses(self, why: Why) -> None:
        """Of jobs that are in only the clause that decided; of others all."""
        for clause in why.tried[-1:] if why.included else why.tried:
            verdict = ("yes", "green") if clause.matched else ("no", "yellow")
            place = f" ({clause.file or self._outcome.file}:{clause.line})" if clause.line else ""
            expression = _short(clause.expression or "no condition", MAX_EXPRESSION)
            self._line((f"{INDENT}{printable(clause.name + place)} → ", "dim"), verdict, f"  {printable(expression)}")
            seen = "; ".join(_seen(clause))
            if seen:
                self._line((f"{INDENT}  {printable(seen)}", "dim"))

    def _summary(self) -> None:
        outcome, plan = self._outcome, self._plan
        if outcome.error is not None:
            self._verdict("○", "yellow", f"There is no pipeline ({outcome.reason}): {outcome.error}")
        elif outcome.skipped:
            self._verdict("»", "yellow", f"The pipeline is skipped: {outcome.skipped}")
        else:
            size = f"{counted({'job': len(plan.jobs)})} in {counted({'stage': len(plan.stages)})}"
            absent = f", {counted({'job': len(plan.absent)})} not in this pipeline" if plan.absent else ""
            self._verdict("✓", "green", size + absent)

    def _verdict(self, glyph: str, style: str, words: str) -> None:
        self._line((glyph, style), f" {printable(words)}")

    def _line(self, *parts: str | tuple[str, str]) -> None:
        """One line; it is not broken where nobody reads it on a screen."""
        text = Text.assemble(*parts)
        text.rstrip()
        self._console.print(text, soft_wrap=True)


def _auto_cancel(plan: Plan) -> str:
    """Only what differs from the usual."""
    usual = Plan((), ()).auto_cancel
    names = ("on_new_commit", "on_job_failure")
    told = {name: getattr(plan.auto_cancel, name) for name in names}
    return ", ".join(f"{name}: {value}" for name, value in told.items() if value != getattr(usual, name))


def _attributes(job: JobPlan) -> Iterator[str]:
    """What is special about a job, a few words each."""
    if job.when == When.DELAYED and job.start_in:
        yield f"delayed by {duration_text(job.start_in)}"
    elif job.when != When.ON_SUCCESS:
        yield str(job.when)
    if job.trigger:
        yield f"triggers {job.trigger.project or 'a child pipeline'}"
    if job.allow_failure:
        yield "may fail"
    if job.allow_failure_exit_codes:
        yield f"may fail with exit code {', '.join(map(str, job.allow_failure_exit_codes))}"
    if job.environment:
        yield f"{job.environment.action} environment {job.environment.name}"
    yield from _waits(job)


def _waits(job: JobPlan) -> Iterator[str]:
    if job.needs == () and not job.foreign_needs:
        yield "starts at once"
    elif job.needs:
        yield f"needs {_needs(job.needs)}"
    for need in job.foreign_needs:
        source = need.project or f"pipeline {need.pipeline}"
        yield f"needs {need.job or 'the status'} of {source}"


def _needs(needs: Sequence[Need]) -> str:
    named = [need.job + (" (optional)" if need.optional else "") for need in needs[:MAX_NEEDS]]
    more = len(needs) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _seen(clause: Clause) -> Iterator[str]:
    for name, value in clause.values.items():
        if value is None:
            yield f"{name} is not defined"
        else:
            yield f'{name} = "{_short(value, MAX_VALUE)}"'
    if clause.detail:
        yield clause.detail


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest] + "…"
