"""`perdure pod tags`: what the runners of a pod take, and what an organisation asks for."""

from contextlib import closing
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from cli.client import Api
from cli.exit_codes import ExitCode
from cli.output import Cell
from cli.pods.documents import SERVED_TAG_SET, UNSERVED_TAG_SET, USED_TAG_SET
from cli.pods.tag_warnings import unserved_at
from cli.pods.words import tags_cell
from cli.remote import completion
from cli.remote.documents import document, documents
from cli.remote.invocation import Invocation, advice_for
from cli.remote.moments import ago
from cli.remote.place import find_server
from domain.errors import Invalid
from domain.moments import moment
from domain.pods.tag_sets import warning

_AVAILABLE: Final = {
    "available": Cell("yes", "green", "✓"),
    "silent": Cell("silent", "yellow", "◐"),
    "paused": Cell("paused", "yellow", "◐"),
    "none": Cell("no", "red", "✗"),
}


def list_tags(
    call: Invocation,
    organisation: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="ORGANISATION",
            help="What the jobs of this group asked for instead, and whether runners take it.",
            autocompletion=completion.groups,
        ),
    ] = "",
    target: Annotated[
        str,
        typer.Option(
            "--target",
            metavar="URL",
            help="With --for: the pod that it may move to; exit 1 if that one does not serve all of it.",
            autocompletion=completion.servers,
        ),
    ] = "",
    days: Annotated[int, typer.Option("--days", min=1, max=366, help="With --for: how far back.")] = 30,
) -> None:
    """List the tag sets that runners of the pod take, or with --for those that an organisation used lately."""
    if target and not organisation:
        raise Invalid("--target wants to know who comes: add `--for ORGANISATION`.")
    if target:
        _show_unserved(call, organisation, target, days)
    elif organisation:
        _show_used(call, organisation, days)
    else:
        _show_served(call)


def _show_served(call: Invocation) -> None:
    shown = documents(SERVED_TAG_SET, call.api.get("/pod/tag_sets"))
    if call.out.as_json:
        call.out.document(shown)
        return
    rows = (
        [
            tags_cell(one["tags"]),
            one["runner_type"].removesuffix("_type"),
            "yes" if one["run_untagged"] else "no",
            "protected" if one["ref_protected"] else "all",
            *(str(one[state]) for state in ("available", "silent", "paused")),
        ]
        for one in shown
    )
    headings = ("tags", "of", "untagged jobs", "refs", "available", "silent", "paused")
    call.out.table(headings, rows, "The pod has no runners. Next: `perdure runner create --for instance`.")


def _show_used(call: Invocation, group: str, days: int) -> None:
    with call.naming(f"group {group}", "perdure group list"):
        found = call.api.get(f"/groups/{quote(group, safe='')}/tag_sets", days=days)
    shown = documents(USED_TAG_SET, found)
    if call.out.as_json:
        call.out.document(shown)
        return
    rows = (
        [
            tags_cell(one["tags"]),
            "protected" if one["ref_protected"] else "other",
            str(one["jobs"]),
            ago(one["last_used_at"], call.now) if call.out.is_terminal else one["last_used_at"],
            _AVAILABLE[one["available_here"]],
            _AVAILABLE[one["available_own"]],
        ]
        for one in shown
    )
    headings = ("tags", "refs", "jobs", "last", "served", "by own runners")
    call.out.table(headings, rows, f"{group} has had no jobs in the last {days} days.")


def _show_unserved(call: Invocation, group: str, target: str, days: int) -> None:
    there = find_server(target, None, call.around)
    with closing(Api(there.url, there.token, advice=advice_for(there))) as api:
        pod: dict[str, Any] = api.get("/pod")
        with call.naming(f"group {group}", "perdure group list"):
            found = unserved_at(call.api, api, group, days)
    texts = [warning(one, pod["name"], days) for one in found]
    if call.out.as_json:
        shown = (
            {
                "tags": list(one.tags),
                "availability": one.availability.value,
                "jobs": one.jobs,
                "last_used_at": moment(one.last_used_at),
                "why": one.why,
                "warning": text,
            }
            for one, text in zip(found, texts, strict=True)
        )
        call.out.document([document(UNSERVED_TAG_SET, one) for one in shown])
    else:
        for text in texts:
            call.out.data(text)
        if not texts:
            call.out.words(f"Pod {pod['name']} serves all that {group} used in the last {days} days.")
    if found:
        raise typer.Exit(ExitCode.FAILED)
