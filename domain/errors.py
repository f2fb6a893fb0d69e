"""Every error Perdure raises on purpose.

PerdureError
├── NotFound             the thing does not exist, or the caller may not know of it
├── Unauthenticated      no or an unknown token
├── Forbidden            a known caller that may not do this
│   └── JobNotRunning    a right job token whose job has ended; carries the job's status
├── Refused              the state does not permit it
│   ├── ForbiddenTransition
│   ├── NotAllowed       this is not done with a thing in such a state
│   ├── Taken            a name that may be there once is somebody's; carries whether it is the caller's own
│   └── Unmergeable      what shall be merged does not go together
├── Invalid              the input is wrong; says what and where
│   ├── ParametersInvalid  parameters of a call are missing, or are not what they have to be
│   ├── FieldsInvalid    fields of a thing that is to be stored are wrong; carries the faults of each
│   │   └── PathTaken    a path that something in another pod has
│   ├── Unprocessable    it is well written, and yet cannot be taken
│   ├── ConfigInvalid    `.gitlab-ci.yml` is wrong; carries every issue
│   ├── ConfigMissing    there is no `.gitlab-ci.yml`
│   ├── AmbiguousRef     a short name that a branch and a tag have
│   └── PipelineFiltered the rules leave no job, or no pipeline; carries the failure reason
├── TooLarge             a size limit, named
├── OutOfOrder           a log chunk that does not start where the log ends; carries the size and the job's status
├── TraceMismatch        the log's checksum differs; the runner is asked to send it again
├── StorageFull          no room left for logs or artifacts
├── TooMany              somebody did something too often; carries the limit and when they may again
└── Unavailable          a part of Perdure is away; try again later
    └── TooLong          the database would need more time for this than anybody may take from others

`api.errors` maps them to HTTP once; nothing here knows a status code.
"""

from datetime import datetime
from functools import partial

from domain.config.issue import ConfigIssue
from domain.config.plan import Plan


class PerdureError(Exception):
    """Base of all errors raised on purpose; its text is fit to be shown to the user."""


class NotFound(PerdureError):
    """The thing does not exist, or the caller may not know that it does."""


class Unauthenticated(PerdureError):
    """No token, or one that nobody knows."""


class Forbidden(PerdureError):
    """A known caller that may not do this."""


class JobNotRunning(Forbidden):
    """A job token that was right once; `status` is what became of the job."""

    def __init__(self, message: str, status: str) -> None:
        """Keep the status so that the runner can be told in `Job-Status`."""
        super().__init__(message)
        self.status = status


class Refused(PerdureError):
    """The state of things does not permit the operation; nothing was changed."""


class ForbiddenTransition(Refused):
    """A status that cannot follow another one by the transition table."""


class NotAllowed(Refused):
    """This is not done with a thing in such a state, whoever asks."""


class Taken(Refused):
    """A name that there may be once in a cluster is somebody's; `own`: the caller's, by another claim."""

    def __init__(self, own: bool) -> None:
        """Say no more than that: whose it is concerns nobody else."""
        super().__init__("taken")
        self.own = own

    def __reduce__(self) -> tuple[type["Taken"], tuple[bool]]:
        """Come back whole from another process."""
        return Taken, (self.own,)


class Unmergeable(Refused):
    """What shall be merged does not go together, or must not."""


class Invalid(PerdureError):
    """Input that is wrong; the text says what, where and what to do."""


class FieldsInvalid(Invalid):
    """Fields that cannot be stored; `faults` says of each field what is wrong, in GitLab's words."""

    def __init__(self, **faults: str) -> None:
        """Take one fault a field."""
        super().__init__(", ".join(f"{name} {fault}" for name, fault in faults.items()))
        self.faults = faults

    def __reduce__(self) -> tuple[partial["FieldsInvalid"], tuple[()]]:
        """Come back whole from another process."""
        return partial(type(self), **self.faults), ()


class PathTaken(FieldsInvalid):
    """A path that something in another pod has, or is about to have."""


class ParametersInvalid(Invalid):
    """Parameters of a call that are missing, or are not what they have to be."""


