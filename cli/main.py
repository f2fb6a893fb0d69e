"""The `perdure` command. Commands import what they need when they run, so that `--help` is quick."""

import contextlib
import importlib
import os
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.exit_codes import ExitCode, exit_code
from cli.json_option import JsonOption
from cli.lazy_group import Lazy, LazyGroup
from cli.named_pod import named_pod
from domain.errors import Invalid, NotFound, PerdureError

if TYPE_CHECKING:
    from settings import Settings

LAZY: Final = {
    "login": Lazy("cli.remote.login", "login", "Log in to a server with an access token."),
    "logout": Lazy("cli.remote.login", "logout", "Forget the token of a server, or of all with --all."),
    "whoami": Lazy("cli.remote.login", "whoami", "Show who you are on the server."),
    "git-credential": Lazy(
        "cli.git_credential",
        "git_credential",
        "Give git the token of a server that you are logged in to; git calls this, people need not.",
    ),
    "project": Lazy("cli.remote.project", "app", "List, show and create projects."),
    "group": Lazy("cli.remote.group", "app", "List and create groups."),
    "user": Lazy("cli.remote.user", "app", "List, create, block and unblock people."),
    "member": Lazy("cli.remote.member", "app", "Who may do what in a project or a group."),
    "pipeline": Lazy("cli.remote.pipeline", "app", "Run, watch, retry and explain pipelines."),
    "job": Lazy("cli.remote.job", "app", "Look at jobs: logs, artifacts; retry, play and cancel them."),
    "mr": Lazy("cli.remote.merge_request", "app", "Open, show, approve and merge merge requests."),
    "schedule": Lazy("cli.remote.schedule", "app", "Pipelines at set times."),
    "variable": Lazy("cli.remote.variable", "app", "CI/CD variables of a project, a group or the instance."),
    "trigger": Lazy("cli.remote.trigger", "app", "Tokens that start pipelines from outside."),
    "runner": Lazy("cli.remote.runner", "app", "Register and run runners; list, pause and remove those of a server."),
    "import": Lazy("cli.importing.command", "app", "Bring a project from a GitLab server, or another Perdure."),
    "token": Lazy("cli.remote.token", "app", "Create, list and revoke access tokens."),
    "doctor": Lazy("cli.doctor", "doctor", "Check server, token, clock and tools; on an operator's machine its parts."),
    "lint": Lazy(
        "cli.configurations.lint",
        "lint",
        "Check a configuration, with all files that it includes; no server is needed.",
    ),
    "plan": Lazy(
        "cli.configurations.plan",
        "plan",
        "Show which jobs an event would run, what each waits for, and why it is in or out; no server is needed.",
    ),
    "demo": Lazy("cli.installation.demo", "demo", "Start Perdure, push an example project, and follow its pipeline."),
    "route": Lazy(
        "cli.pods.route", "route", "Say which pod an address, a header or a token leads to, and why; no pod is asked."
    ),
    "pod": Lazy(
        "cli.pods.pod",
        "app",
        "Make, list, drain and remove pods; move organisations; look at a pod, or at all.",
    ),
    "step-runner": Lazy("cli.step_runner", "app", "Run steps of CI jobs: as a service, or at once."),
    "keys": Lazy("cli.installation.keys", "app", "List and rotate the keys that sign tokens."),
    "backup": Lazy(
        "cli.installation.backup",
        "backup",
        "Write everything into one file while Perdure runs: database, repositories, logs, artifacts, keys.",
    ),
    "restore": Lazy(
        "cli.installation.restore", "restore", "Put a backup back into an empty home; Perdure must be down."
    ),
    "promote": Lazy(
        "cli.installation.promote",
        "promote",
        "Let a restored copy take the place of the installation that was backed up; Perdure must be down.",
    ),
    "upgrade": Lazy(
        "cli.installation.upgrade",
        "upgrade",
        "Bring database and Temporal to this version of Perdure; may be repeated.",
    ),
}
"""Commands that are imported when they are run."""

NAME: Final = "perdure"
"""Also where the command is run as a module: the shell's completion asks by this name."""

QUICK = frozenset({"lint", "plan"})
"""Commands of LAZY that are called without Typer where the command line permits it."""


class Commands(LazyGroup):
    """All commands."""

    LAZY = LAZY


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Perdure: pipelines that survive. `perdure up` starts everything on this machine.",
)


def _version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        typer.echo(importlib.metadata.version("perdure"))
        raise typer.Exit


