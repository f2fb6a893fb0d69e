"""`perdure schedule`: pipelines at set times (GitLab's `/projects/:id/pipeline_schedules`)."""

from typing import Annotated, Any

import typer

from cli.output import numbered_state
from cli.pairs import pairs
from cli.remote import completion
from cli.remote.documents import SCHEDULE, document, documents
from cli.remote.invocation import Invocation, verb
from cli.remote.moments import ago
from domain.errors import Invalid

app = typer.Typer(help="Pipelines at set times.", no_args_is_help=True)

ScheduleArgument = Annotated[int, typer.Argument(help="Number of the schedule.", autocompletion=completion.schedules)]
CronOption = Annotated[str, typer.Option("--cron", help="Times as in crontab: '0 4 * * 1-5'.")]
ZoneOption = Annotated[str, typer.Option("--timezone", help="Time zone of these: Europe/Berlin. The server's: UTC.")]
RefOption = Annotated[str, typer.Option("--ref", help="Branch or tag.", autocompletion=completion.refs)]
VariablesOption = Annotated[
    list[str] | None, typer.Option("--var", "--variable", metavar="NAME=VALUE", help="A variable of its pipelines.")
]
_NEXT = "perdure schedule list"


@verb(app, "list")
def list_schedules(call: Invocation) -> None:
    """List the schedules of a project."""
    with call.naming(f"project {call.project}", "perdure project list"):
        found = documents(SCHEDULE, call.api.listed(f"{call.home}/pipeline_schedules"))
    if call.out.as_json:
        call.out.document(found)
        return
    rows = (
        [
            str(one["id"]),
            one["description"],
            one["ref"],
            one["cron"],
            _next(call, one),
            one["owner"] or "",
        ]
        for one in found
    )
    empty = "There are none. Next: `perdure schedule create NAME --cron '0 4 * * *'`."
    call.out.table(("id", "name", "ref", "cron", "next", "owner"), rows, empty)


@verb(app, "show")
def show_schedule(call: Invocation, schedule: ScheduleArgument) -> None:
    """Show one schedule."""
    with call.naming(f"schedule {schedule}", _NEXT):
        _show(call, call.api.get(f"{call.home}/pipeline_schedules/{schedule}"))


@verb(app, "create")
def create_schedule(
    call: Invocation,
    description: Annotated[str, typer.Argument(help="What it is for.")],
    cron: CronOption,
    ref: RefOption = "",
    timezone: ZoneOption = "",
    variables: VariablesOption = None,
    paused: Annotated[bool, typer.Option("--paused", help="Make it, but let it not run yet.")] = False,
) -> None:
    """Make a schedule."""
    given = pairs("--var", variables or ())
    with call.naming(f"project {call.project}", "perdure project list"):
        wanted: dict[str, Any] = {"description": description, "cron": cron, "active": not (paused or given)}
        wanted["ref"] = ref or call.ref or call.api.get(call.home)["default_branch"]
        if timezone:
            wanted["cron_timezone"] = timezone
        made = call.api.post(f"{call.home}/pipeline_schedules", **wanted)
        for name, value in given.items():
            call.api.post(f"{call.home}/pipeline_schedules/{made['id']}/variables", key=name, value=value)
        if given and not paused:  # only now: no pipeline of it ever lacks a variable
            made = call.api.put(f"{call.home}/pipeline_schedules/{made['id']}", active=True)
    _show(call, made)


@verb(app, "edit")
def edit_schedule(
    call: Invocation,
    schedule: ScheduleArgument,
    description: Annotated[str, typer.Option("--description", help="What it is for.")] = "",
    cron: CronOption = "",
    ref: RefOption = "",
    timezone: ZoneOption = "",
) -> None:
    """Change a schedule; what is not given stays."""
    given = {"description": description, "cron": cron, "ref": ref, "cron_timezone": timezone}
    _change(call, schedule, {name: value for name, value in given.items() if value})


@verb(app, "pause")
def pause_schedule(call: Invocation, schedule: ScheduleArgument) -> None:
    """Let a schedule make no pipelines."""
    _change(call, schedule, {"active": False})


@verb(app, "resume")
def resume_schedule(call: Invocation, schedule: ScheduleArgument) -> None:
    """Let a schedule make pipelines again."""
    _change(call, schedule, {"active": True})


@verb(app, "play", json=False)
def play_schedule(call: Invocation, schedule: ScheduleArgument) -> None:
    """Make its pipeline now, beside the set times."""
    with call.naming(f"schedule {schedule}", _NEXT):
        call.api.post(f"{call.home}/pipeline_schedules/{schedule}/play")
    call.out.words("Its pipeline is being made. Next: `perdure pipeline list --source schedule`.")


@verb(app, "take-ownership")
def take_ownership(call: Invocation, schedule: ScheduleArgument) -> None:
    """Let its pipelines run in your name."""
    with call.naming(f"schedule {schedule}", _NEXT):
        _show(call, call.api.post(f"{call.home}/pipeline_schedules/{schedule}/take_ownership"))


@verb(app, "delete", json=False)
def delete_schedule(call: Invocation, schedule: ScheduleArgument) -> None:
    """Remove a schedule; its pipelines stay."""
    call.out.confirm(f"Remove schedule {schedule} of {call.project}?")
    with call.naming(f"schedule {schedule}", _NEXT):
        call.api.delete(f"{call.home}/pipeline_schedules/{schedule}")
    call.out.words(f"Removed schedule {schedule}.")


def _change(call: Invocation, schedule: int, changes: dict[str, Any]) -> None:
    if not changes:
        raise Invalid("Nothing to change: give --description, --cron, --ref or --timezone.")
    with call.naming(f"schedule {schedule}", _NEXT):
        _show(call, call.api.put(f"{call.home}/pipeline_schedules/{schedule}", **changes))


def _next(call: Invocation, schedule: dict[str, Any]) -> str:
    if not schedule["active"]:
        return "paused"
    return ago(schedule["next_run_at"], call.now) if call.out.is_terminal else schedule["next_run_at"] or ""


def _show(call: Invocation, found: dict[str, Any]) -> None:
    shown = document(SCHEDULE, found)
    if call.out.as_json:
        call.out.document(shown)
        return
    call.out.fields(
        {
            "schedule": str(shown["id"]),
            "name": shown["description"],
            "ref": shown["ref"],
            "cron": f"{shown['cron']} {shown['cron_timezone'] or ''}".strip(),
            "next": _next(call, shown),
            "owner": shown["owner"] or "",
            "last pipeline": numbered_state(
                shown["last_pipeline_id"], shown["last_pipeline_label"], shown["last_pipeline_status"]
            ),
        }
    )
