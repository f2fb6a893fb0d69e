"""`perdure runner`: the runners of a server, and beside them the runner of this machine (`cli.installation.runner`)."""

import shlex
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from cli.lazy_group import Lazy, LazyGroup
from cli.output import Cell, keep_private
from cli.remote import completion
from cli.remote.documents import NEW_RUNNER, RUNNER, RUNNER_DETAILS, document, documents
from cli.remote.invocation import Invocation, verb
from cli.remote.moments import ago
from domain.errors import Invalid

_STATES: Final = {
    "online": ("green", "●"),
    "stale": ("yellow", "◐"),
    "offline": ("red", "○"),
    "never_contacted": ("dim", "·"),
}
_GITLAB_RUNNER: Final = ("gitlab-runner", "register", "--non-interactive")
"""Without tags and the like: of a token that begins with `glrt-` the server owns them, and the command would fail."""
_EXECUTORS: Final = (("--executor", "shell"), ("--executor", "docker", "--docker-image", "alpine"))
_KINDS: Final = ("instance", "group", "project")


class RunnerCommands(LazyGroup):
    """Commands on a server's runners; those that are the runner need its libraries only when they are called."""

    LAZY = {  # noqa: RUF012  # declared as ClassVar above
        "run": Lazy("cli.installation.runner", "run", "Take jobs and run them until told to end."),
        "register": Lazy(
            "cli.installation.runner",
            "register",
            "Check a runner token with the server and add the runner to config.toml.",
        ),
    }


app = typer.Typer(
    cls=RunnerCommands,
    help="Register and run runners; list, pause and remove those of a server.",
    no_args_is_help=True,
)

RunnerArgument = Annotated[int, typer.Argument(help="Number of the runner.", autocompletion=completion.runners)]

ProjectArgument = Annotated[
    str, typer.Argument(metavar="PROJECT", help="Path or number of the project.", autocompletion=completion.projects)
]


