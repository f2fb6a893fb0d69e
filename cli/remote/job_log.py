"""What `perdure job log` prints, and how it ends."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cli.exit_codes import ExitCode
from cli.output import has_colour
from cli.remote import stored_log
from cli.remote.documents import LOG_PART, document
from cli.remote.invocation import Invocation
from cli.remote.log_follow import LogFollower
from cli.remote.log_text import LogText
from cli.remote.moments import moment
from cli.remote.outage import Deadline
from cli.states import of_job
from domain.errors import Invalid
from domain.pipelines.status import COMPLETE


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What of a log is wanted, and how. `follow` is None where nobody said."""

    follow: bool | None = None
    tail: int | None = None
    since: str = ""
    raw: bool = False
    pager: bool = True
    timeout: float | None = None
    patience: float = 600.0


def print_log(call: Invocation, job: dict[str, Any], options: LogOptions) -> ExitCode:
    """Print a log; when it is followed, the exit code is that of the job."""
    if options.raw and call.out.as_json:
        raise Invalid("--raw does not go with --json; drop one.")
    running = job["status"] not in COMPLETE
    follows = options.follow if options.follow is not None else running and call.out.is_terminal
    begin = _begin(call, job["id"], options)
    if not follows:
        if begin is not None:
            _print_stored(call, job["id"], begin, options)
        return ExitCode.OK
    if begin is None:
        begin = stored_log.tail_offset(call, job["id"], 0)
    return _follow(call, job, begin, options)


def _begin(call: Invocation, job_id: int, options: LogOptions) -> int | None:
    """The byte to begin with; None when there is nothing."""
    if options.since:
        return stored_log.since_offset(call, job_id, moment("--since", options.since, call.now))
    return 0 if options.tail is None else stored_log.tail_offset(call, job_id, options.tail)


def _print_stored(call: Invocation, job_id: int, begin: int, options: LogOptions) -> None:
    parts = stored_log.read(call, job_id, begin)
    if options.raw:
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        return
    if call.out.as_json:
        for offset, text in stored_log.decoded(parts, begin):
            call.out.document(document(LOG_PART, {"offset": offset, "text": text}))
        return
    cleaned = _cleaned(call, (text for _, text in stored_log.decoded(parts)))
    if call.out.is_terminal and options.pager:
        from cli.remote.pager import page

        if page(cleaned):
            return
    for piece in cleaned:
        sys.stdout.write(piece)
    sys.stdout.flush()


def _follow(call: Invocation, job: dict[str, Any], begin: int, options: LogOptions) -> ExitCode:
    deadline = Deadline(options.timeout, f"Job {job['id']}")
    follower = LogFollower(call, job["id"], deadline, options.patience, begin)
    if job["status"] in COMPLETE and not job["started_at"]:
        call.out.words(f"Job {job['id']} ({job['name']}) never ran: it is {of_job(job).label}.")
        return ExitCode.FAILED
    if job["status"] == "manual":
        call.out.words(f"Job {job['id']} ({job['name']}) waits for a person: `perdure job play {job['id']}`")
        return ExitCode.WAITS
    if not job["started_at"] and job["status"] not in COMPLETE:
        call.out.words(
            f"The job is {of_job(job).label}; its log follows when it runs. {job['stuck_reason'] or ''}".rstrip()
        )
    text = _text_of(call)
    write = _writer(call, options, text)
    for offset, part in follower.parts():
        write(offset, part)
    if not (call.out.as_json or options.raw):
        sys.stdout.write(text.end())
    sys.stdout.flush()
    ended = follower.job()
    call.out.words(f"Job {job['id']} ({job['name']}): {of_job(ended).label}")
    return ExitCode.OK if ended["status"] == "success" else ExitCode.FAILED


def _writer(call: Invocation, options: LogOptions, text: LogText) -> Callable[[int, str], None]:
    def write(offset: int, part: str) -> None:
        if call.out.as_json:
            call.out.document(document(LOG_PART, {"offset": offset, "text": part}))
            return
        sys.stdout.write(part if options.raw else text.feed(part))
        sys.stdout.flush()

    return write


def _text_of(call: Invocation) -> LogText:
    return LogText(terminal=call.out.is_terminal, colour=has_colour(sys.stdout, no_color=call.out.no_color))


def _cleaned(call: Invocation, pieces: Iterator[str]) -> Iterator[str]:
    text = _text_of(call)
    for piece in pieces:
        yield text.feed(piece)
    yield text.end()
