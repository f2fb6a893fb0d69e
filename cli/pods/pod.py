"""`perdure pod`: every command about pods is declared here."""

import typer

from cli.pods.create import create
from cli.pods.move import move
from cli.pods.queue import show_queue
from cli.pods.registry import drain, list_pods, remove, resume, show_pod
from cli.pods.status import show_status
from cli.pods.tags import list_tags
from cli.remote.invocation import verb

app = typer.Typer(
    help="Make, list, drain and remove pods; move organisations; look at a pod, or at all.",
    no_args_is_help=True,
)

app.command()(create)
app.command("list")(list_pods)
app.command("show")(show_pod)
app.command()(drain)
app.command()(resume)
app.command()(remove)
app.command()(move)
verb(app, "status", project=False)(show_status)
verb(app, "tags", project=False)(list_tags)
verb(app, "queue", project=False)(show_queue)
