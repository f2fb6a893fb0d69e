"""`perdure import gitlab URL PROJECT`: everything that its CI/CD needs, and a list of what stays behind."""

from contextlib import closing
from typing import Annotated, Final

import typer

from cli.exit_codes import ExitCode
from cli.importing.inventory import look_around
from cli.importing.parts import Parts
from cli.importing.patient_api import PatientApi
from cli.importing.report import Report
from cli.importing.repository import carry_repository
from cli.importing.source import Source, source_address, source_token
from cli.importing.target import Target
from cli.remote.invocation import Invocation, advice_for, verb
from cli.remote.moments import span
from cli.remote.outage import PATIENCE
from domain.errors import Unauthenticated
from domain.project_import.places import place_of

app = typer.Typer(help="Bring a project from a GitLab server, or another Perdure.", no_args_is_help=True)

_NEAR: Final = ("http://127.0.0.1", "http://localhost", "http://[::1]")


@verb(app, "gitlab", project=False)
def import_gitlab(
    call: Invocation,
    url: Annotated[str, typer.Argument(metavar="URL", help="The server that it comes from.")],
    source_project: Annotated[str, typer.Argument(metavar="PROJECT", help="Its path, id or address there.")],
    to: Annotated[
        str,
        typer.Option("--to", metavar="GROUP/NAME", help="Where it goes; else to the same path."),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; tell what would be done.")] = False,
    activate_schedules: Annotated[
        bool, typer.Option("--activate-schedules", help="Let schedules run that run at the source.")
    ] = False,
    source_token_stdin: Annotated[
        bool, typer.Option("--source-token-stdin", help="Read the source's token from standard input.")
    ] = False,
    patience: Annotated[str, typer.Option("--patience", help="How long a server may be away.")] = PATIENCE,
) -> None:
    """Bring a project with all that its pipelines need, and tell what stays behind; may be run again."""
    address = source_address(url)
    server = call.server
    if not server.token:
        raise Unauthenticated(f"You are not logged in to {server.url}. Next: `perdure login {server.url}`.")
    token = source_token(call.out, address, call.around.environment, stdin=source_token_stdin)
    if address.startswith("http://") and not address.startswith(_NEAR):
        call.out.words(f"Warning: {address} is not encrypted; everybody on the way can read the token.")
    seconds = span("--patience", patience)
    report = Report(address, dry_run=dry_run)
    source = Source(address, token, patience=seconds, told=call.out.words)
    api = PatientApi(server.url, server.token, advice=advice_for(server), patience=seconds, told=call.out.words)
    with closing(source), closing(api):
        source.find(source_project)
        report.source_project = source.path
        target = Target(api, server.token, report)
        place = place_of(source.project, to, target.username)
        if target.find(place, source):
            _agree(call, source, target, report)
        try:
            if not target.exists:
                target.make(place, source)
            _carry(call, source, target, report, activate=activate_schedules)
            report.ended = True
        finally:  # also of one that is cut off: tokens in it are shown only now
            if report.ended or report.carried or report.not_carried:
                report.show(call.out)
    if not report.is_complete:
        raise typer.Exit(ExitCode.FAILED)


def _agree(call: Invocation, source: Source, target: Target, report: Report) -> None:
    if not report.dry_run:
        path = target.project["path_with_namespace"]
        call.out.confirm(
            f"{path} is on {call.server.url} already. Bring what is missing there, and make what differs as it is in "
            f"{source.path} on {source.url}?"
        )


def _carry(call: Invocation, source: Source, target: Target, report: Report, *, activate: bool) -> None:
    """In an order in which nothing dangerous stands in between; schedules are started last."""
    parts = Parts(source, target, report)
    call.out.words(f"Copying the repository of {source.path}.")
    refs = carry_repository(source, target, report)
    call.out.words("Copying settings, rules, variables, environments, schedules and triggers.")
    parts.settings()
    parts.protected_refs()
    parts.variables()
    parts.environments()
    parts.schedules(refs, activate=activate)
    parts.triggers(call.now)
    parts.resource_groups()
    call.out.words("Looking what stays behind.")
    look_around(source, report)
    parts.start()
