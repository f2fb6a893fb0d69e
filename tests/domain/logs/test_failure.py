"""Where the log of a failed job is opened."""

import pytest

from domain.logs.failure import failure_in
from domain.logs.index import BEGIN, extended, lines_of
from domain.logs.sections import sections_of

RUNNER = """Running with gitlab-runner
section_start:1:prepare_executor\r\x1b[0KPreparing
error: a warning of no interest
section_end:2:prepare_executor\r\x1b[0Ksection_start:2:step_script\r\x1b[0KExecuting
$ make
{said}
section_end:3:step_script\r\x1b[0Ksection_start:3:after_script\r\x1b[0KRunning after script
error: not found either
section_end:4:after_script\r\x1b[0Ksection_start:4:cleanup_file_variables\r\x1b[0KCleaning up
section_end:5:cleanup_file_variables\r\x1b[0K\x1b[31;1mERROR: Job failed: exit code 1
\x1b[0;m
"""


def opened(text: str) -> tuple[str, list[str]]:
    """The text of the line where a log opens, and the sections around it."""
    log = text.encode()
    part = BEGIN.followed_by(extended(BEGIN.after, log, is_last=True))
    sections = sections_of(part.marks)
    found = failure_in(part, sections, lines_of(part.after, len(log)))
    return text.split("\n")[found.line - 1], [sections[number].name for number in found.sections]


@pytest.mark.parametrize(
    ("said", "line", "sections"),
    [
        ("x.c:1: error: no\nmore\nmore\nmore", "x.c:1: error: no", ["step_script"]),
        ("error: one\n\n\n\nerror: two\nrest", "error: two", ["step_script"]),
        ("it did not work", "it did not work", ["step_script"]),
        (
            "section_start:2:tests\r\nFAILED tests/a.py\nsection_end:3:tests\r\x1b[0K\na\nb\nc",
            "FAILED tests/a.py",
            ["step_script", "tests"],
        ),
    ],
)
def test_a_log_opens_where_the_script_failed(said: str, line: str, sections: list[str]) -> None:
    assert opened(RUNNER.format(said=said)) == (line, sections)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one\ntwo\nERROR: no\nthree\nfour\nfive", "ERROR: no"),
        ("one\ntwo", "two"),
        ("one\nERROR: Job failed: no pod\n", "ERROR: Job failed: no pod"),
    ],
)
def test_a_log_without_sections_opens_at_its_last_error_or_its_end(text: str, line: str) -> None:
    assert opened(text) == (line, [])


def test_an_empty_log_opens_at_its_beginning() -> None:
    assert failure_in(BEGIN, [], 0).line == 1
