"""Names for the shell's completion, asked of the server.

Somebody waits with a finger on a key: the server has little time, and whatever goes wrong there are just no names.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote

import typer

from cli.states import of_job
from domain.errors import PerdureError

PATIENCE: Final = 2.0
"""Seconds for each call."""
MAX_ITEMS: Final = 30

Found = Iterable[tuple[str, str]]
"""Names, each with what the shell shows beside it."""


def servers(incomplete: str) -> list[tuple[str, str]]:
    """The servers that somebody is logged in to."""
    from cli.remote.place import CommandContext

    with _quietly() as found:
        logins = CommandContext.here().user_file.servers
        found += [(url, login.username) for url, login in logins.items() if url.startswith(incomplete)]
    return found


def projects(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Full paths of projects."""

    def ask(api: Any, _home: Callable[[], str]) -> Found:
        word = incomplete.rpartition("/")[2]
        return ((one["path_with_namespace"], one["name"]) for one in api.listed("/projects", MAX_ITEMS, search=word))

    return _asked(ctx, incomplete, ask)


def groups(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Full paths of groups."""

    def ask(api: Any, _home: Callable[[], str]) -> Found:
        word = incomplete.rpartition("/")[2]
        return ((one["full_path"], one["name"]) for one in api.listed("/groups", MAX_ITEMS, search=word))

    return _asked(ctx, incomplete, ask)


def users(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """User names."""

    def ask(api: Any, _home: Callable[[], str]) -> Found:
        return ((one["username"], one["name"]) for one in api.listed("/users", MAX_ITEMS, search=incomplete))

    return _asked(ctx, incomplete, ask)


def pipelines(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The newest pipelines of the project."""

    def ask(api: Any, home: Callable[[], str]) -> Found:
        found = api.listed(f"{home()}/pipelines", MAX_ITEMS)
        return ((str(one["id"]), f"{one['detailed_status']['label']} {one['ref']}") for one in found)

    return _asked(ctx, incomplete, ask)


def jobs(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The jobs of the newest pipeline by name, and the newest jobs of the project by number."""

    def ask(api: Any, home: Callable[[], str]) -> Found:
        found = api.listed(f"{home()}/jobs", MAX_ITEMS)
        newest = max((one["pipeline"]["id"] for one in found), default=0)
        named = [one for one in found if one["pipeline"]["id"] == newest]
        yield from ((one["name"], f"{of_job(one).label} {one['stage']}") for one in named)
        yield from ((str(one["id"]), f"{of_job(one).label} {one['name']}") for one in found)

    return _asked(ctx, incomplete, ask)


def merge_requests(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The open merge requests of the project."""

    def ask(api: Any, home: Callable[[], str]) -> Found:
        found = api.listed(f"{home()}/merge_requests", MAX_ITEMS, state="opened")
        return ((str(one["iid"]), one["title"]) for one in found)

    return _asked(ctx, incomplete, ask)


def runners(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The runners that the person may see."""

    def ask(api: Any, _home: Callable[[], str]) -> Found:
        return ((str(one["id"]), one["description"] or one["status"]) for one in api.listed("/runners", MAX_ITEMS))

    return _asked(ctx, incomplete, ask)


def variables(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The variables of the project."""

    def ask(api: Any, home: Callable[[], str]) -> Found:
        return ((one["key"], one["environment_scope"]) for one in api.listed(f"{home()}/variables", MAX_ITEMS))

    return _asked(ctx, incomplete, ask)


def schedules(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The schedules of the project."""

    def ask(api: Any, home: Callable[[], str]) -> Found:
        found = api.listed(f"{home()}/pipeline_schedules", MAX_ITEMS)
        return ((str(one["id"]), one["description"]) for one in found)

    return _asked(ctx, incomplete, ask)


def refs(incomplete: str) -> list[tuple[str, str]]:
    """The branch that is checked out and the default branch; no server is asked."""
    from cli.remote.place import CommandContext

    with _quietly() as found:
        checkout = CommandContext.here().checkout
        if checkout is not None:
            names = dict.fromkeys([checkout.head.ref if checkout.head else "", checkout.default_branch])
            found += [(name, "") for name in names if name and name.startswith(incomplete)]
    return found


def _asked(
    ctx: typer.Context, incomplete: str, ask: Callable[[Any, Callable[[], str]], Found]
) -> list[tuple[str, str]]:
    with _quietly() as found:
        from cli.client import Api
        from cli.remote.place import CommandContext, find_project, find_server

        around = CommandContext.here()
        server = find_server(str(ctx.params.get("server") or ""), None, around)
        with contextlib.closing(Api(server.url, server.token, timeout=PATIENCE)) as api:

            def home() -> str:
                project = find_project(str(ctx.params.get("project") or ""), None, server, around)
                return f"/projects/{quote(project, safe='')}"

            found += dict(pair for pair in ask(api, home) if pair[0].startswith(incomplete)).items()
    return found


@contextlib.contextmanager
def _quietly() -> Iterator[list[tuple[str, str]]]:
    """An empty list to fill; an error of ours leaves it as it is, and would only spoil the line being typed."""
    found: list[tuple[str, str]] = []
    with contextlib.suppress(PerdureError, OSError, KeyError, TypeError):
        yield found
