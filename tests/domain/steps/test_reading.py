"""Step files: what they say, and every fault with its place."""

from typing import Any

import pytest

from domain.errors import ConfigInvalid
from domain.steps.definition import Call, Definition, Exec, Fetched, Parameter, Script, Sequence, Spec
from domain.steps.reading import MAX_CALLS, read_calls, read_definition
from domain.steps.values import ValueType

WHOLE = """\
spec:
  inputs:
    who:   {type: string, default: world, description: Whom to greet}
    times: {type: number}
    token: {type: string, sensitive: true}
  outputs:
    line:  {type: string}
    ok:    {type: boolean, default: false}
---
env: {GREETING: "hi ${{ inputs.who }}"}
exec:
  command: ["${{ step_dir }}/greet.sh", "${{ output_file }}"]
  work_dir: "${{ work_dir }}/sub"
"""


def faults(text: str) -> list[tuple[int, str]]:
    """Line and message of each fault."""
    with pytest.raises(ConfigInvalid) as refused:
        read_definition(text, "step.yml")
    return [(issue.line, issue.message) for issue in refused.value.issues]


def body(text: str, spec: str = "{}") -> Definition:
    return read_definition(f"{spec}\n---\n{text}\n", "step.yml")


def test_a_whole_file() -> None:
    found = read_definition(WHOLE, "step.yml")
    assert found.spec.inputs == {
        "who": Parameter(ValueType.STRING, has_default=True, default="world"),
        "times": Parameter(ValueType.NUMBER),
        "token": Parameter(ValueType.STRING, is_sensitive=True),
    }
    assert found.spec.outputs == {
        "line": Parameter(ValueType.STRING),
        "ok": Parameter(ValueType.BOOLEAN, has_default=True, default=False),
    }
    assert found.env == {"GREETING": "hi ${{ inputs.who }}"}
    assert found.work == Exec(("${{ step_dir }}/greet.sh", "${{ output_file }}"), "${{ work_dir }}/sub")


@pytest.mark.parametrize("spec", ["{}", "spec:", "spec: {}", "spec: {inputs: {}}", "---"])
def test_a_spec_may_be_empty(spec: str) -> None:
    assert body("exec: {command: [a]}", spec) == Definition(Spec(), Exec(("a",)))


@pytest.mark.parametrize("key", ["run", "steps"])
def test_a_sequence(key: str) -> None:
    steps = (
        "[{name: a, script: make}, {name: b, step: ./x, inputs: {n: 1}, env: {E: e}}, {name: c, func: 'builtin://s'}]"
    )
    assert body(f"{key}: {steps}").work == Sequence(
        (
            Call("a", Script("make")),
            Call("b", Fetched("./x", {"n": 1}), {"E": "e"}),
            Call("c", Fetched("builtin://s")),
        )
    )


def test_outputs_of_a_sequence_are_its_own_or_those_of_one_of_its_steps() -> None:
    spec = "spec: {outputs: {x: {type: string}, y: {type: number, default: 1}}}"
    own = body("{run: [{name: a, script: b}], outputs: {x: '${{ steps.a.outputs.x }}'}}", spec).work
    assert own == Sequence((Call("a", Script("b")),), {"x": "${{ steps.a.outputs.x }}"})
    delegated = body("{run: [{name: a, step: ./b}], delegate: a}", "spec: {outputs: delegate}")
    assert delegated.spec.is_delegated
    assert delegated.work == Sequence((Call("a", Fetched("./b")),), delegate="a")


def test_a_command_may_give_a_whole_result() -> None:
    assert body("exec: {command: [a]}", "spec: {outputs: delegate}").spec.is_delegated


@pytest.mark.parametrize("text", ["[{name: a, script: b}]", '[{"name": "a", "script": "b"}]'])
def test_a_list_of_steps(text: str) -> None:
    assert read_calls(text, "STEPS") == Sequence((Call("a", Script("b")),))


