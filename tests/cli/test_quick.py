"""The short way into commands says the same as Typer."""

import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.configurations.lint import lint
from cli.configurations.plan import plan
from cli.main import LAZY, QUICK
from cli.quick import quick_arguments, run_quickly

ROOT = Path(__file__).parents[2]


def through_typer(command: Any, words: list[str]) -> dict[str, Any]:
    """What Typer gives a command."""
    seen: dict[str, Any] = {}

    @functools.wraps(command)
    def record(**arguments: Any) -> None:
        seen.update(arguments)

    app = typer.Typer()
    app.command()(record)
    typer.main.get_command(app).main(args=words, standalone_mode=False)
    return {name: value or None if isinstance(value, list | tuple) else value for name, value in seen.items()}


PLAIN = [
    (lint, []),
    (lint, ["-", "--json"]),
    (lint, ["--input", "a=1", "x.yml", "--input=b=-2", "--no-remote"]),
    (plan, ["x.yml", "--event", "schedule", "--ref", "v1", "--tag"]),
    (plan, ["--event=merge_request_event", "--variable", "A=b c", "--variable", "B=", "--changed", "x"]),
    (plan, ["--message", "", "--graph=out.svg", "--root", "."]),
]


@pytest.mark.parametrize(("command", "words"), PLAIN)
def test_plain_lines_are_read_as_typer_reads_them(command: Any, words: list[str]) -> None:
    assert quick_arguments(command, words) == through_typer(command, words)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--event", "cron"],
        ["--evnt", "push"],
        ["--ref"],
        ["--ref", "--tag"],
        ["--tag=x"],
        ["a", "b"],
        ["-x"],
    ],
)
def test_everything_else_is_left_to_typer(words: list[str]) -> None:
    assert quick_arguments(plan, words) is None


WORDS = st.lists(
    st.sampled_from(
        ["--ref", "--tag", "--json", "--event", "push", "x", "--variable", "A=1", "--variable=B=2", "--", "-"]
    ),
    max_size=6,
)


@settings(max_examples=80, database=None)
@given(WORDS)
def test_what_is_read_is_never_something_else(words: list[str]) -> None:
    found = quick_arguments(plan, words)
    if found is not None:
        assert found == through_typer(plan, words)


def test_all_quick_commands_exist() -> None:
    assert LAZY.keys() >= QUICK


def test_exit_status() -> None:
    def ends(code: int) -> None:
        raise typer.Exit(code)

    def interrupted() -> None:
        raise KeyboardInterrupt

    assert run_quickly(ends, {"code": 3}) == 3
    assert run_quickly(interrupted, {}) == 130
    assert run_quickly(lambda: None, {}) == 0


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    """With more output than a pipe takes."""
    jobs = "".join(f"job{number}: {{script: x}}\n" for number in range(300))
    (tmp_path / ".gitlab-ci.yml").write_text(jobs)
    command = [sys.executable, "-m", "cli.main", "plan", "--json"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment["PYTHONPATH"] = str(ROOT)
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"{"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1
