"""Plans of events that happened lately: the next pipeline of the same event reads and compiles nothing."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from domain.config.plan import Plan
from models.repositories.pipelines.pipelines import PipelineRequest
from models.rows.projects import ProjectRow

Known: TypeAlias = tuple[dict[str, str], Plan, str]
"""Facts of a commit, what its configuration compiles to, and where that came from."""

MAX_EVENTS: Final = 64
MAX_JOBS: Final = 2_000
"""A larger plan is not kept: it would take more memory than it saves time."""
MAX_TEXT: Final = 20_000
"""Characters of values; with more, such as the payload of a webhook, an event will hardly come again."""

_OF_PROJECT: Final = (
    "id full_path name description namespace_id default_branch visibility config_path auto_devops_enabled".split()
)

CHANGING: Final = frozenset(
    {
        "CI_PIPELINE_IID",
        "CI_PIPELINE_CREATED_AT",
        "CI_UPSTREAM_PROJECT_ID",
        "CI_UPSTREAM_PIPELINE_ID",
        "CI_UPSTREAM_JOB_ID",
    }
)
"""Variables that differ between two events that are the same otherwise."""


@dataclass(frozen=True, slots=True)
class Event:
    """Everything that a plan depends on: the commit, the event, and what the project and the user are called.

    `config` is the text of a configuration that is not a file of the commit. `owners` differs when a variable of the
    instance, of a group or of the project was changed. `schedule` is the description of a schedule, `origin` what else
    the event brings.
    """

    project: tuple[Any, ...]
    user_id: int
    sha: str
    before_sha: str
    ref: str
    tag: bool
    source: str
    variables: tuple[tuple[str, str, bool], ...]
    inputs: tuple[tuple[str, str], ...]
    config: str = ""
    ref_protected: bool = False
    owners: tuple[tuple[int, str], ...] = ()
    schedule: str = ""
    origin: str = ""
    merge_request: str = ""
    open_merge_requests: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, request: PipelineRequest, project: ProjectRow, config: str = "", owners: tuple[tuple[int, str], ...] = ()
    ) -> "Event":
        """The event of a request; `owners` the edition of all variables that reach it."""
        return cls(
            project=(*(getattr(project, name) for name in _OF_PROJECT), *project.languages),
            user_id=request.user_id,
            sha=request.sha,
            before_sha=request.before_sha,
            ref=request.ref,
            tag=request.tag,
            source=request.source,
            variables=tuple((item["key"], item["value"], bool(item.get("raw"))) for item in request.variables),
            inputs=tuple((name, repr(value)) for name, value in request.inputs.items()),
            config=config,
            ref_protected=request.ref_protected,
            owners=owners,
            schedule=request.schedule_description,
            origin=repr(sorted(request.origin.items())) if request.origin else "",
            merge_request=repr(sorted(request.merge_request.items())) if request.merge_request else "",
            open_merge_requests=request.open_merge_requests,
        )


def is_lasting(plan: Plan) -> bool:
    """Whether the same event will compile to the same plan again."""
    return plan.lasting and not plan.reads & CHANGING


class PlanCache:
    """The events that happened last."""

    def __init__(self) -> None:
        """Begin empty."""
        self._known: OrderedDict[Event, Known] = OrderedDict()

    def get(self, event: Event) -> Known | None:
        """What is known of an event."""
        known = self._known.get(event)
        if known is not None:
            self._known.move_to_end(event)
        return known

    def put(self, event: Event, known: Known) -> None:
        """Keep what an event compiled to."""
        if len(known[1].jobs) > MAX_JOBS or sum(len(value) for _, value, _ in event.variables) > MAX_TEXT:
            return
        self._known[event] = known
        if len(self._known) > MAX_EVENTS:
            self._known.popitem(last=False)