@pytest.mark.parametrize(
    ("spec", "text", "line", "said"),
    [
        ("spek: {}", "exec: {command: [a]}", 1, "header contains unknown keys: spek; did you mean `spec`?"),
        ("spec: {input: {}}", "exec: {command: [a]}", 1, "spec config contains unknown keys: input; did you mean"),
        ("spec: {inputs: {a-b: {type: string}}}", "exec: {command: [a]}", 1, "unknown keys: a-b; names are letters"),
        ("spec: {inputs: {a: {}}}", "exec: {command: [a]}", 1, "spec:inputs:a config missing required keys: type"),
        ("spec: {inputs: {a: {type: int}}}", "exec: {command: [a]}", 1, "should be one of: string, number, boolean"),
        (
            "spec: {inputs: {a: {type: number, default: '1'}}}",
            "exec: {command: [a]}",
            1,
            "default should be of type number, as `type` says; it is of type string",
        ),
        ("spec: {inputs: {a: {type: string, default: 1}}}", "exec: {command: [a]}", 1, "it is of type number"),
        ("spec: {inputs: {a: {type: string, choices: [b]}}}", "exec: {command: [a]}", 1, "unknown keys: choices"),
        ("spec: {outputs: other}", "exec: {command: [a]}", 1, "spec:outputs config should be a hash"),
        ("{}", "{}", 3, "step must use exactly one of these keys: exec, run"),
        ("{}", "{exec: {command: [a]}, run: []}", 3, "step must use exactly one of these keys: exec, run"),
        ("{}", "exek: {}", 3, "step contains unknown keys: exek; did you mean `exec`?"),
        ("{}", "exec: {}", 3, "exec config missing required keys: command"),
        ("{}", "exec: {command: []}", 3, "exec command can't be blank"),
        ("{}", "exec: {command: a b}", 3, "exec command should be an array of strings"),
        ("{}", "{exec: {command: [a]}, outputs: {}}", 3, "outputs config belongs to steps with `run`"),
        ("{}", "{exec: {command: [a]}, env: {A: 1}}", 3, "env:A config should be a string"),
        ("{}", "run: []", 3, "run config can't be blank"),
        ("{}", "run: [{name: a}]", 3, "must use exactly one of these keys"),
        ("{}", "run: [{name: a, script: b}, {name: a, script: c}]", 3, "has already been taken by step 0"),
        ("{}", "run: [{name: a, action: x/y@v1}]", 3, "`action` runs actions of another system"),
        ("{}", "{run: [{name: a, script: b}], delegate: a}", 3, "delegate config needs `outputs: delegate`"),
        ("{}", "{run: [{name: a, script: b}], outputs: {x: 1}}", 3, "gives what the spec does not have: x"),
        ("spec: {outputs: {x: {type: string}}}", "run: [{name: a, script: b}]", 3, "missing: x"),
        ("spec: {outputs: delegate}", "run: [{name: a, script: b}]", 3, "must say by `delegate`"),
        ("spec: {outputs: delegate}", "{run: [{name: a, script: b}], delegate: z}", 3, "there is no `z`"),
        (
            "spec: {outputs: delegate}",
            "{run: [{name: a, script: b}], delegate: a, outputs: {}}",
            3,
            "cannot be used together: outputs, delegate",
        ),
    ],
)
def test_every_fault_has_its_place(spec: str, text: str, line: int, said: str) -> None:
    found = faults(f"{spec}\n---\n{text}\n")
    assert any(at == line and said in message for at, message in found), found


def test_all_faults_are_told_at_once() -> None:
    found = faults("spec:\n  inputs:\n    a: {type: x}\n---\nexec:\n  command: []\nenv: {1a: b}\n")
    assert [line for line, _ in found] == [3, 6, 7]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "this one has 0"),
        ("exec: {command: [a]}", "A step file has two documents, `spec` and what the step does"),
        ("{}\n---\n{}\n---\n{}", "this one has 3"),
        ("a: [", "Invalid configuration format"),
        ("a" * 3_000_000, "at most 2,097,152 characters"),
        ("{}\n---\n" + "[" * 200, "nest"),
        ("{}\n---\na: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nexec: {command: [*b]}", "contains unknown keys"),
    ],
)
def test_what_is_no_step_file(text: str, said: str) -> None:
    assert any(said in message for _, message in faults(text)), faults(text)


def test_a_sequence_has_an_end() -> None:
    many: list[Any] = [f"{{name: s{number}, script: x}}" for number in range(MAX_CALLS + 1)]
    assert len(read_calls(f"[{','.join(many[:-1])}]", "STEPS").calls) == MAX_CALLS
    with pytest.raises(ConfigInvalid, match="at most 1,000 may follow one another"):
        read_calls(f"[{','.join(many)}]", "STEPS")
