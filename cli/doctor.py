"""`perdure doctor`: what is wrong between this machine and a server, and what to do about it."""

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from cli.client import LOCAL
from cli.doctor_checks.check import Check, State
from cli.exit_codes import ExitCode
from cli.output import Cell
from cli.remote.invocation import Invocation, with_common_options
from cli.user_file import is_private
from domain.errors import Forbidden, Invalid, NotFound, PerdureError, Unauthenticated, Unavailable

SKEW_WARN: Final = 5.0
SKEW_FAIL: Final = 60.0
"""Seconds. Tokens of jobs are good for some seconds before and after their time, not for minutes."""
EXPIRY_WARN: Final = 14
"""Days."""
OLDEST_GIT: Final = (2, 30)
"""That of the oldest distribution that is still kept up; nothing older is tried."""
_LOOKS: Final = {State.OK: ("green", "✓"), State.WARN: ("yellow", "!"), State.FAIL: ("red", "✗")}


def _doctor(
    call: Invocation,
    local: Annotated[
        bool | None,
        typer.Option("--local/--no-local", help="Look at the installation of this machine. Default: if there is one."),
    ] = None,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Look at every stored pipeline as well: whether all is as it must be. Only reads."),
    ] = False,
    copy: Annotated[
        str | None,
        typer.Option("--copy", metavar="DATABASE", help="With --deep: look at this copy of a database, a file or URL."),
    ] = None,
) -> None:
    """Check server, token, clock and tools; on an operator's machine its parts."""
    if copy is not None and not deep:
        raise Invalid("--copy goes with --deep: it names the database to look at.")
    checks = [] if copy is not None else [*_remote(call), _git()]
    if deep:
        from cli.doctor_checks.deep import deep_checks

        checks += deep_checks(copy)
    if local is not False and copy is None:
        from cli.doctor_checks.local import has_installation, local_checks

        if local or has_installation():
            checks += local_checks()
    if call.out.as_json:
        call.out.document([asdict(check) for check in checks])
    else:
        call.out.table((), _rows(checks, two_lines=call.out.is_terminal))
    failed = sum(check.state == State.FAIL for check in checks)
    if failed:
        call.out.words(f"{failed} of {len(checks)} checks failed.")
    raise typer.Exit(ExitCode.FAILED if failed else ExitCode.OK)


doctor = with_common_options(_doctor, frozenset())


def _rows(checks: Sequence[Check], *, two_lines: bool) -> Iterator[Sequence[str | Cell]]:
    """A row for each check, on a terminal with a second one for what to do."""
    for check in checks:
        style, glyph = _LOOKS[check.state]
        state = Cell(check.state, style, glyph)
        if not two_lines:
            yield state, check.name, check.detail, check.fix
            continue
        yield state, check.name, check.detail
        if check.fix:
            yield "", "", Cell(check.fix, "bold", "→")


def _remote(call: Invocation) -> Iterator[Check]:
    """The user file, the server and the token; without a server there is nothing more to ask."""
    yield guarded("logins", "Correct or delete the file, then `perdure login`.", lambda: _logins(call))
    try:
        url = call.server.url
    except Unauthenticated as error:
        fix = "`perdure login https://ADDRESS`; `perdure up` starts a server on this machine"
        yield Check("server", State.WARN, str(error), fix)
        return
    except Invalid as error:
        yield Check("server", State.FAIL, str(error), "Correct what the message names.")
        return
    begun = time.time()
    try:
        user = call.api.get("/user")
        headed = call.api.date()
    except Unavailable as error:
        fix = f"Is the address right ({call.server.said_by} says it)? Is the server up, and a proxy or VPN in between?"
        if urlsplit(url).hostname in LOCAL:
            fix = f"`perdure status` says what is down, `perdure up` starts it ({call.server.said_by} says the address)"
        yield Check("server", State.FAIL, str(error).removesuffix(" Next: `perdure doctor`."), fix)
        return
    except (Unauthenticated, Forbidden) as error:
        yield Check("server", State.OK, f"{url} answers ({call.server.said_by})")
        yield Check("token", State.FAIL, str(error), f"`perdure login {url}`")
        return
    except PerdureError as error:
        yield Check("server", State.FAIL, str(error), f"Is {url} the address of a Perdure server?")
        return
    version = call.api.get("/version")
    yield Check("server", State.OK, f"{url} answers, like GitLab {version.get('version')} ({call.server.said_by})")
    yield guarded("token", f"`perdure login {url}`", lambda: _token(call, user))
    yield clock(headed, begun, time.time())
    yield _project(call)


