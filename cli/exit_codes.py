"""What the exit status of every command says; one table (docs/command-line.md, "Exit status")."""

from enum import IntEnum

from domain.errors import Forbidden, Invalid, NotFound, PerdureError, PipelineFiltered, Unauthenticated, Unavailable


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    """It was done, or everything that was asked about is well."""
    FAILED = 1
    """The job, the pipeline or the command failed."""
    USAGE = 2
    """The command line or a setting is wrong."""
    NOT_FOUND = 3
    """What was named does not exist."""
    AUTH = 4
    """No token, a wrong one, or one that may not do this."""
    UNREACHABLE = 5
    """The server cannot be reached."""
    WAITS = 6
    """The pipeline or the job waits for a person, who has to start a manual job."""
    TIMED_OUT = 124
    """It was not done in time."""


class TimedOut(PerdureError):
    """What a command waited for did not come true in its time."""


CODES: tuple[tuple[type[PerdureError], ExitCode], ...] = (
    (PipelineFiltered, ExitCode.FAILED),
    (Invalid, ExitCode.USAGE),
    (NotFound, ExitCode.NOT_FOUND),
    (Unauthenticated, ExitCode.AUTH),
    (Forbidden, ExitCode.AUTH),
    (Unavailable, ExitCode.UNREACHABLE),
    (TimedOut, ExitCode.TIMED_OUT),
)


def exit_code(error: PerdureError) -> ExitCode:
    """The exit status for an error; FAILED if it has no row of its own."""
    return next((code for kind, code in CODES if isinstance(error, kind)), ExitCode.FAILED)