class Unprocessable(Invalid):
    """Input that is well written and yet cannot be taken; GitLab tells it apart."""


class ConfigInvalid(Invalid):
    """A CI configuration with faults; `issues` holds all of them, in the order of the text."""

    def __init__(self, issues: tuple[ConfigIssue, ...]) -> None:
        """Take every issue that was found, at least one."""
        super().__init__("; ".join(str(issue) for issue in issues))
        self.issues = issues

    def __reduce__(self) -> tuple[type["ConfigInvalid"], tuple[tuple[ConfigIssue, ...]]]:
        """Come back whole from another process."""
        return ConfigInvalid, (self.issues,)


class AmbiguousRef(Invalid):
    """A short name that a branch and a tag have: whoever gives it may mean either."""

    def __init__(self, name: str) -> None:
        """Say by which names each of the two can be told."""
        super().__init__(
            f"`{name}` is the name of a branch and of a tag. Say `refs/heads/{name}` or `refs/tags/{name}`, "
            "or remove one of them."
        )
        self.name = name

    def __reduce__(self) -> tuple[type["AmbiguousRef"], tuple[str]]:
        """Come back whole from another process."""
        return AmbiguousRef, (self.name,)


class ConfigMissing(Invalid):
    """A commit without a CI configuration."""


class PipelineFiltered(Invalid):
    """A right configuration whose rules leave nothing to run; no pipeline is made.

    `reason` is `filtered_by_rules` or `filtered_by_workflow_rules`, as in GitLab; `plan` tells why each job is absent.
    """

    def __init__(self, message: str, reason: str, plan: Plan) -> None:
        """Keep the failure reason and the plan, which has no jobs or only some at the edges."""
        super().__init__(message)
        self.reason = reason
        self.plan = plan

    def __reduce__(self) -> tuple[type["PipelineFiltered"], tuple[str, str, Plan]]:
        """Come back whole from another process."""
        return PipelineFiltered, (str(self), self.reason, self.plan)


class TooLarge(PerdureError):
    """More bytes than a limit allows; the text names limit and setting."""


class OutOfOrder(PerdureError):
    """A log chunk that does not start where the stored log ends; `size` is that end in bytes.

    `status` is that of the job: a runner hears of a cancel request by any answer.
    """

    def __init__(self, message: str, size: int, status: str) -> None:
        """Keep the size, which the runner needs to resume."""
        super().__init__(message)
        self.size = size
        self.status = status


class TraceMismatch(PerdureError):
    """The stored log is not what the runner says it sent; it shall send all of it again."""


class StorageFull(PerdureError):
    """No room left for what was sent; nothing of it was acknowledged."""


class TooMany(PerdureError):
    """Somebody did something too often; they may again at `resets_at`, in `reset_in` seconds.

    `name` is that of the limit, `observed` how often they did it in the window.
    """

    def __init__(self, name: str, limit: int, observed: int, reset_in: float, resets_at: datetime) -> None:
        """Keep what the answer tells of the limit."""
        super().__init__("This endpoint has been requested too many times. Try again later.")
        self.name = name
        self.limit = limit
        self.observed = observed
        self.reset_in = reset_in
        self.resets_at = resets_at


class Unavailable(PerdureError):
    """A part that is needed is away; the same call may succeed in `retry_after` seconds."""

    def __init__(self, message: str, retry_after: int = 5) -> None:
        """Say when to come back, in seconds."""
        super().__init__(message)
        self.retry_after = retry_after


class TooLong(Unavailable):
    """The database would need more than these seconds for what is asked: nothing of it was done."""

    def __init__(self, seconds: float) -> None:
        """Say how to ask for less."""
        super().__init__(
            f"The database needs more than {seconds:g} s for this, so it was stopped: others want to be served, too. "
            "Ask for less (a smaller page, a shorter time, one project), or try again when less is going on.",
            retry_after=60,
        )
        self.seconds = seconds

    def __reduce__(self) -> tuple[type["TooLong"], tuple[float]]:
        """Come back whole from another process."""
        return TooLong, (self.seconds,)
