"""`perdure up`: the whole of Perdure on this machine, one command."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO
from urllib.parse import quote

import psutil
import typer

from cli.exit_codes import ExitCode, TimedOut
from cli.installation.bootstrap import CREDENTIALS, ensure_runner, forget_runner
from cli.installation.busy_ports import refuse_busy_ports
from cli.installation.cluster import register_pods
from cli.installation.down import down
from cli.installation.identified import identified
from cli.installation.job_rights import with_job_rights
from cli.installation.own_installation import COPY, installation_here, refuse_address_of_another
from domain.errors import Refused, Unavailable
from pods.child import Child
from pods.embedded_pods import FOLDER, add_pods, begin_directory, further_pods
from pods.environment import child_environment, variables
from pods.listening import hand_on, handed
from pods.loopback import LOOPBACK
from pods.process import is_alive
from pods.restore_marker import refuse_half_restored
from pods.run_folder import SUPERVISOR, RunFolder
from pods.stack import PYTHON, stack
from settings import Settings

LOOK_EVERY = 0.1
PIPELINES = 'WorkflowType="Pipeline"'
"""The workflows under `pipelines_view`: neither deliveries of webhooks nor reports to forges nor waiting rooms."""
Process = subprocess.Popen[bytes]


def up(settings: Settings, *, pods: int | None, foreground: bool, as_json: bool) -> ExitCode:
    """Start what does not run yet, wait until all of it answers, print where it is.

    With `pods` there are as many at least: those that are missing are made.

    Raises Refused (a port is busy, other settings are in force), Unavailable (the supervisor ended) or TimedOut.
    """
    refuse_half_restored(settings.home)
    folder = RunFolder(settings.home)
    settings = with_job_rights(settings)
    _make_pods(settings, folder, pods)
    if not foreground:
        was_up = bring_up(settings)
        _announce(settings, folder, was_up=was_up, as_json=as_json)
        return ExitCode.OK
    children = stack(settings)
    _refuse_other_settings(settings, children, folder)
    if supervisor_runs(folder):
        raise Refused("Perdure is up already, in the background. Run `perdure down` first.")
    sockets = handed()
    refuse_busy_ports(children, folder, sockets)
    refuse_address_of_another(settings)
    process = _start_supervisor(settings, folder, sockets, foreground=True)

    def come_up() -> None:
        _come_up(settings, children, folder, process)
        _announce(settings, folder, was_up=False, as_json=as_json)

    return _stay(process, come_up)


def _make_pods(settings: Settings, folder: RunFolder, count: int | None) -> None:
    """Make the pods that are missing; what runs of other pods than there are now is started anew.

    Its front holds callers meanwhile.
    """
    for pod in add_pods(settings, count or 1):
        home = settings.home.resolve() / FOLDER / pod.name
        typer.echo(f"Pod {pod.name} is new: number {pod.number}, in {home}", err=True)
    if further_pods(settings.home):
        begin_directory(settings)
    record = folder.read(SUPERVISOR)
    known = set(record.children) if record is not None and is_alive(record.identity) else set()
    if known and known != {child.name for child in stack(settings)}:
        typer.echo("Perdure is started anew with these pods; its front holds callers meanwhile.", err=True)
        down(settings, everything=False)


def bring_up(settings: Settings) -> bool:
    """Start what does not run yet, in the background, and wait until all of it answers; raises as `up` does.

    Gives back whether all of it ran already.
    """
    refuse_half_restored(settings.home)
    folder = RunFolder(settings.home)
    settings = with_job_rights(settings)
    _make_pods(settings, folder, None)
    children = stack(settings)
    _refuse_other_settings(settings, children, folder)
    process = None
    if not supervisor_runs(folder):
        refuse_busy_ports(children, folder)
        refuse_address_of_another(settings)
        process = _start_supervisor(settings, folder, foreground=False)
    was_up = process is None and all(is_ready(child, folder) for child in children if child.wanted)
    _come_up(settings, children, folder, process)
    return was_up


def supervisor_runs(folder: RunFolder) -> bool:
    """Is there a living supervisor of this home?"""
    record = folder.read(SUPERVISOR)
    return record is not None and is_alive(record.identity)


def _come_up(settings: Settings, children: Sequence[Child], folder: RunFolder, process: Process | None) -> None:
    deadline = time.monotonic() + settings.up_timeout
    _wait(children, folder, process, deadline, settings.up_timeout)
    register_pods(settings)
    warning = ensure_runner(settings)
    if warning:
        typer.echo(f"Warning: {warning}", err=True)
    _wait(children, folder, process, deadline, settings.up_timeout)


def _start_supervisor(
    settings: Settings, folder: RunFolder, sockets: Sequence[socket.socket] = (), *, foreground: bool
) -> Process:
    """In the background it leads a session of its own, so that closing the terminal does not end it.

    `sockets` are listening ones that systemd has opened for us.
    """
    forget_runner(settings)
    output: IO[bytes] | None = None if foreground else folder.open_log(SUPERVISOR)
    try:
        return subprocess.Popen(
            (*PYTHON, "pods.supervisor"),
            env=child_environment(settings, secrets=True) | hand_on(sockets),
            pass_fds=[one.fileno() for one in sockets],
            cwd=folder.home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=not foreground,
        )
    finally:
        if output:
            output.close()


def _stay(process: Process, come_up: Callable[[], None]) -> ExitCode:
    """Stay until the supervisor ends; SIGTERM and Ctrl-C end it."""
    asked = False

    def stop(*_: object) -> None:
        nonlocal asked
        asked = True
        process.terminate()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        come_up()
    except BaseException:
        if not asked:
            process.terminate()
            process.wait()
            raise
    status = process.wait()
    return ExitCode.OK if asked or status == 0 else ExitCode.FAILED


def _refuse_other_settings(settings: Settings, children: Sequence[Child], folder: RunFolder) -> None:
    """Raise Refused if something of this home runs with settings that differ from those given now."""
    chosen = {SUPERVISOR: variables(settings), **{child.name: child.env for child in children}}
    for name, here in chosen.items():
        record = folder.read(name)
        if record is None or record.is_left or not is_alive(record.identity):
            continue
        try:
            there = psutil.Process(record.pid).environ()
        except (psutil.Error, OSError):
            continue
        other = [key for key in variables(settings) if key in there and key in here and there[key] != here[key]]
        if other:
            # Values are left out: some of these settings are secrets.
            raise Refused(
                f"Perdure is up in {folder.home} with other settings ({', '.join(other)}). "
                "Run `perdure down` first to change them."
            )


def _wait(children: Sequence[Child], folder: RunFolder, process: Process | None, deadline: float, limit: float) -> None:
    """Return when every child that shall run is ready, and watched: children of a dead supervisor do not count."""
    waiting = [child for child in children if child.wanted]
    while True:
        waiting = [child for child in waiting if not is_ready(child, folder)]
        if not waiting and supervisor_runs(folder):
            return
        if process and process.poll() is not None and not supervisor_runs(folder):
            raise Unavailable(
                f"The supervisor ended with status {process.returncode} before Perdure was up. "
                f"The end of {folder.log_path(SUPERVISOR)}:\n{folder.log_tail(SUPERVISOR)}"
            )
        if time.monotonic() >= deadline:
            raise TimedOut(_who_is_missing(waiting, folder, limit))
        time.sleep(LOOK_EVERY)


def is_ready(child: Child, folder: RunFolder) -> bool:
    """Does the recorded process of this child live, and does it answer?"""
    record = folder.read(child.name)
    return record is not None and is_alive(record.identity) and (child.ready is None or child.ready.ask())


def _who_is_missing(waiting: Sequence[Child], folder: RunFolder, limit: float) -> str:
    parts = [f"Perdure is not up after {limit:g} s (PERDURE_UP_TIMEOUT); it goes on trying."]
    if not supervisor_runs(folder):
        parts.append(f"supervisor does not run. The end of its log:\n{folder.log_tail(SUPERVISOR)}")
    for child in waiting:
        what = f"does not answer {child.ready}" if child.ready else "does not run"
        parts.append(f"{child.name} {what}. The end of {folder.log_path(child.name)}:\n{folder.log_tail(child.name)}")
    parts.append("Next: `perdure status` shows the state, `perdure down` stops everything.")
    return "\n\n".join(parts)


def _announce(settings: Settings, folder: RunFolder, *, was_up: bool, as_json: bool) -> None:
    here = installation_here(settings)
    if here and here.copy_of:
        typer.echo(COPY.format(original=here.copy_of), err=True)
    places = {
        "url": settings.url,
        "temporal_ui": temporal_ui(settings),
        "temporal_pipelines": pipelines_view(asyncio.run(identified(settings))),
        "logs": str(folder.logs),
    }
    if as_json:
        typer.echo(json.dumps(places))
        return
    if was_up:
        typer.echo("Perdure was up already; nothing was started.")
    credentials: Path = folder.home / CREDENTIALS
    lines = [
        ("Perdure", places["url"]),
        ("Temporal Web UI", places["temporal_ui"]),
        ("Pipelines there", places["temporal_pipelines"]),
        ("Logs", places["logs"]),
        ("Sign-in and token", str(credentials) if credentials.exists() else None),
        ("Next", "perdure login --local --git" if credentials.exists() else None),
    ]
    for name, place in lines:
        if place:
            typer.echo(f"{name:<18} {place}")
    sys.stdout.flush()


def temporal_ui(settings: Settings) -> str | None:
    """Address of the embedded Temporal's pages; None if Temporal is somebody else's."""
    return None if settings.temporal_address else f"http://{LOOPBACK}:{settings.temporal_ui_port}"


def pipelines_view(settings: Settings) -> str | None:
    """Address of the list of pipelines in the embedded Temporal's pages; None if Temporal is somebody else's."""
    page = temporal_ui(settings)
    query = quote(PIPELINES, safe="")
    return f"{page}/namespaces/{settings.namespace}/workflows?query={query}" if page else None
