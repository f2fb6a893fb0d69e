"""`perdure mr`: merge requests (GitLab's `/projects/:id/merge_requests`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer

from cli.output import numbered_state
from cli.remote import completion
from cli.remote.documents import MERGE_REQUEST, MERGE_REQUEST_DETAILS, document, documents
from cli.remote.invocation import Invocation, verb
from domain.errors import Forbidden, Invalid, NotAllowed, NotFound, Unauthenticated

app = typer.Typer(help="Open, show, approve and merge merge requests.", no_args_is_help=True)

_NEXT: Final = "perdure mr list"

NumberArgument = Annotated[
    int,
    typer.Argument(
        metavar="NUMBER",
        show_default=False,
        help="Its number in the project. Default: that of the branch which is checked out.",
        autocompletion=completion.merge_requests,
    ),
]


@verb(app, "list")
def list_merge_requests(
    call: Invocation,
    state: Annotated[str, typer.Option("--state", help="opened, merged, closed or all.")] = "opened",
    source: Annotated[str, typer.Option("--source-branch", help="From this branch.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 30,
) -> None:
    """List merge requests, newest first."""
    with call.naming(f"project {call.project}", "perdure project list"):
        found = documents(MERGE_REQUEST, _listed(call, limit, state=state, source_branch=source))
    if call.out.as_json:
        call.out.document(found)
        return
    rows = ([str(one["number"]), one["state"], _way(one), one["author"] or "", one["title"]] for one in found)
    call.out.table(("number", "state", "branches", "author", "title"), rows)


@verb(app, "show")
def show_merge_request(call: Invocation, number: NumberArgument = 0) -> None:
    """Show a merge request, with its pipeline and what stands in its way."""
    _show(call, _found(call, number))


@verb(app, "create")
def create_merge_request(
    call: Invocation,
    title: Annotated[str, typer.Argument(help="What it brings.")],
    source: Annotated[str, typer.Option("--source-branch", help="Default: the branch that is checked out.")] = "",
    target: Annotated[str, typer.Option("--target-branch", help="Default: the project's default branch.")] = "",
    description: Annotated[str, typer.Option("--description", help="More about it.")] = "",
) -> None:
    """Open a merge request from a branch that was pushed."""
    with call.naming(f"project {call.project}", "perdure project list"):
        project = call.api.get(call.home)
    source, target = source or call.ref, target or project["default_branch"]
    if not source:
        raise Invalid("From which branch? None of this project is checked out here; add `--source-branch NAME`.")
    wanted = {"title": title, "source_branch": source, "target_branch": target, "description": description}
    _show(call, call.api.post(f"{call.home}/merge_requests", **wanted))


@verb(app, "approve")
def approve_merge_request(call: Invocation, number: NumberArgument = 0) -> None:
    """Approve a merge request as it is now."""
    found = _found(call, number)
    with _refusing("approve", found, "Its author may not, nor who has approved it already"):
        call.api.post(f"{_route(call, found)}/approve", sha=found["sha"])
    _show(call, call.api.get(_route(call, found)))


@verb(app, "merge")
def merge_merge_request(
    call: Invocation,
    number: NumberArgument = 0,
    auto: Annotated[bool, typer.Option("--auto", help="As soon as its pipeline has succeeded.")] = False,
    squash: Annotated[bool | None, typer.Option("--squash/--no-squash", help="As one commit.")] = None,
    remove: Annotated[
        bool | None, typer.Option("--remove-source-branch/--keep-source-branch", help="And the branch then.")
    ] = None,
) -> None:
    """Merge a merge request as it is now, or with --auto when its pipeline has succeeded."""
    found = _found(call, number)
    wanted = {"sha": found["sha"], "squash": squash, "should_remove_source_branch": remove, "auto_merge": auto or None}
    with _refusing("merge", found, f"That takes the right to merge into {found['target_branch']}"):
        merged = call.api.put(
            f"{_route(call, found)}/merge", **{name: value for name, value in wanted.items() if value is not None}
        )
    _show(call, merged)


def _listed(call: Invocation, limit: int, **wanted: str) -> list[dict[str, Any]]:
    given = {name: value for name, value in wanted.items() if value}
    return call.api.listed(f"{call.home}/merge_requests", limit, **given)


def _found(call: Invocation, number: int) -> dict[str, Any]:
    """The one that is meant, whole. Raises `Invalid` or `NotFound`."""
    if not number:
        if not call.ref:
            raise Invalid(f"Which merge request? No branch of the project is checked out here. Next: `{_NEXT}`.")
        of_branch = _listed(call, 1, source_branch=call.ref, state="opened")
        if not of_branch:
            raise NotFound(f"No merge request from {call.ref} is open in {call.project}. Next: `perdure mr create`.")
        number = of_branch[0]["iid"]
    with call.naming(f"merge request {number}", _NEXT):
        found: dict[str, Any] = call.api.get(f"{call.home}/merge_requests/{number}")
    return found


def _route(call: Invocation, found: dict[str, Any]) -> str:
    return f"{call.home}/merge_requests/{found['iid']}"


@contextmanager
def _refusing(what: str, found: dict[str, Any], who: str) -> Iterator[None]:
    """Say why a merge request that was read is not changed: GitLab answers 401 to those who may not."""
    try:
        yield
    except Unauthenticated as error:
        text = f"You may not {what} merge request {found['iid']}. {who}; `perdure whoami` shows who you are."
        raise Forbidden(text) from error
    except NotAllowed as error:
        state = found["detailed_merge_status"] if found["state"] == "opened" else f"it is {found['state']}"
        raise NotAllowed(f"Merge request {found['iid']} cannot be merged now: {state} ({error}).") from error


def _way(shown: dict[str, Any]) -> str:
    return f"{shown['source_branch']} -> {shown['target_branch']}"


def _show(call: Invocation, found: dict[str, Any]) -> None:
    approvals = call.api.get(f"{_route(call, found)}/approvals")
    names = [one["user"]["username"] for one in approvals["approved_by"]]
    left = approvals["approvals_left"]
    shown = document(MERGE_REQUEST_DETAILS, {**found, "approved_by": names, "approvals_left": left})
    if call.out.as_json:
        call.out.document(shown)
        return
    pipeline = numbered_state(shown["pipeline_id"], shown["pipeline_label"], shown["pipeline_status"])
    call.out.fields(
        {
            "merge request": str(shown["number"]),
            "title": shown["title"],
            "state": shown["state"],
            "branches": _way(shown),
            "author": shown["author"] or "",
            "pipeline": pipeline,
            "approved by": ", ".join(names) + (f" ({left} missing)" if left else ""),
            "can be merged": shown["merge_status"] or "" if shown["state"] == "opened" else "",
            "merges by itself": "yes" if shown["auto_merge"] else "",
        }
    )
