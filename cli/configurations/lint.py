"""`perdure lint`: is a configuration right?"""

import json
from typing import Any

import typer

from cli.configurations.config_file import DEFAULT, read_config_file
from cli.configurations.event import EventOptions, context, sources
from cli.configurations.offline import Outcome, compiled
from cli.configurations.options import AsJson, File, Inputs, NoRemote, Projects, Root
from cli.configurations.workplace import workplace
from cli.exit_codes import ExitCode, exit_code
from domain.config.plan import Plan
from domain.errors import PipelineFiltered


def lint(
    file: File = DEFAULT,
    inputs: Inputs = None,
    projects: Projects = None,
    root: Root = "",
    no_remote: NoRemote = False,
    as_json: AsJson = False,
) -> None:
    """Check a configuration, with all files that it includes; no server is needed."""
    config = read_config_file(file)
    place = workplace(config.folder, root)
    options = EventOptions(
        ref=place.ref or place.default_branch,
        inputs=inputs or (),
        projects=projects or (),
        remote=not no_remote,
    )
    event = context(options, place, config.name)
    outcome = compiled(config.text, config.name, event, sources(options, place, event), every_job=True)
    if as_json:
        typer.echo(json.dumps(lint_document(outcome), ensure_ascii=False))
    else:
        show(outcome)
    raise typer.Exit(_exit_code(outcome))


def lint_document(outcome: Outcome) -> dict[str, Any]:
    """What `--json` prints; `jobs` and `stages` are 0 for a file with errors."""
    from cli.configurations.plan_document import issue_documents

    jobs, stages = _sizes(outcome)
    valid = _is_valid(outcome)
    return {
        "valid": valid,
        "file": outcome.file,
        "jobs": jobs,
        "stages": stages,
        "errors": issue_documents(() if valid else outcome.errors),
        "warnings": issue_documents(outcome.warnings),
    }


def show(outcome: Outcome) -> None:
    """Print every issue with its line, warnings last, then the verdict."""
    from rich.console import Console
    from rich.text import Text

    from cli.configurations.issue_text import IssueText, counted
    from cli.printable import printable

    console = Console(highlight=False)
    text = IssueText(outcome, console)
    errors = () if _is_valid(outcome) else outcome.errors
    text.show(errors, "error", "bold red")
    text.show(outcome.warnings, "warning", "bold yellow")
    name = printable(outcome.file)
    found = counted({"error": len(errors), "warning": len(outcome.warnings)})
    if errors:
        console.print(Text.assemble(("✗ ", "red"), f"{name} is not valid: {found}"), soft_wrap=True)
        return
    jobs, stages = _sizes(outcome)
    words = f"{name} is valid: {counted({'job': jobs})} in {counted({'stage': stages})}"
    console.print(Text.assemble(("✓ ", "green"), words + (f", {found}" if found else "")), soft_wrap=True)


def _is_valid(outcome: Outcome) -> bool:
    """A configuration whose rules leave no job for one event is right."""
    return outcome.error is None or isinstance(outcome.error, PipelineFiltered)


def _sizes(outcome: Outcome) -> tuple[int, int]:
    """Jobs and stages that are written, whether an event takes them or not."""
    plan = outcome.plan or Plan((), ())
    stages = {job.stage for job in plan.jobs} | {job.stage for job in plan.absent}
    return len(plan.jobs) + len(plan.absent), len(stages)


def _exit_code(outcome: Outcome) -> ExitCode:
    return ExitCode.OK if outcome.error is None or _is_valid(outcome) else exit_code(outcome.error)
