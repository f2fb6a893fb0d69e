"""Compiling short texts in tests: the job of a plan, or the messages of a refusal."""

from textwrap import dedent

from domain.config.issue import ConfigIssue
from domain.config.plan import JobPlan, Plan
from domain.errors import ConfigInvalid
from tests.compiling import plan_of


def plan(text: str) -> Plan:
    """Compile an indented text."""
    return plan_of(dedent(text))


def job(keywords: str, name: str = "alpha") -> JobPlan:
    """The plan of one job with a script and these keywords, in flow style without braces."""
    return plan(f"{name}: {{script: x, {keywords}}}").jobs[0]


def issues(text: str) -> tuple[ConfigIssue, ...]:
    """Everything that is wrong with a text that is wrong."""
    try:
        made = plan(text)
    except ConfigInvalid as error:
        return error.issues
    raise AssertionError(f"This should have been refused: {made}")


def messages(text: str) -> list[str]:
    """The messages of `issues`."""
    return [issue.message for issue in issues(text)]
