"""`perdure project`: list, show and create projects."""

from typing import Annotated

import typer

from cli.remote import completion
from cli.remote.documents import PROJECT, document, documents
from cli.remote.invocation import Invocation, verb

app = typer.Typer(help="List, show and create projects.", no_args_is_help=True)

VisibilityOption = Annotated[str, typer.Option("--visibility", help="private, internal or public.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")]


@verb(app, "list", project=False)
def list_projects(
    call: Invocation,
    search: Annotated[str, typer.Option("--search", help="A part of the path or name.")] = "",
    mine: Annotated[bool, typer.Option("--mine", help="Only those of which you are a member.")] = False,
    limit: LimitOption = 30,
) -> None:
    """List the projects that you may see, newest first."""
    wanted = {"search": search} | ({"membership": True} if mine else {})
    found = documents(PROJECT, call.api.listed("/projects", limit, **wanted))
    if call.out.as_json:
        call.out.document(found)
        return
    rows = ([str(one["id"]), one["path"], one["visibility"], one["web_url"]] for one in found)
    call.out.table(("id", "path", "visibility", "page"), rows, "There are none. Next: `perdure project create NAME`.")


@verb(app, "show", project=False)
def show_project(
    call: Invocation,
    name: Annotated[
        str,
        typer.Argument(
            help="Path, id or address. Default: the project of this folder.", autocompletion=completion.projects
        ),
    ] = "",
) -> None:
    """Show one project: that of this working copy without a name."""
    call.project_flag = name
    with call.naming(f"project {call.project}", "perdure project list"):
        found = call.api.get(call.home)
    _show(call, document(PROJECT, found))


@verb(app, "create", project=False)
def create_project(
    call: Invocation,
    path: Annotated[
        str, typer.Argument(metavar="[GROUP/]NAME", help="Where it will be; without a group among your own.")
    ],
    visibility: VisibilityOption = "private",
    default_branch: Annotated[str, typer.Option("--default-branch", help="Its first branch.")] = "main",
) -> None:
    """Create a project with an empty repository."""
    group, _, name = path.strip("/").rpartition("/")
    wanted: dict[str, object] = {"visibility": visibility, "default_branch": default_branch}
    if group:
        from urllib.parse import quote

        with call.naming(f"group {group}", f"perdure group create {group}"):
            wanted["namespace_id"] = call.api.get(f"/namespaces/{quote(group, safe='')}")["id"]
    made = call.api.post("/projects", name=name, path=name, **wanted)
    call.out.words(f"Made. Next: `git push {made['http_url_to_repo']} {default_branch}`.")
    _show(call, document(PROJECT, made))


def _show(call: Invocation, shown: dict[str, object]) -> None:
    if call.out.as_json:
        call.out.document(shown)
    else:
        call.out.fields({name: "" if value is None else str(value) for name, value in shown.items()})
