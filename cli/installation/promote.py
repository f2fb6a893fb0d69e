"""`perdure promote`: a copy takes the place of the installation that it was restored from, which is gone."""

import asyncio

import typer

from cli.installation.own_installation import installation_here
from cli.installation.up import supervisor_runs
from cli.main import read_settings
from domain.errors import NotFound, Refused
from models.clock import system_clock
from models.migrate import migrate
from models.repositories.installation import installations
from models.restored import is_empty
from models.session import Database
from pods.embedded_pods import home_of_processes
from pods.restore_marker import refuse_half_restored
from pods.run_folder import RunFolder
from settings import Settings


def promote() -> None:
    """Let a restored copy take the place of the installation that was backed up; Perdure must be down."""
    settings = read_settings()
    home = home_of_processes(settings)
    refuse_half_restored(settings.home)
    if supervisor_runs(RunFolder(home)):
        raise Refused(f"Perdure runs in {home.resolve()}. Run `perdure down` first.")
    here = installation_here(settings)
    if here is None:
        raise NotFound(f"There is no installation in {settings.home.resolve()}: `perdure restore FILE` makes one.")
    if not here.copy_of:
        typer.echo("This is no copy: nothing is to be done.")
        return
    asyncio.run(_promote(settings))
    typer.echo(
        f"Promoted: it takes the place of installation {here.copy_of}, which must not run any more. What stood still "
        "goes on at the next start, and what waited to be told is told. Next: start Perdure."
    )


async def _promote(settings: Settings) -> None:
    await is_empty(settings.database)  # nobody else may be connected
    database = Database(settings.database)
    try:
        await migrate(database)
        async with database.write() as connection:
            await installations.promote(connection, system_clock())
    finally:
        await database.close()
