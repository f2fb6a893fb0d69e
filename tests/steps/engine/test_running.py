"""Steps that are run: what they find, what they give, and how they fail."""

import json
from typing import Any

import pytest

from domain.steps.rendering import Known
from domain.steps.results import MASK, StepResult, StepStatus, document_of
from tests.steps.engine.conftest import Rig

GREET = """\
spec:
  inputs: {who: {type: string, default: world}, times: {type: number, default: 1}}
  outputs: {line: {type: string}, ok: {type: boolean, default: false}}
---
env: {GREETING: "hi ${{ inputs.who }}"}
exec:
  command:
    - sh
    - -c
    - 'echo "$GREETING"; printf "{\\"name\\":\\"line\\",\\"value\\":\\"%s\\"}\\n" "$GREETING" >"$1"'
    - sh
    - "${{ output_file }}"
"""


def job(steps: str) -> str:
    """A definition like that of a job."""
    between = " " if steps.startswith("[") else "\n"
    return f"{{}}\n---\nrun:{between}{steps}\n"


def failures(result: StepResult) -> list[str]:
    """Why steps failed, from the outermost inwards."""
    return [why for one in (result, *result.steps) if (why := one.failure)]


def test_a_command_gets_its_inputs_and_gives_its_outputs(rig: Rig) -> None:
    rig.write("greet", GREET)
    result = rig.run(
        job("""
- {name: one, step: ./greet}
- {name: two, step: ./greet, inputs: {who: ada}}
- {name: three, script: 'echo "${{ steps.two.outputs.line }}!"'}
""")
    )
    assert result.status is StepStatus.SUCCESS, document_of(result)
    assert [one.outputs for one in result.steps] == [
        {"line": Known("hi world"), "ok": Known(False)},
        {"line": Known("hi ada"), "ok": Known(False)},
        {},
    ]
    assert rig.output() == "hi world\nhi ada\nhi ada!\n"
    assert rig.output("stderr") == ""
    assert result.steps[0].inputs == {"who": Known("world"), "times": Known(1)}


def test_steps_are_told_as_they_begin_and_end(rig: Rig) -> None:
    rig.write("both", job("[{name: a, script: 'true'}, {name: b, script: 'true'}]"))
    rig.run(job("[{name: one, step: ./both}, {name: two, script: 'exit 3'}]"))
    told = [("/".join(path), str(result.status)) for path, result in rig.told]
    assert told == [
        ("one", "running"),
        ("one/a", "running"),
        ("one/a", "success"),
        ("one/b", "running"),
        ("one/b", "success"),
        ("one", "success"),
        ("two", "running"),
        ("two", "failure"),
        ("", "failure"),
    ]


def test_what_fails_ends_its_sequence(rig: Rig) -> None:
    result = rig.run(job("[{name: a, script: 'echo a; exit 7'}, {name: b, script: echo b}]"))
    assert [one.name for one in result.steps] == ["a"]
    assert result.steps[0].exec_result is not None
    assert result.steps[0].exec_result.exit_code == 7
    assert failures(result) == ["step a has not succeeded", "the command ended with exit code 7"]
    assert rig.output() == "a\n"
    assert rig.output("stderr") == "step a: the command ended with exit code 7\n"


def test_a_signal_that_ended_a_command_is_told_as_by_shells(rig: Rig) -> None:
    result = rig.run(job("[{name: a, script: 'kill -9 $$'}]"))
    assert failures(result)[1] == "the command ended with exit code 137"


def test_outputs_of_a_sequence(rig: Rig) -> None:
    rig.write("greet", GREET)
    rig.write(
        "twice",
        "spec: {inputs: {who: {type: string}}, outputs: {both: {type: array}}}\n---\n"
        "run: [{name: a, step: ../greet, inputs: {who: '${{ inputs.who }}'}}, {name: b, step: ../greet}]\n"
        "outputs: {both: ['${{ steps.a.outputs.line }}', '${{ steps.b.outputs.line }}']}\n",
    )
    rig.write("same", "spec: {outputs: delegate}\n---\nrun: [{name: a, step: ../greet}]\ndelegate: a\n")
    result = rig.run(job("[{name: x, step: ./twice, inputs: {who: bob}}, {name: y, step: ./same}]"))
    assert result.status is StepStatus.SUCCESS, document_of(result)
    assert result.steps[0].outputs == {"both": Known(["hi bob", "hi world"])}
    assert result.steps[1].outputs == {"line": Known("hi world"), "ok": Known(False)}


