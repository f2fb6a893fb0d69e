"""`perdure pod move`: an organisation leaves a pod for another one.

The command works on both pods itself, as `perdure backup` does on one: it opens their databases, their object stores,
the folders of their repositories, and the keys that seal what is secret.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from temporalio.service import RPCError

from activities.moved import end_workflows
from activities.temporal_client import connect
from application.moves.moving import EndWorkflows, Moved, Moving, Options
from application.moves.pod_place import open_place
from application.moves.tag_sets import missing
from cli.json_option import JsonOption
from cli.main import read_settings
from cli.output import Output
from cli.pods.documents import MOVED
from cli.pods.place_file import read_place
from cli.pods.registry import Known, asked_directory
from cli.remote.documents import document
from domain.errors import Invalid, NotFound, Refused, Unavailable
from domain.pods.directory import Pod, PodState
from domain.pods.moving import Move
from domain.pods.tag_sets import warning
from models.clock import system_clock
from models.repositories.installation import installations
from models.repositories.moves import moves
from models.session import Database
from pods.embedded_pods import all_settings
from settings import Settings
from workflows.handles import Pipelines

_DAY: Final = 24.0
_DAYS: Final = 30
"""How far back it is looked which tags jobs asked for."""


def move(
    organisation: Annotated[str, typer.Argument(help="The path of the group at the top.")],
    to: Annotated[str, typer.Option("--to", metavar="POD", help="The pod that it moves to.")],
    wait: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds for which jobs that run are awaited; if some are left, the move is called off."
        ),
    ] = 600.0,
    grace: Annotated[
        float, typer.Option(min=0, help="Hours for which the pod that it leaves keeps what it had of it.")
    ] = _DAY,
    settings_of: Annotated[
        list[Path] | None,
        typer.Option(
            "--settings",
            metavar="FILE",
            help="Variables of a pod of another home, as NAME=VALUE lines; may be given twice.",
        ),
    ] = None,
    call_off: Annotated[
        bool, typer.Option("--call-off", help="Put back a move that has not arrived yet; nothing was moved then.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Move an organisation to another pod, or go on with a move that was interrupted."""
    settings = read_settings(of_home=True)
    options = Options(wait, timedelta(hours=grace))
    done = asyncio.run(_move(settings, organisation, to, options, settings_of or [], call_off=call_off))
    if as_json:
        Output().document(document(MOVED, _shown(done)))
        return
    if done.state is Move.CALLED_OFF:
        typer.echo(f"{done.path} stays in pod {done.source}: everything is as it was.")
        return
    typer.echo(
        f"{done.path} lives in pod {done.target}: {done.rows.total()} rows, {done.objects} objects, "
        f"{done.repositories} repositories with {done.refs} refs, all of them compared."
    )
    for name, count in sorted(done.left_out.items()):
        typer.echo(f"Left out: {count} rows of {name}, which need something of another organisation.", err=True)
    typer.echo(f"Pod {done.source} keeps what it had for {grace:g} hours. People need a token of pod {done.target}.")


def _shown(done: Moved) -> dict[str, Any]:
    found = asdict(done) | {"state": str(done.state), "rows": done.rows.total()}
    return found | {"left_out": done.left_out.total()}


async def _move(
    settings: Settings, organisation: str, to: str, options: Options, files: Sequence[Path], *, call_off: bool
) -> Moved:
    async with AsyncExitStack() as stack:
        known = await stack.enter_async_context(asked_directory(settings))
        client = known.service()
        target = known.find(to)
        there = _reachable(settings, files)
        source = await _source_of(known, there, organisation.lower(), target)
        if target.state is PodState.DRAINING and not call_off:
            raise Refused(f"Pod {to} is being drained: it takes no organisations. `perdure pod resume {to}` ends that.")
        settings_here = _settings_of(there, source)
        here = await stack.enter_async_context(open_place(settings_here))
        yonder = await stack.enter_async_context(open_place(_settings_of(there, target)))
        moving = Moving(here, yonder, client, _ending(settings_here), system_clock, options, _tell)
        if call_off:
            return await moving.call_off(organisation)
        for one in await missing(here, yonder, organisation, _DAYS):
            typer.echo(warning(one, target.name, _DAYS), err=True)
        return await moving.run(organisation)


def _tell(state: Move, words: str) -> None:
    typer.echo(f"{state:<9} {words}", err=True)


def _reachable(settings: Settings, files: Sequence[Path]) -> Mapping[str, Settings]:
    """The settings of pods by their names: those of this home, and those of the files. Raises `Invalid`."""
    found = {one.pod: one for one in all_settings(settings)}
    for file in files:
        one = read_place(file)
        found[one.pod] = one
    return found


async def _source_of(known: Known, there: Mapping[str, Settings], path: str, target: Pod) -> Pod:
    """The pod where an organisation is, or that it is leaving. Raises `NotFound`, `Refused`."""
    number = known.directory.organisations.get(path)
    if number is None:
        raise NotFound(f"The directory knows no organisation {path}.")
    if number != target.number:
        return known.directory.by_number[number]
    for name, settings in there.items():
        # The directory may lead to the target already while the move is not at its end.
        if name in known.directory.by_name and name != target.name and await _is_leaving(settings, path):
            return known.directory.by_name[name]
    raise Refused(f"{path} lives in pod {target.name} already.")


async def _is_leaving(settings: Settings, path: str) -> bool:
    async with open_place(settings) as place, place.database.read() as connection:
        return await moves.open_of(connection, path) is not None


def _settings_of(there: Mapping[str, Settings], pod: Pod) -> Settings:
    if pod.name not in there:
        raise Invalid(
            f"Pod {pod.name} is none of this home: give its variables with --settings FILE (PERDURE_POD, "
            "PERDURE_POD_NUMBER, PERDURE_HOME, PERDURE_DATABASE_URL, PERDURE_OBJECT_STORE, PERDURE_REPOSITORIES, "
            "PERDURE_SECRETS_KEY), where all of that can be reached."
        )
    return there[pod.name]


def _ending(settings: Settings) -> EndWorkflows:
    """Ends workflows in the namespace of a pod. Raises `Unavailable` while Temporal is away."""

    async def end(pipelines: Mapping[int, str], groups: Sequence[int]) -> None:
        try:
            known = await _with_namespace(settings)
            await end_workflows(Pipelines(await connect(known), known.queue), pipelines, groups)
        except (RPCError, RuntimeError, OSError) as error:
            raise Unavailable(
                f"Temporal of pod {settings.pod} does not answer at {settings.temporal}: the organisation has moved, "
                "but its old workflows there are not ended. Run the same command again."
            ) from error

    return end


async def _with_namespace(settings: Settings) -> Settings:
    """The settings with the namespace and the queue that the pod has kept."""
    database = Database(settings.database)
    try:
        async with database.read() as connection:
            kept = await installations.kept_identity(connection)
    finally:
        await database.close()
    if kept is None:
        return settings
    return settings.model_copy(update={"temporal_namespace": kept.namespace, "task_queue": kept.task_queue})
