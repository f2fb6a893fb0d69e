"""Runs steps, one after another and one within the other; every fault of a step is its failure, with a sentence.

Source: docs/reference/steps.md, "Running a step", "Environment", "Output and export files".
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import orjson

from domain.errors import Invalid, PerdureError
from domain.moa.values import Value
from domain.steps.binding import bound_inputs, bound_outputs, passed_outputs
from domain.steps.definition import Call, Definition, Exec, Fetched, Script, Sequence, Spec
from domain.steps.environment import Environment
from domain.steps.output_files import read_exports, read_outputs
from domain.steps.references import read_reference
from domain.steps.rendering import Known, Names, rendered, rendered_text
from domain.steps.results import MASK, ExecResult, StepResult, StepStatus
from domain.steps.runs import DoneStep
from domain.steps.values import check_value
from steps.engine.commands import NOT_STARTED, Command, run_command
from steps.engine.ending import Ended, Ending, Reason
from steps.engine.finding import Finder, Found
from steps.engine.git_steps import without_credentials
from steps.engine.log_files import STDERR, LogFiles
from steps.engine.result_files import FilePair, ResultFiles

MAX_NESTED: Final = 64
"""So deep may steps consist of steps: one may name itself."""
MAX_STEPS: Final = 10_000
"""Steps of one run."""
_SHELLS: Final = ("bash", "sh")
_WHY: Final[Mapping[Reason, str]] = {
    Reason.CANCELLED: "it was cancelled",
    Reason.TIMED_OUT: "the time of the run is over",
    Reason.LOG_FULL: "the log of the run is full",
}


@dataclass(slots=True)
class StepRun:
    """One run: where it works, what it has, and what came of it so far."""

    work_dir: Path
    files: ResultFiles
    log: LogFiles
    ending: Ending
    finder: Finder
    variables: Mapping[str, Known]
    service_env: Mapping[str, str]
    tell: Callable[[tuple[str, ...], StepResult], None]
    """Hears of each step that begins or ends, with its names from the outermost step inwards."""
    done: Mapping[str, DoneStep] = field(default_factory=dict)
    """Steps of the job that are not run again, and what they gave."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """Variables by which processes of the run are found; no step can set others in their place."""
    begun: int = 0

    def run(self, found: Found, environment: Environment, inputs: Mapping[str, Known] | None = None) -> StepResult:
        """Run a step that no other one calls, as that of a job is."""
        result = StepResult("", "", StepStatus.RUNNING)

        def work() -> StepResult:
            bound = bound_inputs(found.definition.spec.inputs, inputs or {})
            known = self._with_inputs((), result, bound)
            return self._defined((), known, found, bound, environment)

        return self._told((), self._guarded(result, work))

    def _called(self, path: tuple[str, ...], call: Call, folder: Path, names: Names, around: Environment) -> StepResult:
        reference = "script" if isinstance(call.work, Script) else _shown(call.work.reference)
        result = StepResult(call.name, reference, StepStatus.RUNNING)
        self.tell(path, result)
        if len(path) == 1 and call.name in self.done:
            return self._told(path, _taken(result, self.done[call.name], around))
        return self._told(path, self._guarded(result, lambda: self._work(path, result, call, folder, names, around)))

    def _work(
        self, path: tuple[str, ...], result: StepResult, call: Call, folder: Path, names: Names, around: Environment
    ) -> StepResult:
        self.begun += 1
        if len(path) > MAX_NESTED or self.begun > MAX_STEPS:
            raise Invalid(f"steps are nested at most {MAX_NESTED} times, and a run has at most {MAX_STEPS:,} of them")
        scope = {name: rendered_text(text, names) for name, text in call.env.items()}
        environment = around.within(scope)
        if isinstance(call.work, Script):
            return self._script(result, call.work, names, environment)
        return self._fetched(path, result, call.work, folder, names, environment)

    def _script(self, result: StepResult, script: Script, names: Names, environment: Environment) -> StepResult:
        shell = next((path for name in _SHELLS if (path := shutil.which(name))), "/bin/sh")
        names = replace(names, env=environment.variables())
        return self._executed(result, Exec((shell, "-c", script.text)), Spec(), names, environment)

    def _fetched(
        self,
        path: tuple[str, ...],
        result: StepResult,
        work: Fetched,
        folder: Path,
        names: Names,
        environment: Environment,
    ) -> StepResult:
        reference = read_reference(rendered(work.reference, names).value)
        inputs = {name: rendered(value, names) for name, value in work.inputs.items()}
        found = self.finder.find(reference, folder)
        bound = bound_inputs(found.definition.spec.inputs, inputs)
        known = self._with_inputs(path, result, bound)
        return self._guarded(known, lambda: self._defined(path, known, found, bound, environment))

    def _with_inputs(self, path: tuple[str, ...], result: StepResult, inputs: Mapping[str, Known]) -> StepResult:
        """The result with its inputs. Whoever shows what a step writes has to know what is sensitive before it does."""
        result = replace(result, inputs=inputs)
        if any(one.is_sensitive for one in inputs.values()):
            self.tell(path, result)
        return result

    def _defined(
        self,
        path: tuple[str, ...],
        result: StepResult,
        found: Found,
        inputs: Mapping[str, Known],
        environment: Environment,
    ) -> StepResult:
        definition, folder = found.definition, found.folder
        files = {"work_dir": str(self.work_dir), "step_dir": str(folder), "func_dir": str(folder)}
        names = Names(inputs, environment.variables(), self.variables, {}, files)
        scope = {name: rendered_text(text, names) for name, text in definition.env.items()}
        environment = environment.within(scope)
        names = replace(names, env=environment.variables())
        result = replace(result, env=scope)
        if isinstance(definition.work, Exec):
            return self._executed(result, definition.work, definition.spec, names, environment)
        return self._sequence(path, result, definition, definition.work, folder, names, environment)

    def _sequence(
        self,
        path: tuple[str, ...],
        result: StepResult,
        definition: Definition,
        work: Sequence,
        folder: Path,
        names: Names,
        environment: Environment,
    ) -> StepResult:
        done: dict[str, Mapping[str, Known]] = {}
        for call in work.calls:
            now = replace(names, env=environment.variables(), steps=done)
            one = self._called((*path, call.name), call, folder, now, environment)
            result = replace(result, steps=(*result.steps, one))
            if one.status is not StepStatus.SUCCESS:
                return replace(result, status=one.status, failure=f"step {call.name} has not succeeded")
            done[call.name] = one.outputs
        if definition.spec.is_delegated:
            outputs = dict(done[work.delegate])
        else:
            last = replace(names, env=environment.variables(), steps=done)
            given = {name: rendered(value, last) for name, value in work.outputs.items()}
            outputs = passed_outputs(definition.spec.outputs, given)
        return replace(result, status=StepStatus.SUCCESS, outputs=outputs)

    def _executed(
        self, result: StepResult, work: Exec, spec: Spec, names: Names, environment: Environment
    ) -> StepResult:
        with self.files.pair() as pair:
            names = replace(names, files={**names.files, **pair.names})
            words = [rendered_text(word, names) for word in work.command]
            folder = self.work_dir / (rendered_text(work.work_dir, names).value if work.work_dir else "")
            shown = tuple(MASK if word.is_sensitive else word.value for word in words)
            result = replace(result, exec_result=ExecResult(shown, str(folder), NOT_STARTED))
            command = Command([word.value for word in words], folder, self._environment(names.env))
            return self._guarded(result, lambda: self._run(result, command, pair, spec, environment))

    def _run(
        self, result: StepResult, command: Command, pair: FilePair, spec: Spec, environment: Environment
    ) -> StepResult:
        code = run_command(command, self.log, self.ending)
        assert result.exec_result is not None  # the caller has set it
        result = replace(result, exec_result=replace(result.exec_result, exit_code=code))
        if code:
            return replace(result, status=StepStatus.FAILURE, failure=f"the command ended with exit code {code}")
        written, exports = pair.read()
        outputs = _delegated(written) if spec.is_delegated else bound_outputs(spec.outputs, read_outputs(written))
        exported = read_exports(exports)
        environment.exports.take(exported)
        return replace(result, status=StepStatus.SUCCESS, outputs=outputs, exports=exported)

    def _environment(self, known: Mapping[str, Known]) -> dict[str, str]:
        return {**self.service_env, **{name: one.value for name, one in known.items()}, **self.marks}

    def _guarded(self, result: StepResult, work: Callable[[], StepResult]) -> StepResult:
        """What the work comes to; a fault of the step is its failure."""
        try:
            return work()
        except Ended as ended:
            return replace(result, status=StepStatus.CANCELLED, failure=_WHY[ended.reason])
        except (PerdureError, OSError) as error:
            return replace(result, status=StepStatus.FAILURE, failure=str(error))

    def _told(self, path: tuple[str, ...], result: StepResult) -> StepResult:
        if result.status is StepStatus.FAILURE and not result.steps:
            self.log.write(STDERR, f"step {'/'.join(path) or result.name}: {result.failure}\n".encode())
        self.tell(path, result)
        return result


def _taken(result: StepResult, done: DoneStep, environment: Environment) -> StepResult:
    """The result of a step that was done before; what it exported then is there for the next ones."""
    environment.exports.take(done.exports)
    outputs = {name: Known(value) for name, value in done.outputs.items()}
    return replace(result, status=StepStatus.SUCCESS, outputs=outputs, exports=dict(done.exports))


def _shown(reference: Any) -> str:
    """A reference as results tell it, without credentials of its address."""
    if isinstance(reference, str):
        return without_credentials(reference)
    git = reference.get("git")
    if isinstance(git, Mapping) and isinstance(git.get("url"), str):
        reference = {**reference, "git": {**git, "url": without_credentials(git["url"])}}
    return orjson.dumps(reference).decode()


def _delegated(written: bytes) -> dict[str, Known]:
    """The outputs of a whole result, as a command writes it whose spec delegates its outputs to it."""
    try:
        document = orjson.loads(written)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"the output file is to hold a result, and is no JSON: {error}") from None
    outputs: Value = document.get("outputs", {}) if isinstance(document, dict) else None
    if not isinstance(outputs, dict):
        raise Invalid("the output file is to hold a result, which is an object with `outputs`")
    for name, value in outputs.items():
        check_value(f"output {name}", value)
    return {name: Known(value) for name, value in outputs.items()}
