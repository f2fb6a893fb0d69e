"""`perdure step-runner`: the service that runs steps, ways to it, and steps that are run at once (docs/steps.md)."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.exit_codes import ExitCode
from cli.json_option import JsonOption
from cli.lazy_group import Lazy, LazyGroup
from cli.pairs import pairs
from domain.errors import ConfigInvalid, Invalid, NotFound
from domain.masked_stream import Masker
from domain.steps.definition import Definition, Spec
from domain.steps.reading import read_calls
from domain.steps.rendering import Known
from domain.steps.results import StepResult, StepStatus, document_of, secrets_of
from domain.steps.values import ValueType
from steps.engine.finding import Found, found_in
from steps.foreground import Wanted, run_here
from steps.proxy import join
from steps.socket_place import VARIABLE, socket_path

STEPS: Final = "STEPS"
"""The variable from which `ci` takes the steps of a job."""
PROJECT: Final = "CI_PROJECT_DIR"
_CONNECT: Final = 5.0
"""Seconds to wait for a service to answer."""
_CANCELLED: Final = 130
"""The exit status of what Ctrl-C has ended, as shells tell it."""


class StepRunnerCommands(LazyGroup):
    """Commands of the step runner; what makes a bundle of it is not in the bundle."""

    LAZY = {  # noqa: RUF012  # declared as ClassVar above
        "bundle": Lazy("cli.step_bundle", "bundle", "Make one file of the step runner, for machines without Python."),
    }


app = typer.Typer(cls=StepRunnerCommands, help="Run steps of CI jobs: as a service, or at once.", no_args_is_help=True)

SocketOption = Annotated[
    Path | None, typer.Option("--socket", metavar="PATH", help=f"The socket of the service; else {VARIABLE}.")
]


def _place(path: Path | None) -> Path:
    return path or socket_path(os.environ, os.geteuid())


@app.command()
def serve(
    path: SocketOption = None,
    state: Annotated[Path | None, typer.Option("--state", metavar="FOLDER", help="Where runs are kept.")] = None,
    keep: Annotated[float, typer.Option(min=0, help="Hours for which runs that have ended are kept.")] = 24.0,
) -> None:
    """Serve until a signal ends it. Runs go on, and are found again by the next one."""
    from steps.service.serve import serve as run
    from steps.service.serve import state_folder

    root = state or state_folder(dict(os.environ), os.geteuid())
    asyncio.run(run(_place(path), root, kept=keep * 3600))


@app.command()
def proxy(path: SocketOption = None) -> None:
    """Join standard input and output with the socket, for `ssh`, `docker exec` and `kubectl exec`."""
    join(_place(path), sys.stdin.fileno(), sys.stdout.fileno())


@app.command()
def run(
    step: Annotated[Path, typer.Argument(help="The folder of a step, or its file.")],
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="NAME=VALUE", help="An input; not text: as JSON.")
    ] = None,
    env: Annotated[list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="For its environment.")] = None,
    variables: Annotated[
        list[str] | None, typer.Option("--var", metavar="NAME=VALUE", help="A variable of the job (`vars`).")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0, help="Seconds; 0 for no limit.")] = 0,
    results: Annotated[Path | None, typer.Option(metavar="FILE", help="Write what became of it, as JSON.")] = None,
) -> None:
    """Run a step at once, in this folder."""
    found = found_in(step.parent.resolve(), step.name) if step.is_file() else found_in(step.resolve())
    given = _inputs(found.definition.spec, pairs("--input", inputs or ()))
    wanted = Wanted(
        found,
        Path.cwd(),
        given,
        _known(pairs("--env", env or ())),
        _known(pairs("--var", variables or ())),
        timeout,
    )
    raise typer.Exit(_run(wanted, results))


@app.command()
def ci() -> None:
    """Run the steps of a job, which STEPS has as a list, in CI_PROJECT_DIR."""
    text = os.environ.get(STEPS)
    if not text:
        raise Invalid(f"{STEPS} is empty: it holds the steps of the job, as a list in YAML or JSON.")
    folder = Path(os.environ.get(PROJECT) or Path.cwd())
    if not folder.is_dir():
        raise NotFound(f"{PROJECT} names {folder}, which is no folder.")
    variables = {name: value for name, value in os.environ.items() if name != STEPS}
    found = Found(Definition(Spec(), read_calls(text, STEPS)), folder)
    raise typer.Exit(_run(Wanted(found, folder, variables=_known(variables)), None))


@app.command("list")
def list_runs(path: SocketOption = None, as_json: JsonOption = False) -> None:
    """Show the runs of the service, and how far they are."""
    from steps.client import list_runs as listed

    rows = asyncio.run(listed(_place(path), _CONNECT))
    if as_json:
        typer.echo(json.dumps(rows))
        return
    for row in rows:
        typer.echo(f"{row['id']}  {row['status']}{'  ' + row['message'] if row['message'] else ''}")


@app.command()
def cancel(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")], path: SocketOption = None
) -> None:
    """Let a run end as soon as possible."""
    from steps.client import cancel_run

    asyncio.run(cancel_run(_place(path), run_id, _CONNECT))


@app.command()
def lint(files: Annotated[list[Path], typer.Argument(help="Step files, or folders of steps.")]) -> None:
    """Check step files: every fault, with its place."""
    faults = 0
    for file in files:
        try:
            _checked(file)
        except ConfigInvalid as error:
            faults += len(error.issues)
            folder = file.parent if file.is_file() else file
            for issue in error.issues:
                typer.echo(replace(issue, file=str(folder / issue.file)))
        except Invalid as error:
            faults += 1
            typer.echo(f"{file}: {error}")
    raise typer.Exit(ExitCode.FAILED if faults else ExitCode.OK)


def _checked(file: Path) -> Found:
    return found_in(file.parent, file.name) if file.is_file() else found_in(file)


def _inputs(spec: Spec, given: Mapping[str, str]) -> dict[str, Known]:
    """A text as it is, anything else as JSON. Raises `Invalid`."""
    found = {}
    for name, text in given.items():
        declared = spec.inputs.get(name)
        value: Any = text
        if declared is not None and declared.type is not ValueType.STRING:
            try:
                value = json.loads(text)
            except ValueError as error:
                raise Invalid(f"--input {name} is of type {declared.type}, and {text!r} is no JSON: {error}") from None
        found[name] = Known(value, declared is not None and declared.is_sensitive)
    return found


def _known(values: Mapping[str, str]) -> dict[str, Known]:
    return {name: Known(value) for name, value in values.items()}


def _run(wanted: Wanted, results: Path | None) -> int:
    """The exit status. What steps write goes where they write it; their names go to standard error.

    What is sensitive is masked from where it is known on.
    """
    streams = {"stdout": sys.stdout.buffer, "stderr": sys.stderr.buffer}
    maskers = {name: Masker((), ()) for name in streams}

    def show(name: str, data: bytes) -> None:
        streams[name].write(data)
        streams[name].flush()

    def echo(name: str, data: bytes) -> None:
        show(name, maskers[name].feed(data))

    def tell(path: tuple[str, ...], result: StepResult) -> None:
        secrets = secrets_of(result)
        for name, masker in maskers.items():
            show(name, masker.flush())
            masker.add(secrets)
        if path and result.status is StepStatus.RUNNING:
            typer.echo(f"step {'/'.join(path)}", err=True)

    result = run_here(wanted, echo, tell)
    for name, masker in maskers.items():
        show(name, masker.flush())
    if results is not None:
        results.touch(mode=0o640)
        results.write_text(json.dumps(document_of(result), indent=2) + "\n")
    if result.status is StepStatus.SUCCESS:
        return ExitCode.OK
    typer.echo(f"{result.status}: {result.failure}", err=True)
    return _CANCELLED if result.status is StepStatus.CANCELLED else ExitCode.FAILED