def test_a_command_may_write_a_whole_result(rig: Rig) -> None:
    rig.write(
        "whole",
        "spec: {outputs: delegate}\n---\n"
        "exec: {command: [sh, -c, 'echo \"$1\" > \"$2\"', sh, '${{ vars.RESULT }}', '${{ output_file }}']}\n",
    )
    for written, said in (('{"outputs": {"a": 1}}', ""), ("[]", "which is an object"), ("x", "is no JSON")):
        result = rig.run(job("[{name: x, step: ./whole}]"), variables={"RESULT": Known(written)})
        assert said in result.steps[0].failure
        assert result.steps[0].outputs == ({} if said else {"a": Known(1)})


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"call": "call", "definition": "definition"}, "definition"),
        ({"call": "call"}, "call"),
        ({"sequence": "sequence"}, "sequence"),
        ({"job": "job"}, "exported"),
    ],
)
def test_which_variable_of_a_name_a_step_finds(rig: Rig, env: dict[str, str], expected: str) -> None:
    """Exports come behind what is written, and before the request and the service."""

    def scope(name: str) -> str:
        return json.dumps({"X": env[name]} if name in env else {})

    rig.write("say", f"{{}}\n---\nenv: {scope('definition')}\nexec: {{command: [sh, -c, 'echo $X']}}\n")
    rig.write(
        "around", f"{{}}\n---\nenv: {scope('sequence')}\nrun: [{{name: a, step: ../say, env: {scope('call')}}}]\n"
    )
    export = """printf '{"name":"X","value":"exported"}' > ${{ export_file }}"""
    result = rig.run(
        job(f"- {{name: e, script: {json.dumps(export)}}}\n- {{name: s, step: ./around}}"),
        env={"X": Known(env["job"])} if "job" in env else {},
        service_env={"X": "service", "PATH": "/usr/bin:/bin"},
    )
    assert result.status is StepStatus.SUCCESS, document_of(result)
    assert rig.output() == f"{expected}\n"
    assert result.steps[0].exports == {"X": "exported"}


def test_an_export_is_seen_within_a_sequence_that_has_begun(rig: Rig) -> None:
    export = """printf '{"name":"X","value":"%s"}' new > ${{ export_file }}"""
    rig.write("inner", job(f"- {{name: a, script: {json.dumps(export)}}}\n- {{name: b, script: 'echo $X'}}"))
    rig.run(job("[{name: i, step: ./inner}, {name: c, script: 'echo $X'}]"), env={"X": Known("old")})
    assert rig.output() == "new\nnew\n"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{name: a, step: ./nothing}", "there is no folder"),
        ("{name: a, step: ./empty}", "there is no func.yml or step.yml in"),
        ("{name: a, step: ./empty/other.yml}", "there is no other.yml in"),
        ("{name: a, step: nonsense}", "`nonsense` names no step"),
        ("{name: a, step: 'builtin://x'}", "there is no built-in step `x`"),
        ("{name: a, step: ./greet, inputs: {whom: a}}", "there is no input whom; did you mean `who`?"),
        ("{name: a, step: ./greet, inputs: {who: 1}}", "input who is of type string"),
        ("{name: a, step: ./greet, inputs: {who: '${{ nobody }}'}}", "there is no `nobody`"),
        ("{name: a, step: ./greet, env: {A: '${{ 1 }}'}}", "gives no text"),
        ("{name: a, step: ./missing}", "`no-such-command` cannot be started: No such file or directory"),
        ("{name: a, step: ./quiet}", "output x is missing: the step did not write it"),
        ("{name: a, step: ./wrong}", "line 1 is no JSON"),
        ("{name: a, step: ./elsewhere}", "cannot be started in"),
        ("{name: a, step: ./large}", "at most 1,048,576 bytes are read"),
        ("{name: a, step: ./gone}", "cannot be read any more: No such file or directory"),
        ("{name: a, step: ./link}", "cannot be read any more: Too many levels of symbolic links"),
        ("{name: a, step: ./pipe}", "cannot be read any more: it is no file"),
        ("{name: a, step: ./folder}", "cannot be read any more: it is no file"),
        ("{name: a, step: './${{ vars.WHERE }}'}", "there is no folder"),
    ],
)
def test_every_fault_is_a_failure_with_a_sentence(rig: Rig, step: str, said: str) -> None:
    def command(text: str, spec: str = "{}") -> str:
        return f"{spec}\n---\nexec: {{command: [sh, -c, {json.dumps(text)}, sh, '${{{{ output_file }}}}']}}\n"

    rig.write("greet", GREET)
    rig.write("missing", "{}\n---\nexec: {command: [no-such-command]}\n")
    rig.write("elsewhere", "{}\n---\nexec: {command: ['true'], work_dir: nowhere}\n")
    rig.write("quiet", command("true", "spec: {outputs: {x: {type: string}}}"))
    rig.write("wrong", command("echo x > $1"))
    rig.write("large", command("head -c 2000000 /dev/zero > $1"))
    rig.write("gone", command("rm $1"))
    rig.write("link", command("ln -sf /etc/passwd $1"))
    rig.write("pipe", command("rm $1; mkfifo $1"))
    rig.write("folder", command("rm $1; mkdir $1; touch $1/file"))
    rig.write("empty", "")
    (rig.folder / "build/empty/step.yml").unlink()
    result = rig.run(job(f"[{step}]"), variables={"WHERE": Known("nowhere")})
    assert result.status is StepStatus.FAILURE
    assert said in result.steps[0].failure
    assert said in rig.output("stderr"), "whoever reads the log alone sees it, too"
    assert not [*rig.folder.glob("output-*"), *rig.folder.glob("export-*")], "whatever was put there, it is gone"


