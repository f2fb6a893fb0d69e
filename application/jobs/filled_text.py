"""Texts of a job that the server itself uses: no runner and no shell expands them afterwards."""

from collections.abc import Iterable

from application.jobs.variables import expanded_text
from domain.variables.job_variables import JobVariable


def filled_text(text: str, variables: Iterable[JobVariable]) -> str:
    """The text with every variable put in; `$$` stands for a dollar sign."""
    return expanded_text(text, variables).replace("$$", "$")