@app.callback()
def options(
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    pod: Annotated[
        str, typer.Option(metavar="NAME", help="Which pod of this machine the command is about; else the first.")
    ] = "",
) -> None:
    """Take the options that stand before the command."""
    named_pod.set(pod)


@app.command()
def up(
    pods: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="Have so many pods (docs/pods.md): those that are missing are made."),
    ] = None,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay; Ctrl-C stops everything.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Start Perdure on this machine and wait until it answers."""
    from cli.installation.up import up as run

    raise typer.Exit(run(read_settings(of_home=True), pods=pods, foreground=foreground, as_json=as_json))


@app.command()
def down(
    everything: Annotated[
        bool, typer.Option("--all", help="The front too. Without it the front holds callers for a restart.")
    ] = False,
) -> None:
    """Stop Perdure on this machine; its state stays, and its front holds callers until it is up again."""
    from cli.installation.down import down as run
    from cli.installation.down import tell

    settings = read_settings(of_home=True)
    tell(settings, run(settings, everything=everything))


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Show what of Perdure runs on this machine; exit 0 if all of it answers."""
    from cli.installation.status import status as run

    raise typer.Exit(run(read_settings(of_home=True), as_json=as_json))


@app.command()
def logs(
    process: Annotated[
        str, typer.Argument(metavar="[PROCESS]", help="One as `perdure status` names it; else all.")
    ] = "",
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="So many entries, the last ones.")] = 100,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
) -> None:
    """Print what the processes of this machine have logged, by time and in one form."""
    from cli.installation.logs import logs as run

    run(read_settings(of_home=True), process, lines=lines, follow=follow)


@app.command()
def front() -> None:
    """Run only the front: it forwards to the API and answers 503 while that is away."""
    from pods.front import main as run

    read_settings()
    run()


@app.command(hidden=True)
def supervisor() -> None:
    """Run only the supervisor, in the foreground."""
    from pods.supervisor import main as run

    read_settings()
    run()


def read_settings(*, of_home: bool = False) -> "Settings":
    """The settings from the environment, of the pod that `--pod` names; with `of_home` those of the whole home.

    Raises `Invalid` with the name of every wrong variable, `NotFound` for a pod that is not there.
    """
    from pydantic import ValidationError

    from cli.installation.ports import embedded
    from settings import FrontLimits, Settings

    try:
        settings = embedded(Settings())
    except ValidationError as error:
        prefixes = {part.__name__: part.model_config.get("env_prefix", "") for part in (Settings, FrontLimits)}
        prefix = prefixes.get(error.title, "PERDURE_")
        faults = [f"{prefix}{fault['loc'][0]}".upper() + f": {fault['msg']}" for fault in error.errors()]
        raise Invalid("A setting is wrong. " + "; ".join(faults)) from error
    name = named_pod.get()
    return settings if of_home or name in {"", settings.pod} else _of_pod(settings, name)


def _of_pod(settings: "Settings", name: str) -> "Settings":
    from pods.embedded_pods import all_settings

    pods = all_settings(settings)
    found = next((pod for pod in pods if pod.pod == name), None)
    if found is None:
        raise NotFound(
            f"There is no pod {name} in {settings.home.resolve()}, only {', '.join(pod.pod for pod in pods)}; "
            "`perdure pod create` makes one."
        )
    return found


def main() -> None:
    """Entry point of `perdure`; an error becomes a message on stderr and an exit status."""
    try:
        _run(sys.argv[1:])
    except PerdureError as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(exit_code(error))
    except OSError as error:
        from cli.plain_reasons import sentence_of

        typer.echo(f"Error: {sentence_of(error)}", err=True)
        sys.exit(ExitCode.FAILED)


def process() -> None:
    """`main` of a process of its own.

    Threads of Temporal's core may touch the interpreter while it takes itself down, and Python then aborts (SIGABRT) a
    command that has done its work: where they may run, the process ends without that.
    """
    try:
        main()
    except SystemExit as end:
        if "temporalio" not in sys.modules or not isinstance(end.code, int | None):
            raise
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BrokenPipeError):  # the reader has enough
                stream.flush()
        os._exit(end.code or 0)


def _run(words: list[str]) -> None:
    """Run a command and end the process."""
    if words and words[0] in QUICK:
        from cli.quick import quick_arguments, run_quickly

        lazy = LAZY[words[0]]
        command = getattr(importlib.import_module(lazy.module), lazy.attribute)
        arguments = quick_arguments(command, words[1:])
        if arguments is not None:
            sys.exit(run_quickly(command, arguments))
    app(prog_name=NAME)


if __name__ == "__main__":
    process()
