"""Expansion of variables, once and no more."""

import os
from pathlib import Path

import pytest

from fleet.executors.workspace import Slot, make_workspace
from fleet.job import JobVariable, read_job
from fleet.variables import expand, machine_environment, resolve, usable
from tests.fleet.jobs import payload


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$A-${B}", "1-$A"),
        ("$$A", "$A"),
        ("$MISSING|${MISSING}|", "||"),
        ("a $ b ${ $1", "a $ b ${ $1"),
        ("${A}x$A", "1x1"),
    ],
)
def test_expand(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "$A"}) == expected


def test_resolve() -> None:
    resolved = resolve(
        [
            JobVariable("A", "first"),
            JobVariable("A", "1"),
            JobVariable("B", "$A"),
            JobVariable("C", "$B"),
            JobVariable("RAW", "$A", raw=True),
            JobVariable("F", "content $A", file=True),
            JobVariable("USES_F", "cat $F"),
        ],
        Path("/tmp/x"),
    )
    assert resolved.values == {
        "A": "1",
        "B": "1",
        "C": "$A",
        "RAW": "$A",
        "F": "/tmp/x/F",
        "USES_F": "cat /tmp/x/F",
    }
    assert resolved.files == {Path("/tmp/x/F"): "content 1"}


def test_names_a_process_cannot_have_are_left_out() -> None:
    good, bad = usable([JobVariable("A", "1"), JobVariable("../B", "2", file=True), JobVariable("C", "a\0b")])
    assert [variable.key for variable in good] == ["A"]
    assert bad == ["../B", "C"]


def test_scripts_do_not_see_the_runners_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_SIGNING_KEY", "secret")
    assert "PERDURE_SIGNING_KEY" not in machine_environment()
    assert machine_environment()["PATH"] == os.environ["PATH"]


def test_workspace_knows_every_form_of_a_secret(tmp_path: Path) -> None:
    job = read_job(
        payload(
            variables={"PART": "xyz"},
            extra_variables=[{"key": "S", "value": "pre-$PART", "masked": True}],
            git_info={"repo_url": "http://user:p%40ss@host/group/project.git"},
        )
    )
    workspace = make_workspace(job, Slot(tmp_path, "abc", 3), "mark")
    assert workspace.secrets == {"pre-xyz", "pre-$PART", "p@ss", "glcbt-1-secret"}
    assert workspace.project_dir == tmp_path / "abc/3/group/project-empty"
    assert workspace.variables["CI_PROJECT_DIR"] == str(workspace.project_dir)
    assert workspace.environment["CI_CONCURRENT_ID"] == "3"
