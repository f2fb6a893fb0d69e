"""`perdure plan`: what pipeline an event would make, without a server."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.configurations.config_file import DEFAULT, read_config_file
from cli.configurations.event import SKIPPABLE, EventOptions, Source, context, message_of, sources
from cli.configurations.offline import Outcome, compiled, merged_yaml
from cli.configurations.options import AsJson, File, Inputs, NoRemote, Projects, Root
from cli.configurations.workplace import workplace
from cli.exit_codes import ExitCode, exit_code
from domain.config.plan import AbsentJob, Plan
from domain.config.why import Why
from domain.errors import ConfigInvalid, Invalid
from domain.pipelines.skipping import asks_to_skip

MERMAID: Final = "mermaid"
"""In place of a file's name: mermaid to standard output."""
ENDINGS: Final = (".svg", ".mmd")
SKIPPED: Final = "the commit message asks for it ([skip ci]); to plan without that, give another one: --message TEXT"


def plan(
    file: File = DEFAULT,
    event: Annotated[Source, typer.Option("--event", help="What makes the pipeline.")] = Source.PUSH,
    ref: Annotated[
        str, typer.Option("--ref", help="Branch or tag; of a merge request the source branch. Default: that of HEAD.")
    ] = "",
    tag: Annotated[bool, typer.Option("--tag", help="The ref is a tag.")] = False,
    variables: Annotated[
        list[str] | None, typer.Option("--variable", metavar="NAME=VALUE", help="A variable of this pipeline.")
    ] = None,
    inputs: Inputs = None,
    changed: Annotated[
        list[str] | None,
        typer.Option("--changed", metavar="PATH", help="A path that the event changed. Default: what git says."),
    ] = None,
    base: Annotated[str, typer.Option("--base", metavar="REF", help="What git compares with.")] = "",
    message: Annotated[str | None, typer.Option("--message", help="Commit message in place of HEAD's.")] = None,
    projects: Projects = None,
    root: Root = "",
    no_remote: NoRemote = False,
    as_json: AsJson = False,
    graph: Annotated[str, typer.Option("--graph", metavar="FILE.svg|FILE.mmd|mermaid", help="Draw the pipeline.")] = "",
    merged: Annotated[bool, typer.Option("--merged", help="Print the configuration with all includes merged.")] = False,
) -> None:
    """Show which jobs an event would run, what each waits for, and why it is in or out; no server is needed."""
    _check_forms(as_json, graph, merged)
    options = EventOptions(
        source=event,
        ref=ref,
        tag=tag,
        message=message,
        base=base,
        variables=variables or (),
        inputs=inputs or (),
        changed=changed or (),
        projects=projects or (),
        remote=not no_remote,
    )
    outcome = outcome_of(file, options, root)
    _print(outcome, as_json=as_json, graph=graph, merged=merged)
    raise typer.Exit(exit_code(outcome.error) if outcome.error else ExitCode.OK)


def outcome_of(file: str, options: EventOptions, root: str = "") -> Outcome:
    """Compile a file for an event. Raises `NotFound` and `Invalid` for what is wrong with the command."""
    config = read_config_file(file)
    place = workplace(config.folder, root)
    seen = context(options, place, config.name)
    outcome = compiled(config.text, config.name, seen, sources(options, place, seen))
    if outcome.error is None and options.source in SKIPPABLE and asks_to_skip(message_of(options, place)):
        return _skipped(outcome)
    return outcome


def _skipped(outcome: Outcome) -> Outcome:
    """The same configuration for a commit that wants no jobs: all of them are absent."""
    found = outcome.plan
    assert found is not None
    why = Why(included=False, clause="skip", text=SKIPPED)
    absent = (*found.absent, *(AbsentJob(job.name, job.stage, why) for job in found.jobs))
    return replace(outcome, plan=replace(found, stages=(), jobs=(), absent=absent), skipped=SKIPPED)


def _check_forms(as_json: bool, graph: str, merged: bool) -> None:
    """One form on standard output. Raises `Invalid`."""
    if graph and graph != MERMAID and Path(graph).suffix not in ENDINGS:
        raise Invalid(
            f"--graph {graph!r} is neither `{MERMAID}` nor a file that ends in {' or '.join(ENDINGS)}; "
            f"try `--graph {MERMAID}` or `--graph pipeline.svg`."
        )
    chosen = {"--json": as_json, "--merged": merged, f"--graph {MERMAID}": graph == MERMAID}
    asked = [name for name, wanted in chosen.items() if wanted]
    if len(asked) > 1:
        raise Invalid(f"{' and '.join(asked)} both print to standard output; leave all but one of them out.")


def _print(outcome: Outcome, *, as_json: bool, graph: str, merged: bool) -> None:
    """In the form that is wanted; errors of the configuration go to standard error where they are no part of it."""
    drawn = outcome.plan if outcome.error is None else None
    if graph and graph != MERMAID and drawn:
        _write_graph(drawn, outcome, Path(graph))
    if as_json:
        from cli.configurations.plan_document import document

        typer.echo(json.dumps(document(outcome), ensure_ascii=False))
    elif merged and not isinstance(outcome.error, ConfigInvalid):
        typer.echo(merged_yaml(outcome.text, outcome.context, outcome.known, outcome.file), nl=False)
    elif graph == MERMAID and drawn:
        from cli.configurations.plan_graph import mermaid

        typer.echo(mermaid(drawn), nl=False)
    elif not (graph and drawn):
        _show(outcome, to_stderr=merged or bool(graph))


def _show(outcome: Outcome, *, to_stderr: bool) -> None:
    from rich.console import Console

    from cli.configurations.plan_text import PlanText

    console = Console(stderr=to_stderr, highlight=False)
    PlanText(outcome, console).show()


def _write_graph(drawn: Plan, outcome: Outcome, target: Path) -> None:
    from cli.configurations.graph_svg import svg
    from cli.configurations.plan_graph import mermaid
    from cli.configurations.plan_text import event_text

    title = f"{drawn.name + ': ' if drawn.name else ''}pipeline for {event_text(outcome.context)}"
    text = svg(drawn, title[0].upper() + title[1:]) if target.suffix == ".svg" else mermaid(drawn)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Invalid(f"The picture cannot be written to {target}: {error.strerror}. Name another file.") from error
    typer.echo(f"Wrote {target}.", err=True)
