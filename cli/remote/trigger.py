"""`perdure trigger`: tokens that start pipelines from outside (GitLab's `/projects/:id/triggers`)."""

from typing import Annotated, Any

import typer

from cli.output import keep_private
from cli.remote.documents import TRIGGER, document, documents
from cli.remote.invocation import Invocation, verb
from cli.remote.moments import ago

app = typer.Typer(help="Tokens that start pipelines from outside.", no_args_is_help=True)


@verb(app, "list")
def list_triggers(call: Invocation) -> None:
    """List the triggers of a project."""
    keep_private()
    with call.naming(f"project {call.project}", "perdure project list"):
        found = documents(TRIGGER, call.api.listed(f"{call.home}/triggers"))
    if call.out.as_json:
        call.out.document(found)
        return
    rows = ([str(one["id"]), one["description"], one["owner"] or "", _used(call, one)] for one in found)
    call.out.table(("id", "name", "owner", "used"), rows, "There are none. Next: `perdure trigger create NAME`.")


@verb(app, "create")
def create_trigger(call: Invocation, description: Annotated[str, typer.Argument(help="What it is for.")]) -> None:
    """Make a trigger; prints its token."""
    keep_private()
    with call.naming(f"project {call.project}", "perdure project list"):
        made = document(TRIGGER, call.api.post(f"{call.home}/triggers", description=description))
    route = f"{call.server.url}/api/v4{call.home}/trigger/pipeline"
    call.out.words(f"Made trigger {made['id']}. Next: `curl -X POST -F token=TOKEN -F ref=main {route}`.")
    if call.out.as_json:
        call.out.document(made)
    else:
        call.out.data(made["token"])


@verb(app, "delete", json=False)
def delete_trigger(call: Invocation, trigger: Annotated[int, typer.Argument(help="Number of the trigger.")]) -> None:
    """Remove a trigger: its token starts nothing from now on."""
    call.out.confirm(f"Remove trigger {trigger} of {call.project}?")
    with call.naming(f"trigger {trigger}", "perdure trigger list"):
        call.api.delete(f"{call.home}/triggers/{trigger}")
    call.out.words(f"Removed trigger {trigger}.")


def _used(call: Invocation, trigger: dict[str, Any]) -> str:
    if not trigger["last_used"]:
        return "never"
    return ago(trigger["last_used"], call.now) if call.out.is_terminal else str(trigger["last_used"])
