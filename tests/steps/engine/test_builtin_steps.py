"""Steps that the step runner has itself."""

import json
import shutil
from pathlib import Path

import pytest

from domain.errors import Invalid
from domain.steps.definition import Exec
from domain.steps.references import BuiltinReference, read_reference
from domain.steps.rendering import Names, rendered_text
from domain.steps.results import StepStatus, document_of
from steps.engine import builtin_steps
from steps.engine.builtin_steps import BuiltinFinder, builtin_names
from steps.engine.finding import found_in
from steps.own_program import own_command
from tests.steps.engine.conftest import Rig


@pytest.fixture
def finder(tmp_path: Path) -> BuiltinFinder:
    return BuiltinFinder(tmp_path / "cache")


@pytest.mark.parametrize("name", builtin_names())
def test_each_says_what_its_inputs_and_outputs_are(name: str) -> None:
    text = (builtin_steps.FOLDER / name / "step.yml").read_text()
    spec = found_in(builtin_steps.FOLDER / name).definition.spec
    assert spec.inputs
    assert text.count("description:") == len(spec.inputs) + len(spec.outputs)


def test_an_unknown_one_says_what_there_is(finder: BuiltinFinder) -> None:
    with pytest.raises(Invalid) as refused:
        finder.find(BuiltinReference("scrpt"), Path("/"))
    assert str(refused.value).startswith("there is no built-in step `scrpt`; did you mean `script`? (there are ")
    assert "script" in str(refused.value).partition("(")[2]


@pytest.mark.parametrize("scheme", ["builtin", "dist"])
def test_a_script_runs_in_the_folder_of_the_job(rig: Rig, scheme: str) -> None:
    text = 'pwd; echo "$GREETING ${BASH_VERSION:+in bash}"; exit 3'
    calls = [
        {"name": "a", "step": f"{scheme}://script", "inputs": {"script": text}, "env": {"GREETING": "hi"}},
    ]
    result = rig.run(f"{{}}\n---\n{json.dumps({'run': calls})}")
    assert (result.status, result.steps[0].failure) == (
        StepStatus.FAILURE,
        "the command ended with exit code 3",
    ), document_of(result)
    assert rig.output() == f"{rig.folder / 'build'}\nhi in bash\n"


def test_a_script_runs_by_sh_where_there_is_no_bash(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    shell = shutil.which("sh")
    assert shell is not None
    (tmp_path / "bin/sh").symlink_to(shell)
    calls = [{"name": "a", "step": "builtin://script", "inputs": {"script": 'echo "by ${BASH_VERSION:-sh}"'}}]
    rig.run(f"{{}}\n---\n{json.dumps({'run': calls})}", service_env={"PATH": str(tmp_path / "bin")})
    assert rig.output() == "by sh\n"


def test_a_command_that_is_the_step_runner_calls_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By words that hold no expressions, whatever they are."""
    (tmp_path / "steps/itself").mkdir(parents=True)
    (tmp_path / "steps/itself/step.yml").write_text("{}\n---\nexec: {command: [step-runner, fetch]}\n")
    monkeypatch.setattr(builtin_steps, "FOLDER", tmp_path / "steps")
    finder = BuiltinFinder(tmp_path / "${{ cache", {"DOCKER_AUTH_CONFIG"})
    definition = finder.find(read_reference("builtin://itself"), Path("/")).definition
    assert isinstance(definition.work, Exec)
    words = [rendered_text(word, Names()).value for word in definition.work.command]
    assert words == [*own_command("images"), "fetch"]
    assert rendered_text(definition.env["PERDURE_STEP_CACHE"], Names()).value == str(tmp_path / "${{ cache")
    assert definition.env["DOCKER_AUTH_CONFIG"] == "${{ vars.DOCKER_AUTH_CONFIG }}"
