"""Errors know no status; the door puts it before the words that name it, and nowhere else."""

import ast
from pathlib import Path

import pytest

from api.errors import text_of
from domain.errors import Forbidden, Invalid, NotAllowed, NotFound, PerdureError, Refused, TooLarge, Unauthenticated
from domain.size_limits import fixed

ROOT = Path(__file__).parents[2]
BELOW_THE_DOORS = ("application", "auth", "domain", "git", "includes", "loops", "models", "activities", "workflows")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (NotFound("Job Not Found"), "404 Job Not Found"),
        (NotFound("Not found: there is no such level."), "404 Not found: there is no such level."),
        (NotFound("Target project not in the job token scope"), "404 Target project not in the job token scope"),
        (NotFound("The repository has no commit 1234."), "The repository has no commit 1234."),
        (Unauthenticated("Unauthorized"), "401 Unauthorized"),
        (Unauthenticated("Sign in again: the session has ended."), "Sign in again: the session has ended."),
        (Forbidden("Forbidden - Job is not erasable!"), "403 Forbidden - Job is not erasable!"),
        (Forbidden("This account is blocked."), "This account is blocked."),
        (NotAllowed("Method Not Allowed"), "405 Method Not Allowed"),
        (Refused("Conflict: pipeline 1 is running; cancel it first."), None),
        (Refused("Label already exists"), "Label already exists"),
        (Invalid("Bad request: the body must be a JSON object."), "400 Bad request: the body must be a JSON object."),
        (Invalid("Reference not found"), "Reference not found"),
        (TooLarge(fixed("tests", 9).exceeded("it")), f"413 {fixed('tests', 9).exceeded('it')}"),
        (Invalid(""), ""),
    ],
)
def test_the_status_stands_before_the_words_that_name_it(error: PerdureError, text: str | None) -> None:
    assert text_of(error) == (f"409 {error}" if text is None else text)


def test_no_text_below_the_doors_begins_with_a_status() -> None:
    files = [file for folder in BELOW_THE_DOORS for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 400
    texts = [
        (file, node.lineno, node.value)
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    found = [item for item in texts if item[2][:3].isdigit() and item[2][3:4] == " " and item[2][4:5].isupper()]
    assert found == []
