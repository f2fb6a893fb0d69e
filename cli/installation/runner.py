"""`perdure runner`: register a runner and run it."""

import asyncio
import logging
import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from cli.exit_codes import exit_code
from domain.errors import Invalid, NotFound, PerdureError
from files.process_log import configure_lines
from fleet.client import RunnerClient, api_base
from fleet.config import EXECUTORS, WAYS, FleetConfig, RunnerEntry, add_runner, heeding, load_config, placed, system_id
from fleet.executors.hidden_folders import HiddenFolders
from fleet.executors.job_user import JobUser
from fleet.executors.rights import JobRights
from fleet.features import runner_info
from fleet.loop import RunnerProcess
from fleet.reply import Registration

DEFAULT_CONFIG = Path(".perdure/runner/config.toml")
VERIFY_FOR = 10.0
"""Seconds that `register` keeps trying to reach the server: a person is waiting."""

app = typer.Typer(help="Register runners and run them.", no_args_is_help=True)

ConfigOption = Annotated[
    Path, typer.Option("--config", "-c", help="Where config.toml is.", envvar="PERDURE_RUNNER_CONFIG")
]


@app.command()
def run(
    config: ConfigOption = DEFAULT_CONFIG,
    user: Annotated[str, typer.Option("--user", "-u", help="Run jobs as this user; only root can.")] = "",
    builds_dir: Annotated[
        Path | None, typer.Option(help="Where jobs have their folders, instead of what config.toml says.")
    ] = None,
    hide: Annotated[
        list[Path] | None,
        typer.Option(help="Hide this folder from jobs, but for their own in it, and other processes."),
    ] = None,
    unsupported_keywords: Annotated[
        str,
        typer.Option(
            help="What becomes of jobs that ask for image, services or cache, instead of what config.toml says: "
            "run (without them) or refuse."
        ),
    ] = "",
) -> None:
    """Take jobs and run them until told to end.

    SIGQUIT finishes the running jobs first; SIGTERM and SIGINT abort them.
    """
    configure_lines("INFO")
    try:
        fleet = load_config(config)
        if not fleet.runners:
            raise NotFound(f"{config} holds no [[runners]]; add one with `perdure runner register --config {config}`")
        fleet = heeding(placed(fleet, builds_dir), unsupported_keywords)
        asyncio.run(_run(fleet, config.resolve().parent, _rights(fleet, user, hide or [])))
    except PerdureError as error:
        _fail(error)


@app.command()
def register(
    url: Annotated[str, typer.Option(help="Address of the server.")],
    token: Annotated[str, typer.Option(help="The runner's token, made on the server.", envvar="CI_SERVER_TOKEN")],
    name: Annotated[str, typer.Option(help="Name in the configuration; the host's name if empty.")] = "",
    config: ConfigOption = DEFAULT_CONFIG,
    executor: Annotated[str, typer.Option(help="How jobs are run.")] = "shell",
    tls_ca_file: Annotated[
        Path | None,
        typer.Option(help="Certificates (PEM) of the authority that signed the server's, if this machine knows none."),
    ] = None,
) -> None:
    """Check a runner token with the server and add the runner to config.toml."""
    try:
        if executor not in EXECUTORS:
            raise Invalid(f"executor {executor!r} is not known; use one of {', '.join(EXECUTORS)}")
        api_base(url)
        ca_file = tls_ca_file and tls_ca_file.resolve()
        entry = RunnerEntry(name or socket.gethostname(), url, token, executor=executor, tls_ca_file=ca_file)
        known = asyncio.run(_verify(entry, config.resolve().parent))
        add_runner(config, replace(entry, token=known.token, id=known.id))
    except PerdureError as error:
        _fail(error)
    typer.echo(f"Runner {known.id} ({entry.name}) is registered in {config}.", err=True)
    typer.echo(f"Start it with: perdure runner run --config {config}", err=True)
    typer.echo(known.id)


def _rights(fleet: FleetConfig, user: str, hidden: list[Path]) -> JobRights | None:
    if user and hidden:
        raise Invalid("Give --user or --hide: another user sees of your folders what their modes let them see.")
    if user:
        return JobUser.named(user)
    if not hidden:
        return None
    places = dict.fromkeys(entry.builds_dir.resolve() for entry in fleet.runners)
    return HiddenFolders(tuple(path.resolve() for path in hidden), tuple(places))


async def _run(fleet: FleetConfig, folder: Path, rights: JobRights | None) -> None:
    process = RunnerProcess(fleet, folder, rights=rights)
    process.heed_signals()
    whose = f"as {rights.name}" if rights else "as the user of this process"
    log = logging.getLogger(__name__)
    log.info("runner with %d entries starts, process %d; it runs jobs %s", len(fleet.runners), os.getpid(), whose)
    log.info("jobs that ask for image, services or cache %s", WAYS[fleet.unsupported_keywords])
    await process.run()


async def _verify(entry: RunnerEntry, folder: Path) -> Registration:
    async with RunnerClient(
        entry.url,
        entry.token,
        system_id=system_id(folder),
        info=runner_info(entry.executor),
        tls_ca_file=entry.tls_ca_file,
    ) as client:
        return await client.verify(give_up_after=VERIFY_FOR)


def _fail(error: PerdureError) -> NoReturn:
    typer.echo(f"Error: {error}", err=True)
    raise typer.Exit(exit_code(error)) from error
