"""What no caller may bring about by a request, by what is wrong with it, with what is said of it.

`FOR_BOTH` are changes of a good request that both services know by other names, `FOR_DOCUMENT` and `FOR_PRODUCT` are of
one alone.
"""

from typing import Any, Final

from google.protobuf.struct_pb2 import Value

from steps.proto import runs_pb2 as product
from steps.proto import step_runner_pb2 as messages
from tests.steps.service.serving import HEADER

Cases = list[tuple[str, dict[str, Any], str]]

STEP: Final = messages.RunRequest.step
GOOD: Final = "run: [{name: a, script: x}]"
NAMES: Final = (
    "", "1A", "A-B", "A.B", "A B", "A=B", "É", "A\n", "A\0", "$A", "A;B", "-A", "()", " A", "A ", "٣A", "Ａ", "А",
    "A\u200b", "A" * 100_000 + "-", "é" * 5_000, "\U0001f600" * 3_000,
)  # fmt: skip
IDS: Final = (
    "", ".", "..", "/", "a/b", "../x", "/etc", "a\\b", "-a", ".a", "_a", "a b", "a\n", "a\0", "é", "a" * 129,
    "a;b", "$(x)", "~", "*", "a/../b", "%2e%2e", "ａ", "а", "a\u202e", ".removed-a", "é" * 1_000_000,
)  # fmt: skip
BOMB: Final = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(8)
)
_TWO: Final = "A step file has two documents"
STEPS: Final = (
    ("x", _TWO),
    ("[]", _TWO),
    ("run: []", _TWO),
    ("{}", _TWO),
    (f"{HEADER}{GOOD}\n---\n{{}}", _TWO),
    ("\ufeff\ufeff", _TWO),
    ("{}\n---\n", "step should be a hash"),
    (f"{HEADER}[]", "step should be a hash"),
    (f"- a\n---\n{GOOD}", "header should be a hash"),
    (f"{HEADER}run: {{}}", "should be an array of steps"),
    (f"{HEADER}run: [1]", "run:0 config should be a hash"),
    (f"{HEADER}run: [{{name: a}}]", "exactly one of these keys: script, step, func, action"),
    (f"{HEADER}run: [{{name: a, script: x, step: y}}]", "exactly one of these keys: script, step, func, action"),
    (f"{HEADER}run: [{{script: x}}]", "run:0 name can't be blank"),
    (f"{HEADER}run: [{{name: 'a/b', script: x}}]", "name can contain only letters"),
    (f"{HEADER}run: [{{name: 'á', script: x}}]", "name can contain only letters"),
    (f"{HEADER}run: [{{name: [], script: x}}]", "run:0 name should be a string"),
    (f"{HEADER}run: [{{name: a, script: x}}, {{name: a, script: y}}]", "name has already been taken by step 0"),
    (f"{HEADER}run: [{{name: a, script: x, unknown: 1}}]", "contains unknown keys: unknown"),
    (f"{HEADER}run: [{{name: a, script: x, env: {{A-B: c}}}}]", "contains unknown keys: A-B"),
    (f"{HEADER}run: [{{name: a, script: x, inputs: {{a: 1}}}}]", "contains unknown keys: inputs"),
    (f"{HEADER}run: [{{name: a, script: {{}}}}]", "script should be a string"),
    (f"{HEADER}run: [{{name: a, script: ''}}]", "script can't be blank"),
    (f"{HEADER}run: [{{name: a, action: x}}]", "`action` runs actions of another system"),
    (f"{HEADER}run: [{{name: a, step: x, inputs: [1]}}]", "inputs config should be a hash"),
    (f"{HEADER}run: [{{name: a, step: {{git: {{url: [1]}}}}}}]", "url should be a string"),
    (f"{HEADER}run: [{'{name: a, script: x},' * 2_000}]", "has 2,000 steps; at most 1,000"),
    (f"{HEADER}exec: {{}}", "missing required keys: command"),
    (f"{HEADER}exec: {{command: x}}", "command should be an array of strings"),
    (f"{HEADER}exec: {{command: []}}", "command can't be blank"),
    (f"{HEADER}exec: {{command: [a], work_dir: 1}}", "work dir should be a string"),
    (f"{HEADER}exec: {{command: [a], shell: true}}", "contains unknown keys: shell"),
    (f"{HEADER}{{exec: {{command: [a]}}, run: []}}", "exactly one of these keys: exec, run"),
    (f"{HEADER}{{env: {{A: [1]}}, exec: {{command: [a]}}}}", "env:A config should be a string"),
    (f"{HEADER}{{{GOOD}, delegate: b}}", "names no step: there is no `b`"),
    (f"{HEADER}{{{GOOD}, outputs: {{x: 1}}}}", "gives what the spec does not have: x"),
    (f"spec: {{outputs: delegate}}\n---\n{GOOD}", "must say by `delegate` which of its steps"),
    (f"spec: {{inputs: {{a: {{type: string, default: 1}}}}}}\n---\n{GOOD}", "default should be of type string"),
    (f"spec: {{inputs: {{a: {{type: number, default: .inf}}}}}}\n---\n{GOOD}", "not finite or too large"),
    (f"spec: {{inputs: {{a: {{type: text}}}}}}\n---\n{GOOD}", "type should be one of"),
    (f"spec: {{inputs: {{a-b: {{type: string}}}}}}\n---\n{GOOD}", "contains unknown keys: a-b"),
    (f"{HEADER}!!python/object/apply:os.system ['touch done']", "the YAML tag !!python/object/apply:os.system"),
    (f"{HEADER}run: !!binary aGk=", "the YAML tag !!binary is not permitted"),
    (f"{HEADER}run: &a [*a]", "alias *a contains itself"),
    (f"{HEADER}<<: *x", "unknown alias *x"),
    (f"{HEADER}{BOMB}", "grows to more than 500,000 values"),
    (f"{HEADER}a: &x {{b: c}}\nm: {{<<: [{'*x,' * 300_000}]}}", "grows to more than 500,000 values"),
    (HEADER + "[" * 5_000, "nested too deep"),
    (HEADER + "{a: " * 5_000, "nested too deep"),
    (f"{HEADER}run: [{{name: a, step: x, inputs: {{a: {'[' * 200}{']' * 200}}}}}]", "nested too deep"),
    (f'{HEADER}run: [{{name: a, script: "\\ud800"}}]', "invalid Unicode character escape code"),
    (f"{HEADER}? [a]\n: b", "a key must be plain text"),
    (f"{HEADER}\tx: y", "indent with spaces, not with a tab"),
    ("%YAML 9\n---", "while scanning a %YAML directive"),
    ("\x00", "control characters are not allowed"),
    ("x" * (2 * 1024 * 1024 + 1), "at most 2,097,152 characters"),
)
_FOLDER: Final = "the folder of the job has the character NUL"
FOR_BOTH: Final[Cases] = [
    *((f"name {name[:12]!r}", {"env": {name: "x"}}, "a name of the environment is none") for name in NAMES),
    *((f"id {run_id[:12]!r}", {"id": run_id}, "the id of a run has 1 to 128 letters") for run_id in IDS),
    *((f"steps {number}", {"steps": text}, said) for number, (text, said) in enumerate(STEPS)),
    ("a value with NUL", {"env": {"A": "x\0y"}}, "A has the character NUL"),
    ("a folder with NUL", {"work_dir": "/tmp/x\0y"}, _FOLDER),
    ("a folder with a long path", {"work_dir": "/" + "a/" * 100_000}, "more than 4,095 bytes"),
]
"""With `id`, `env`, `work_dir` and `steps`."""