def guarded(name: str, fix: str, look: Callable[[], Check]) -> Check:
    """A check whose own failure is a row too."""
    try:
        return look()
    except (PerdureError, OSError) as error:
        return Check(name, State.FAIL, str(error), fix)


def _logins(call: Invocation) -> Check:
    path, servers = call.around.user_file_path, call.around.user_file.servers
    if not servers:
        return Check("logins", State.WARN, f"{path} has none", "`perdure login https://ADDRESS`")
    if not is_private(path):
        return Check("logins", State.FAIL, f"others may read {path}, which holds tokens", f"chmod 600 {path}")
    return Check("logins", State.OK, f"{', '.join(servers)} in {path}")


def _token(call: Invocation, user: dict[str, Any]) -> Check:
    who = f"good, of {user['username']}"
    try:
        token = call.api.get("/personal_access_tokens/self")
    except PerdureError:
        return Check("token", State.OK, f"{who}; this server tells nothing of its scopes and expiry")
    scopes, last = ", ".join(token.get("scopes") or ()), token.get("expires_at")
    detail = f"{who}; opens {scopes or 'nothing'}; {f'until {last}' if last else 'does not expire'}"
    fix = "`perdure token create NAME`, then `perdure login` with it"
    if "api" not in (token.get("scopes") or ()):
        return Check("token", State.WARN, f"{detail}: without the scope api it can only read", fix)
    if last and (date.fromisoformat(last[:10]) - datetime.now(UTC).date()).days < EXPIRY_WARN:
        return Check("token", State.WARN, detail, fix)
    return Check("token", State.OK, detail)


def clock(headed: str, begun: float, ended: float) -> Check:
    """The server's clock (its `Date` tells whole seconds) against ours while the response came (epoch seconds)."""
    try:
        theirs = parsedate_to_datetime(headed).timestamp()
    except ValueError:
        return Check("clock", State.WARN, "the server tells no time", "Does a proxy remove the header Date?")
    skew = max(0.0, begun - (theirs + 1), theirs - ended)
    detail = "as the server's" if skew < 1 else f"{skew:.0f} s {'before' if theirs < begun else 'behind'} the server's"
    if skew >= SKEW_WARN:
        state = State.FAIL if skew >= SKEW_FAIL else State.WARN
        return Check(
            "clock", state, detail, "Set the clock by NTP on the machine that is wrong: `timedatectl set-ntp true`"
        )
    return Check("clock", State.OK, detail)


def _project(call: Invocation) -> Check:
    try:
        found = call.api.get(call.home)
    except NotFound as error:
        return Check("project", State.FAIL, str(error), "Is the git remote or --project right? `perdure project list`")
    except PerdureError as error:
        return Check("project", State.WARN, str(error), "Go to a working copy, or add --project GROUP/NAME")
    return Check("project", State.OK, f"{found['path_with_namespace']} ({found['web_url']})")


def _git() -> Check:
    place = shutil.which("git")
    if place is None:
        return Check("git", State.FAIL, "not on PATH", "Install git; `apt-get install git`")
    said = subprocess.run([place, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    found = re.search(r"(?<!\d)(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < OLDEST_GIT:
        return Check(
            "git", State.WARN, f"{said} at {place}", f"Update git to {'.'.join(map(str, OLDEST_GIT))} or newer"
        )
    return Check("git", State.OK, f"{said} at {place}")
