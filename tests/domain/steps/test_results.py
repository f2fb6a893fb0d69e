"""Results as others read them."""

import json

from domain.steps.rendering import Known
from domain.steps.results import MASK, ExecResult, StepResult, StepStatus, document_of


def test_a_tree_is_json_without_what_is_empty_or_sensitive() -> None:
    inner = StepResult(
        "greet",
        "./greet",
        StepStatus.FAILURE,
        inputs={"who": Known("ada"), "token": Known("t0p", is_sensitive=True)},
        env={"PASSWORD": Known("t0p", is_sensitive=True)},
        exec_result=ExecResult(("greet", "ada"), "/build", 3),
        failure="the command ended with exit code 3",
    )
    document = document_of(StepResult("root", "", StepStatus.FAILURE, steps=(inner,)))
    assert document == {
        "name": "root",
        "status": "failure",
        "subStepResults": [
            {
                "name": "greet",
                "step": "./greet",
                "status": "failure",
                "inputs": {"who": "ada", "token": MASK},
                "env": {"PASSWORD": MASK},
                "message": "the command ended with exit code 3",
                "execResult": {"command": ["greet", "ada"], "workDir": "/build", "exitCode": 3},
            }
        ],
    }
    assert "t0p" not in json.dumps(document)


def test_an_exit_code_of_nothing_is_told() -> None:
    done = StepResult("a", "", StepStatus.SUCCESS, exec_result=ExecResult(("true",), "/", 0), outputs={"x": Known(0)})
    document = document_of(done)
    assert document["execResult"]["exitCode"] == 0
    assert document["outputs"] == {"x": 0}
