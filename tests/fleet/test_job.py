"""The payload's reader takes what it can and refuses only what cannot be reported on."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Invalid
from fleet.job import DEFAULT_TIMEOUT, read_job
from fleet.verdict import SUCCESS, failed
from tests.fleet.jobs import archive, payload


def test_reads_a_whole_payload() -> None:
    job = read_job(
        payload(
            ["make"],
            after_script=["echo bye"],
            artifacts=[archive("out.txt")],
            dependencies=[{"id": 5, "token": "t", "name": "build", "artifacts_file": {"filename": "a.zip", "size": 1}}],
            extra_variables=[{"key": "K", "value": "v", "masked": True, "file": True, "raw": True}],
        )
    )
    assert (job.id, job.token, job.timeout) == (1, "glcbt-1-secret", 600)
    assert [step.name for step in job.steps] == ["script", "after_script"]
    assert job.artifacts[0].paths == ("out.txt",)
    assert (job.dependencies[0].id, job.dependencies[0].filename) == (5, "a.zip")
    last = job.variables[-1]
    assert (last.masked, last.file, last.raw) == (True, True, True)
    assert job.features.trace_sections


def test_nulls_and_wrong_types_become_defaults() -> None:
    job = read_job(
        {
            "id": "12",
            "token": "t",
            "job_info": None,
            "git_info": [],
            "runner_info": {"timeout": -1},
            "variables": [{"key": "A", "value": None}, {"key": "B", "value": 60}, {"value": "x"}, None],
            "steps": None,
            "artifacts": [{"paths": [1, "a"], "when": ""}],
            "dependencies": None,
            "features": 3,
            "never_heard_of": {},
        }
    )
    assert (job.id, job.timeout, job.steps) == (12, DEFAULT_TIMEOUT, ())
    assert [(variable.key, variable.value) for variable in job.variables] == [("A", ""), ("B", "60")]
    assert (job.artifacts[0].paths, job.artifacts[0].when) == (("a",), "on_success")


@pytest.mark.parametrize("body", [{}, {"id": 1}, {"id": 0, "token": "t"}, {"token": "t"}])
def test_without_id_or_token_it_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(Invalid, match="id"):
        read_job(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.fixed_dictionaries({key: JSON for key in payload() if key not in ("id", "token")}))
def test_any_json_is_read(rest: dict[str, object]) -> None:
    job = read_job(json.loads(json.dumps({"id": 1, "token": "t", **rest})))
    assert job.id == 1


@pytest.mark.parametrize(
    ("reason", "known", "reported"),
    [
        ("script_failure", (), "script_failure"),
        ("runner_interrupted", (), "unknown_failure"),
        ("runner_interrupted", ("runner_interrupted",), "runner_interrupted"),
        ("runner_external_dependency_failure", (), "runner_system_failure"),
        ("", (), "script_failure"),
    ],
)
def test_reported_reasons(reason: str, known: tuple[str, ...], reported: str) -> None:
    assert failed(reason, 3).reported(known) == failed(reported, 3)
    assert SUCCESS.reported(known) == SUCCESS