def _step(**fields: Any) -> messages.Step:
    return messages.Step(name="a", **fields)


def _nested(levels: int) -> Value:
    found = Value(string_value="x")
    for _ in range(levels):
        outer = Value()
        outer.list_value.values.append(found)
        found = outer
    return found


_TYPE: Final = "`type` must be `step` or `script`"
_PATH: Final = Value(string_value="./x")
FOR_DOCUMENT: Final[Cases] = [
    ("type unknown", {"type": messages.RunRequest.unknown}, _TYPE),
    ("type beyond", {"type": 7}, _TYPE),
    ("type below", {"type": -1}, _TYPE),
    ("type far beyond", {"type": 2**31 - 1}, _TYPE),
    ("nothing", {"steps_yaml": "", "ci_script": ""}, "a run of type `step` has steps and no `ci_script`"),
    ("no script", {"type": 2, "steps_yaml": ""}, "a run of type `script` has a `ci_script` alone"),
    ("both, as steps", {"ci_script": "x"}, "a run of type `step` has steps and no `ci_script`"),
    ("both, as a script", {"type": 2, "ci_script": "x"}, "a run of type `script` has a `ci_script` alone"),
    ("steps twice", {"steps": [_step(script="x")]}, "a run has `steps` or `steps_yaml`, not both"),
    ("no work", {"steps_yaml": "", "steps": [_step()]}, "exactly one of these keys"),
    ("two works", {"steps_yaml": "", "steps": [_step(script="x", step=_PATH)]}, "exactly one of these keys"),
    ("no name", {"steps_yaml": "", "steps": [messages.Step(script="x")]}, "name can't be blank"),
    ("empty value", {"steps_yaml": "", "steps": [_step(step=Value())]}, "exactly one of these keys"),
    ("a number", {"steps_yaml": "", "steps": [_step(step=Value(number_value=1))]}, "step config should be"),
    (
        "not a number",
        {"steps_yaml": "", "steps": [_step(step=_PATH, inputs={"a": Value(number_value=float("nan"))})]},
        "a value that JSON has not",
    ),
    (
        "infinity",
        {"steps_yaml": "", "steps": [_step(step=_PATH, inputs={"a": Value(number_value=float("inf"))})]},
        "a value that JSON has not",
    ),
    ("many steps", {"steps_yaml": "", "steps": [_step(script="x")] * 1_001}, "has 1,001 steps; at most 1,000"),
]
_VARIABLE: Final = "a name of the variables is none"
_LIMIT: Final = "a time limit is from 0 to"
FOR_PRODUCT: Final[Cases] = [
    ("variable with a path", {"job": product.Job(variables=[product.Variable(key="../a", file=True)])}, _VARIABLE),
    ("variable without a name", {"job": product.Job(variables=[product.Variable(value="x")])}, _VARIABLE),
    ("variable with NUL", {"job": product.Job(variables=[product.Variable(key="A", value="\0")])}, "A has the char"),
    ("folder with NUL", {"job": product.Job(build_dir="/tmp/\0")}, _FOLDER),
    ("no steps", {"steps": ""}, "a run has either steps or a script"),
    ("time below 0", {"timeout": {"seconds": -1}}, _LIMIT),
    ("time without end", {"timeout": {"seconds": 315_576_000_000}}, _LIMIT),
    ("time beyond all", {"timeout": {"seconds": 2**63 - 1, "nanos": -(2**31)}}, _LIMIT),
    ("done that is not there", {"done": {"b": product.DoneStep()}}, "only the first steps of a run can be done"),
    (
        "done with no number",
        {"done": {"a": product.DoneStep(outputs={"x": Value(number_value=float("nan"))})}},
        "an output that JSON has not",
    ),
    ("done with depth", {"done": {"a": product.DoneStep(outputs={"x": _nested(30)})}}, "nested more than 20 times"),
]