@verb(app, "list")
def list_runners(
    call: Invocation,
    everything: Annotated[
        bool | None,
        typer.Option("--all/--mine", help="All of the server, or of your projects. Default: all for administrators."),
    ] = None,
    status: Annotated[str, typer.Option("--status", help="online, offline, stale, never_contacted, paused.")] = "",
    tags: Annotated[list[str] | None, typer.Option("--tag", help="With this tag; may be repeated.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 50,
) -> None:
    """List the runners that you may see; with --project those that may take its jobs.

    For administrators all of the server, of the instance, groups and projects; for others those that work for projects
    which they maintain.
    """
    wanted = {"status": status, "tag_list": ",".join(tags or ())}
    route = _route(call, everything=everything)
    found = call.api.listed(route, limit, **{name: value for name, value in wanted.items() if value})
    shown = documents(RUNNER, found)
    if call.out.as_json:
        call.out.document(shown)
        return
    rows = (
        [
            str(one["id"]),
            _state(one),
            one["description"] or "",
            one["runner_type"].removesuffix("_type"),
            ", ".join(one["tags"]),
            one["job_execution_status"] or "",
            _contact(call, one),
        ]
        for one in shown
    )
    headings = ("id", "state", "description", "of", "tags", "now", "last contact")
    call.out.table(headings, rows, "There are none that you may see. Next: `perdure runner create`.")


def _route(call: Invocation, *, everything: bool | None) -> str:
    """Whose runners are listed."""
    if call.project_flag and not everything:
        return f"{call.home}/runners"
    if everything is None:
        everything = bool(call.api.get("/user").get("is_admin"))
    return "/runners/all" if everything else "/runners"


@verb(app, "show", project=False)
def show_runner(call: Invocation, runner: RunnerArgument) -> None:
    """Show a runner and its processes."""
    with call.naming(f"runner {runner}", "perdure runner list"):
        found = call.api.get(f"/runners/{runner}")
        found["managers"] = call.api.get(f"/runners/{runner}/managers")
    _show(call, found)


@verb(app, "queue", project=False)
def show_queue(call: Invocation) -> None:
    """Show what waits for runners by tag set, how long jobs waited in the last hour, and who could take them.

    Administrators see all of it, others the tag sets of the projects whose jobs they may run.
    """
    from cli.remote.runner_queue import print_queue

    print_queue(call)


@verb(app, "pause", project=False)
def pause_runner(call: Invocation, runner: RunnerArgument) -> None:
    """Let a runner take no new jobs."""
    _change(call, runner, paused=True)


@verb(app, "resume", project=False)
def resume_runner(call: Invocation, runner: RunnerArgument) -> None:
    """Let a paused runner take jobs again."""
    _change(call, runner, paused=False)


@verb(app, "allow", project=False, json=False)
def allow_project(call: Invocation, project: ProjectArgument) -> None:
    """Let jobs of a project run as the server's own user, who may read all that the server keeps.

    For administrators. The built-in runner wants it where it can run jobs as no other user, and accounts of people
    who are no administrators exist.
    """
    shown = _set_allowed(call, project, allowed=True)
    call.out.words(f"Jobs of {shown} may run as the server's user; those that wait for it run now.")


@verb(app, "disallow", project=False, json=False)
def disallow_project(call: Invocation, project: ProjectArgument) -> None:
    """Let jobs of a project run as the server's own user no more, unless all accounts are administrators'."""
    shown = _set_allowed(call, project, allowed=False)
    call.out.words(f"Jobs of {shown} may not run as the server's user any more; those that run go on to their end.")


def _set_allowed(call: Invocation, project: str, *, allowed: bool) -> str:
    """The project's path."""
    with call.naming(f"project {project}", "perdure project list"):
        found = call.api.put(f"/projects/{quote(project, safe='')}", may_run_as_server=allowed)
    return str(found["path_with_namespace"])


@verb(app, "remove", project=False, json=False)
def remove_runner(call: Invocation, runner: RunnerArgument) -> None:
    """Remove a runner: its token is worth nothing from now on."""
    call.out.confirm(f"Remove runner {runner} of {call.server.url}?")
    with call.naming(f"runner {runner}", "perdure runner list"):
        call.api.delete(f"/runners/{runner}")
    call.out.words(f"Removed runner {runner}.")


@verb(app, "create")
def create_runner(
    call: Invocation,
    kind: Annotated[str, typer.Option("--for", help="instance, group or project.")] = "project",
    group: Annotated[str, typer.Option("--group", metavar="PATH", help="The group of a group's runner.")] = "",
    description: Annotated[str, typer.Option("--description", help="What it is.")] = "",
    tags: Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.")] = None,
    untagged: Annotated[bool | None, typer.Option("--untagged/--no-untagged", help="Takes jobs without tags.")] = None,
    locked: Annotated[bool, typer.Option("--locked", help="Is never given to further projects.")] = False,
    paused: Annotated[bool, typer.Option("--paused", help="Takes no jobs yet.")] = False,
) -> None:
    """Make a runner; prints the commands that register it on its machine: ours, and GitLab Runner's beside it."""
    if kind not in _KINDS:
        raise Invalid(f"--for {kind!r} is unknown; use one of {', '.join(_KINDS)}.")
    wanted: dict[str, Any] = {"runner_type": f"{kind}_type", "tag_list": tags or []}
    wanted["run_untagged"] = not tags if untagged is None else untagged
    wanted |= {"description": description} if description else {}
    wanted |= {name: True for name, given in (("locked", locked), ("paused", paused)) if given}
    if kind == "project":
        with call.naming(f"project {_project_of(call)}", "perdure project list"):
            wanted["project_id"] = call.api.get(call.home)["id"]
    elif kind == "group":
        with call.naming(f"group {group}", "perdure group list"):
            wanted["group_id"] = call.api.get(f"/groups/{quote(group, safe='')}")["id"]
    keep_private()
    made = call.api.post("/user/runners", **wanted)
    access = ["--url", call.server.url, "--token", made["token"]]
    command = shlex.join(["perdure", "runner", "register", *access])
    named = ["--name", description] if description else []
    in_shell, in_docker = (shlex.join([*_GITLAB_RUNNER, *access, *executor, *named]) for executor in _EXECUTORS)
    if call.out.as_json:
        told = {"command": command, "gitlab_runner_command": in_shell, "gitlab_runner_docker_command": in_docker}
        call.out.document(document(NEW_RUNNER, {**made, **told}))
        return
    call.out.words(f"Made runner {made['id']}. Its token is shown only now. On its machine:")
    call.out.data(command)
    call.out.words(f"Or with GitLab Runner:\n{in_shell}\nOr with GitLab Runner, each job in a container:\n{in_docker}")


def _project_of(call: Invocation) -> str:
    """The project that is meant; where none is, there are runners of other kinds too. Raises `Invalid`."""
    try:
        return call.project
    except Invalid as error:
        others = "`--for instance` makes one for all projects, `--for group --group PATH` one for those of a group."
        raise Invalid(f"{error} {others}") from error


def _change(call: Invocation, runner: int, *, paused: bool) -> None:
    with call.naming(f"runner {runner}", "perdure runner list"):
        found = call.api.put(f"/runners/{runner}", paused=paused)
        found["managers"] = call.api.get(f"/runners/{runner}/managers")
    _show(call, found)


def _state(runner: dict[str, Any]) -> Cell:
    style, glyph = _STATES.get(runner["status"], ("", "?"))
    return Cell(f"{runner['status']} (paused)" if runner["paused"] else runner["status"], style, glyph)


def _contact(call: Invocation, runner: dict[str, Any]) -> str:
    return ago(runner["contacted_at"], call.now) if call.out.is_terminal else runner["contacted_at"] or ""


def _show(call: Invocation, found: dict[str, Any]) -> None:
    shown = document(RUNNER_DETAILS, found)
    if call.out.as_json:
        call.out.document(shown)
        return
    call.out.fields(
        {
            "runner": str(shown["id"]),
            "description": shown["description"] or "",
            "state": _state(shown),
            "of": shown["runner_type"].removesuffix("_type"),
            "now": shown["job_execution_status"] or "",
            "tags": ", ".join(shown["tags"]),
            "untagged jobs": "yes" if shown["run_untagged"] else "no",
            "last contact": _contact(call, shown),
            "version": shown["version"] or "",
            "platform": shown["platform"] or "",
        }
    )
    rows = (
        [one["system_id"], _state({**one, "paused": False}), one["version"] or "", _contact(call, one)]
        for one in shown["managers"]
    )
    if shown["managers"]:
        call.out.table(("process", "state", "version", "last contact"), rows)
