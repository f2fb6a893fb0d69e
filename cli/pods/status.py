"""`perdure pod status`: how a pod is, or all of a cluster."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.exit_codes import ExitCode
from cli.output import Cell
from cli.pods.cluster import OF_RIGHTS, Answer, Door, ask_all
from cli.pods.documents import POD, POD_ANSWER
from cli.pods.known_pods import known_pods
from cli.remote.documents import document
from cli.remote.invocation import Invocation
from cli.remote.moments import ago, duration, span
from cli.remote.place import checked_server
from domain.errors import Invalid, Unauthenticated
from domain.pods.directory import Pod
from domain.pods.routable_token import read_route

_HEADINGS: Final = (
    "pod",
    "number",
    "state",
    "answer",
    "version",
    "runners online",
    "pending",
    "running",
    "oldest wait",
)


def show_status(
    call: Invocation,
    everything: Annotated[bool, typer.Option("--all", help="Every pod of the cluster, asked side by side.")] = False,
    directory: Annotated[
        Path | None,
        typer.Option(
            help="With --all: file with the pods (JSON); without it the directory that the settings name, or the pods "
            "of this home."
        ),
    ] = None,
    timeout: Annotated[str, typer.Option("--timeout", help="With --all: how long to wait, like 3s.")] = "3s",
) -> None:
    """Show how the pod is: what it reaches, its runners, jobs and versions; for administrators.

    With --all of every pod of the cluster: exit 0 if all answered, 5 if one did not, 4 if only a right was missing.
    """
    if everything:
        _show_all(call, known_pods(directory), span("--timeout", timeout))
    elif directory is not None:
        raise Invalid("--directory says which pods there are: add `--all`.")
    else:
        _show(call, call.api.get("/pod"))


def _show(call: Invocation, found: dict[str, Any]) -> None:
    found["runners"] = [{"runner_type": kind, **counted} for kind, counted in found["runners"].items()]
    shown = document(POD, found)
    if call.out.as_json:
        call.out.document(shown)
        return
    connected = shown["temporal_connected"]
    oldest = f", the oldest for {duration(shown['oldest_pending'])}" if shown["oldest_pending"] is not None else ""
    newest = shown["newest_schema"]
    schema = shown["schema"] if shown["schema"] == newest else f"{shown['schema']}, of which {newest} is the newest"
    call.out.fields(
        {
            "pod": f"{shown['name']} (number {shown['number']})",
            "state": Cell("draining: it hands out no more jobs", "yellow") if shown["draining"] else "active",
            "version": shown["version"],
            "started": ago(shown["started_at"], call.now) if call.out.is_terminal else shown["started_at"] or "",
            "temporal": Cell(
                f"namespace {shown['temporal_namespace']}, {'connected' if connected else 'away'}",
                "" if connected else "red",
            ),
            "database": f"{shown['database']}, schema {schema}, answered in {shown['database_seconds'] * 1000:.1f} ms",
            "jobs": f"{shown['pending']} pending{oldest}; {shown['running']} running",
            "runner versions": ", ".join(
                f"{one['processes']} x {one['version'] or 'unknown'}" for one in shown["runner_versions"]
            ),
        }
    )
    states = ("online", "offline", "stale", "never_contacted", "paused")
    rows = (
        [one["runner_type"].removesuffix("_type"), *(str(one[state]) for state in states)] for one in shown["runners"]
    )
    call.out.table(("runners of", "online", "offline", "stale", "never", "paused"), rows)


def _show_all(call: Invocation, pods: Sequence[Pod], seconds: float) -> None:
    answers = ask_all([(pod, tuple(_doors(call, pod))) for pod in pods], seconds)
    shown = [document(POD_ANSWER, _summary(one)) for one in answers]
    if call.out.as_json:
        call.out.document(shown)
    else:
        call.out.table(_HEADINGS, (_row(one) for one in shown))
    failed = [one for one in answers if one.state is None]
    for one in failed:
        call.out.words(f"Pod {one.pod.name} ({one.pod.address}): {one.failure}. {one.why}")
    if failed:
        call.out.words(f"{len(answers) - len(failed)} of {len(answers)} pods answered.")
        only_rights = all(one.failure in OF_RIGHTS for one in failed)
        raise typer.Exit(ExitCode.AUTH if only_rights else ExitCode.UNREACHABLE)


def _doors(call: Invocation, pod: Pod) -> Iterator[Door]:
    """Where a token is good that this pod gave: its own addresses that somebody is logged in to, else the server.

    A token is sent to nobody but the server that it was given for.
    """
    logins = call.around.user_file.servers
    own = [checked_server(f"http://{address.strip()}") for address in pod.address.split(",")]
    known = [Door(url, logins[url].token) for url in own if url in logins]
    yield from known
    if known:
        return
    try:
        server = call.server
    except Unauthenticated:
        return
    route = read_route(server.token)
    if route is not None and route.pod_number == pod.number:
        yield Door(server.url, server.token)


def _summary(answer: Answer) -> dict[str, Any]:
    pod, state = answer.pod, answer.state
    shown = {
        "number": pod.number,
        "name": pod.name,
        "address": pod.address,
        "state": pod.state.value,
        "answered": state is not None,
        "failure": answer.failure and answer.failure.value,
        "why": answer.why or None,
    }
    if state is None:
        return shown
    online = sum(counted["online"] for counted in state["runners"].values())
    return {**shown, "version": state["version"], "runners_online": online, **state["jobs"]}


def _row(one: dict[str, Any]) -> list[str | Cell]:
    name = [one["name"], str(one["number"]), one["state"]]
    if not one["answered"]:
        return [*name, Cell(one["failure"], "red", "✗"), "", "", "", "", ""]
    return [
        *name,
        Cell("ok", "green", "✓"),
        one["version"],
        *(str(one[figure]) for figure in ("runners_online", "pending", "running")),
        duration(one["oldest_pending"]),
    ]
