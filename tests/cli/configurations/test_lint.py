"""`perdure lint`."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.configurations.issue_text import IssueText, counted
from domain.config.issue import ConfigIssue
from domain.config.reading.excerpt import WIDEST
from domain.config.sources import Fetched, LocalFile, Origin, ProjectFile, RemoteFile, Request, TemplateFile
from tests.cli.plans import outcome
from tests.cli.running import run

GOOD = """stages: [build, deploy]
a: {stage: build, script: x}
b: {stage: deploy, script: x, rules: [{if: $CI_COMMIT_TAG}]}
"""
BAD = """a:
  scirpt: x
  script: x
\tb: 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, without git."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str, name: str = ".gitlab-ci.yml") -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)


def test_a_right_file_is_counted_whatever_its_rules_say(folder: Path) -> None:
    write(folder, GOOD)
    ran = run("lint")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "✓ .gitlab-ci.yml is valid: 2 jobs in 2 stages\n"


def test_every_issue_has_its_line_and_a_caret(folder: Path) -> None:
    write(folder, "a:\n  scirpt: x\n  script: x\nb:\n    - 1\n")
    ran = run("lint")
    lines = ran.out.splitlines()
    assert ran.code == 2
    assert lines[0].startswith(".gitlab-ci.yml:2:3: error: jobs:a config contains unknown keys: scirpt")
    assert lines[1:3] == ["     2 |   scirpt: x", "       |   ^"]
    assert any(line.startswith(".gitlab-ci.yml:4:1: error: ") for line in lines)
    assert lines[-1] == "✗ .gitlab-ci.yml is not valid: 2 errors"


def test_a_text_that_is_no_yaml_is_shown_from_where_it_went_wrong(folder: Path) -> None:
    write(folder, "a:\n  script: make\n   stage: test\n")
    ran = run("lint")
    assert ran.code == 2
    assert ran.out.splitlines() == [
        (
            ".gitlab-ci.yml:3:4: error: Invalid configuration format: this line is indented too deep: "
            "line 2 above has its value already; indent both by 2"
        ),
        "     2 |   script: make",
        "     3 |    stage: test",
        "       |    ^",
        "✗ .gitlab-ci.yml is not valid: 1 error",
    ]


def test_warnings_stand_apart_and_fail_nothing(folder: Path) -> None:
    write(folder, "a: {script: x, rules: [{when: always}]}\n")
    ran = run("lint")
    assert ran.code == 0
    assert ":1: warning: " not in ran.out.splitlines()[-1]
    assert any(": warning: jobs:a may allow multiple pipelines" in line for line in ran.out.splitlines())
    assert ran.out.splitlines()[-1].endswith("1 job in 1 stage, 1 warning")


def test_json(folder: Path) -> None:
    write(folder, GOOD)
    assert json.loads(run("lint", "--json").out) == {
        "valid": True,
        "file": ".gitlab-ci.yml",
        "jobs": 2,
        "stages": 2,
        "errors": [],
        "warnings": [],
    }
    ran = run("lint", "--json", "-", stdin=BAD.encode())
    found = json.loads(ran.out)
    assert (ran.code, found["valid"], found["file"]) == (2, False, "stdin")
    assert found["errors"][0].keys() == {"file", "line", "column", "path", "message"}


def test_a_named_file_and_a_folder(folder: Path) -> None:
    write(folder, GOOD, "sub/.gitlab-ci.yml")
    assert run("lint", "sub/.gitlab-ci.yml").code == 0
    assert run("lint", "sub").code == 0


def test_inputs_and_projects(folder: Path) -> None:
    write(folder, "a: {script: x}\n", "lib/ci.yml")
    header = "spec: {inputs: {n: {type: number}}}\n---\n"
    write(folder, header + "include: {project: g/lib, file: ci.yml}\nb: {script: 'echo $[[ inputs.n ]]'}\n")
    assert "add `--project g/lib=FOLDER`" in run("lint", "--input", "n=1").out
    ran = run("lint", "--input", "n=1", "--project", "g/lib=lib")
    assert ran.out == "✓ .gitlab-ci.yml is valid: 2 jobs in 1 stage\n"
    assert run("lint", "--project", "g/lib=lib").code == 2