def test_a_step_that_names_itself_ends(rig: Rig) -> None:
    rig.write("self", job("[{name: a, step: ../self}]"))
    result = rig.run(job("[{name: a, step: ./self}]"))
    depth = 0
    while result.steps:
        (result,) = result.steps
        depth += 1
    assert result.failure.startswith("steps are nested at most 64 times")
    assert depth == 65


def test_a_step_that_names_itself_twice_ends_as_soon(rig: Rig) -> None:
    """Not after 2 ** 64 steps."""
    rig.write("self", job("[{name: a, step: ../self}, {name: b, step: ../self}]"))
    assert rig.run(job("[{name: a, step: ./self}]")).status is StepStatus.FAILURE


def test_nothing_sensitive_is_told(rig: Rig) -> None:
    rig.write(
        "login",
        "spec: {inputs: {token: {type: string, sensitive: true}}, outputs: {key: {type: string, sensitive: true}}}\n"
        "---\n"
        "env: {TOKEN: '${{ inputs.token }}'}\n"
        'exec: {command: [sh, -c, \'echo "{\\"name\\":\\"key\\",\\"value\\":\\"$1\\"}" > $2\', sh, '
        "'${{ inputs.token }}', '${{ output_file }}']}\n",
    )
    variables = {"SECRET": Known("s3cret", is_sensitive=True)}
    steps = "[{name: a, step: ./login, inputs: {token: '${{ vars.SECRET }}'}}]"
    result = rig.run(job(steps), variables=variables)
    assert result.status is StepStatus.SUCCESS, document_of(result)
    document: dict[str, Any] = document_of(result)["subStepResults"][0]
    assert document["outputs"] == {"key": MASK}
    assert document["execResult"]["command"][4] == MASK
    assert "s3cret" not in json.dumps(document_of(result))
    assert all("s3cret" not in json.dumps(document_of(one)) for _, one in rig.told)


def test_what_is_sensitive_gets_nowhere_that_is_not(rig: Rig) -> None:
    rig.write("greet", GREET)
    rig.write(
        "leak",
        "spec: {inputs: {token: {type: string, sensitive: true}}, outputs: {x: {type: string}}}\n---\n"
        "run: [{name: a, script: 'true'}]\noutputs: {x: '${{ inputs.token }}'}\n",
    )
    variables = {"SECRET": Known("s3cret", is_sensitive=True)}
    for step in (
        "{name: a, step: ./greet, inputs: {who: '${{ vars.SECRET }}'}}",
        "{name: a, step: ./leak, inputs: {token: x}}",
    ):
        result = rig.run(job(f"[{step}]"), variables=variables)
        assert "gets a sensitive value, and is not declared" in result.steps[0].failure
