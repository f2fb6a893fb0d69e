"""`perdure group`: groups and the groups within them (GitLab's `/groups`)."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from cli.remote.documents import GROUP, document, documents
from cli.remote.invocation import Invocation, verb
from cli.remote.project import LimitOption, VisibilityOption

app = typer.Typer(help="List and create groups.", no_args_is_help=True)


@verb(app, "list", project=False)
def list_groups(
    call: Invocation,
    search: Annotated[str, typer.Option("--search", help="A part of the path or name.")] = "",
    mine: Annotated[bool, typer.Option("--mine", help="Only those of which you are a member.")] = False,
    limit: LimitOption = 30,
) -> None:
    """List the groups that you may see, by path."""
    wanted = {"search": search} | ({"min_access_level": 10} if mine else {})
    found = documents(GROUP, call.api.listed("/groups", limit, **wanted))
    if call.out.as_json:
        call.out.document(found)
        return
    rows = ([str(one["id"]), one["path"], one["visibility"], one["description"] or ""] for one in found)
    headings = ("id", "path", "visibility", "description")
    call.out.table(headings, rows, "There are none. Next: `perdure group create PATH`.")


@verb(app, "create", project=False)
def create_group(
    call: Invocation,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Where it will be: `acme`, or `acme/web` within acme.")],
    name: Annotated[str, typer.Option("--name", help="Its name for people; default: the last part of the path.")] = "",
    description: Annotated[str, typer.Option("--description", help="What it is.")] = "",
    visibility: VisibilityOption = "private",
) -> None:
    """Create a group; you become its owner."""
    above, _, own = path.strip("/").rpartition("/")
    wanted: dict[str, Any] = {"path": own, "name": name or own, "description": description, "visibility": visibility}
    if above:
        with call.naming(f"group {above}", f"perdure group create {above}"):
            wanted["parent_id"] = call.api.get(f"/groups/{quote(above, safe='')}")["id"]
    made = document(GROUP, call.api.post("/groups", **wanted))
    home = made["path"]
    call.out.words(f"Made. Next: `perdure project create {home}/NAME`, `perdure member add USERNAME --group {home}`.")
    if call.out.as_json:
        call.out.document(made)
    else:
        call.out.fields({field: value if isinstance(value, str) else str(value or "") for field, value in made.items()})