def test_an_issue_in_an_included_file_shows_that_file(folder: Path) -> None:
    write(folder, "include: {local: ci/b.yml}\na: {script: x}\n")
    write(folder, "# first\nb: {script: x, tag: [y]}\n", "ci/b.yml")
    lines = run("lint").out.splitlines()
    assert lines[0].startswith("ci/b.yml:2:16: error: ")
    assert lines[1:3] == ["     2 | b: {script: x, tag: [y]}", "       |                ^"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("lint",), 3, "There is no .gitlab-ci.yml in"),
        (("lint", "x.yml"), 3, "There is no file x.yml."),
        (("lint", "binary.yml"), 2, "binary.yml is not UTF-8 text: line 2"),
        (("lint", "empty.yml"), 2, "empty.yml is empty"),
        (("lint", "--root", "none", "binary.yml"), 2, "is not UTF-8"),
        (("lint", "--project", "x", "good.yml"), 2, "--project 'x' is not"),
        (("lint", "--root", "none", "good.yml"), 3, "There is no folder none."),
    ],
)
def test_what_cannot_be_read(folder: Path, words: tuple[str, ...], code: int, said: str) -> None:
    (folder / "binary.yml").write_bytes(b"a: b\n\xff")
    (folder / "empty.yml").write_text(" \n")
    write(folder, GOOD, "good.yml")
    ran = run(*words)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("Error: ")
    assert said in ran.err


def test_too_large_a_file_is_an_issue(folder: Path) -> None:
    write(folder, "# " + "é" * 1_100_000 + "\na: {script: x}\n")
    ran = run("lint")
    assert ran.code == 2
    assert len(ran.out) < 2_000


def shown(issue: ConfigIssue, text: str, known: Any = None) -> list[str]:
    """The lines that an issue makes."""
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        IssueText(outcome(text=text, known=known or {}), console).show([issue], "error", "red")
    return capture.get().splitlines()


def test_an_issue_without_a_place_has_no_excerpt() -> None:
    assert shown(ConfigIssue("bad"), "a: b") == [".gitlab-ci.yml: error: bad"]
    assert shown(ConfigIssue("bad", line=9, column=1), "a: b") == [".gitlab-ci.yml:9:1: error: bad"]


def test_a_long_line_is_cut_around_the_place() -> None:
    line = "a" * 500 + "HERE" + "b" * 500
    _, excerpt, caret = shown(ConfigIssue("bad", line=1, column=501), line)
    assert len(excerpt) <= WIDEST + 11
    assert excerpt[caret.index("^") :].startswith("HERE")


def test_a_caret_stands_under_wide_characters() -> None:
    _, excerpt, caret = shown(ConfigIssue("bad", line=1, column=4), "日本:x")
    assert (excerpt, caret) == ("     1 | 日本:x", "       |      ^")


def test_nothing_steers_the_terminal() -> None:
    lines = shown(ConfigIssue("bad \x1b[31m", line=1, column=1), "\x1b]0;x\x07: [red]y[/red]")
    assert "\x1b" not in "".join(lines)
    assert "[red]y[/red]" in lines[1]


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        (LocalFile("ci/a.yml"), "ci/a.yml"),
        (LocalFile("a.yml", Origin("g/p", "0123456789")), "g/p@01234567:a.yml"),
        (ProjectFile("g/p", "a.yml"), "G/p:a.yml"),
        (ProjectFile("g/p", "a.yml", "v1"), "G/p@v1:a.yml"),
        (TemplateFile("A.gitlab-ci.yml"), "template:A.gitlab-ci.yml"),
        (RemoteFile("https://x/a.yml"), "https://x/a.yml"),
    ],
)
def test_excerpts_come_from_included_files(request_: Request, name: str) -> None:
    lines = shown(ConfigIssue("bad", file=name, line=2, column=1), "main", {request_: Fetched("one\ntwo")})
    assert lines[1] == "     2 | two"


def test_counts() -> None:
    assert counted({"error": 1, "warning": 2, "note": 0}) == "1 error, 2 warnings"
