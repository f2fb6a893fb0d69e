"""What a merge request is and may become: states, drafts, what stands in the way of its merge, its refs and messages.

Source of the rules: GitLab's documentation of the merge requests API ("Merge status"), of merge methods and of merge
request pipelines.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

REFS: Final = "refs/merge-requests/"
"""Refs below it are written by the server only."""
MAX_TITLE: Final = 255
MAX_DESCRIPTION: Final = 1_048_576
CONFLICTS: Final = "Conflicts detected during merge"


class State(StrEnum):
    """A locked one is being merged at this moment."""

    OPENED = "opened"
    LOCKED = "locked"
    MERGED = "merged"
    CLOSED = "closed"


OPEN: Final = frozenset({State.OPENED, State.LOCKED})
"""States in which another one of the same branches must not be opened."""


class EventType(StrEnum):
    """What a pipeline of a merge request tests: the branch alone, its merge, or its merge upon others of a train."""

    DETACHED = "detached"
    MERGED_RESULT = "merged_result"
    TRAIN = "merge_train"


_LAST_PART: Final[Mapping[EventType, str]] = {
    EventType.DETACHED: "head",
    EventType.MERGED_RESULT: "merge",
    EventType.TRAIN: "train",
}


def ref_of(iid: int, event_type: EventType) -> str:
    """The ref in the target's repository that a pipeline of this kind runs on."""
    return f"{REFS}{iid}/{_LAST_PART[event_type]}"


def branch_of(ref: str, facts: Mapping[str, Any]) -> str:
    """The branch that a pipeline's ref stands for: of one with the facts of a merge request, its source branch."""
    return str(facts["source_branch"]) if facts else ref


def own_branch_of(ref: str, facts: Mapping[str, Any]) -> str:
    """The same where the name must be that of the project's own branch: one of a fork is told by the ref's full name.

    A fork may call its branch like a protected one of the project.
    """
    return branch_of(ref, facts) if facts and not facts["source_project_path"] else ref


def tested_target(facts: Mapping[str, Any]) -> str:
    """The head of the target branch that a pipeline was merged with, by its facts; "" where it tests a branch alone."""
    return str(facts.get("target_sha") or "")


class MergeMethod(StrEnum):
    """How a project merges: always by a commit; by one, of branches that are rebased; by moving the branch only."""

    MERGE = "merge"
    REBASE_MERGE = "rebase_merge"
    FAST_FORWARD = "ff"


class SquashOption(StrEnum):
    """Whether a project lets the commits of a merge request become one."""

    NEVER = "never"
    ALWAYS = "always"
    DEFAULT_ON = "default_on"
    DEFAULT_OFF = "default_off"


def squashes(option: str, wanted: bool | None) -> bool:
    """Whether to squash where a `SquashOption` is set, when somebody wants it, does not, or has not said."""
    match SquashOption(option):
        case SquashOption.NEVER:
            return False
        case SquashOption.ALWAYS:
            return True
        case SquashOption.DEFAULT_ON:
            return wanted is not False
        case SquashOption.DEFAULT_OFF:
            return wanted is True


class AutoMerge(StrEnum):
    """What happens to a merge request by itself as soon as nothing is in its way any more."""

    NONE = ""
    MERGE = "merge_when_checks_pass"
    TRAIN = "add_to_merge_train_when_checks_pass"


_DRAFT: Final = re.compile(r"^\s*(\[draft\]|\(draft\)|draft:)\s*", re.IGNORECASE)


def is_draft(title: str) -> bool:
    """Whether a title says that the work goes on."""
    return _DRAFT.match(title) is not None


def with_draft(title: str, draft: bool) -> str:
    """The title of a draft, or of what is none any more."""
    if draft:
        return title if is_draft(title) else f"Draft: {title}"
    while is_draft(title):
        title = _DRAFT.sub("", title, count=1)
    return title


class Blocker(StrEnum):
    """Values of `detailed_merge_status`: what stands in the way of a merge, if anything does."""

    MERGEABLE = "mergeable"
    NOT_OPEN = "not_open"
    DRAFT = "draft_status"
    NO_COMMITS = "commits_status"
    NOT_APPROVED = "not_approved"
    NOT_RESOLVED = "discussions_not_resolved"
    CI_RUNNING = "ci_still_running"
    CI_MUST_PASS = "ci_must_pass"  # noqa: S105  (no password)
    CHECKING = "checking"
    CONFLICT = "conflict"
    NEEDS_REBASE = "need_rebase"


OF_GIT: Final = frozenset({Blocker.CHECKING, Blocker.CONFLICT, Blocker.NEEDS_REBASE})
"""What only git can see; all else is the state of the merge request."""
OF_CI: Final = frozenset({Blocker.CI_RUNNING, Blocker.CI_MUST_PASS})
_PASSED: Final = frozenset({"success"})
_RUNNING: Final = frozenset(
    {"created", "waiting_for_resource", "preparing", "pending", "running", "canceling", "manual", "scheduled"}
)


@dataclass(frozen=True, slots=True)
class Standing:
    """All that decides whether a merge request may be merged.

    `resolved` is whether all threads are. `pipeline` is the status of the head pipeline, empty for none.
    `goes_together` is None while nobody has looked; `contains_target` says whether the source branch has all commits of
    the target's.
    """

    state: State
    draft: bool = False
    has_commits: bool = True
    approvals_missing: int = 0
    resolved: bool = True
    resolved_required: bool = False
    pipeline: str = ""
    pipeline_required: bool = False
    skipped_is_enough: bool = False
    goes_together: bool | None = None
    contains_target: bool = True
    method: MergeMethod = MergeMethod.MERGE

    @property
    def is_running(self) -> bool:
        """Whether the head pipeline has not ended."""
        return self.pipeline in _RUNNING


def blockers(standing: Standing) -> tuple[Blocker, ...]:
    """Everything that stands in the way, in the order in which people should see to it."""
    found = {
        Blocker.NOT_OPEN: standing.state is not State.OPENED,
        Blocker.DRAFT: standing.draft,
        Blocker.NO_COMMITS: not standing.has_commits,
        Blocker.NOT_APPROVED: standing.approvals_missing > 0,
        Blocker.NOT_RESOLVED: standing.resolved_required and not standing.resolved,
        Blocker.CI_RUNNING: standing.pipeline_required and standing.is_running,
        Blocker.CI_MUST_PASS: standing.pipeline_required and not standing.is_running and not _passed(standing),
        Blocker.CHECKING: standing.goes_together is None,
        Blocker.CONFLICT: standing.goes_together is False,
        Blocker.NEEDS_REBASE: standing.method is not MergeMethod.MERGE and not standing.contains_target,
    }
    return tuple(blocker for blocker, there in found.items() if there)


def detailed_status(standing: Standing) -> Blocker:
    """The first thing that stands in the way."""
    return next(iter(blockers(standing)), Blocker.MERGEABLE)


def _passed(standing: Standing) -> bool:
    return standing.pipeline in _PASSED or (standing.skipped_is_enough and standing.pipeline == "skipped")


class Turn(StrEnum):
    """What becomes of a merge request that is to be merged by itself."""

    WAIT = "wait"
    MERGE = "merge"
    GIVE_UP = "give up"


_HOPELESS: Final = frozenset({Blocker.NOT_OPEN, Blocker.NO_COMMITS, Blocker.CONFLICT, Blocker.NEEDS_REBASE})


def auto_merge_turn(standing: Standing) -> Turn:
    """What becomes of one that waits for its pipeline, its approvals or the end of being a draft.

    A pipeline that fails may be retried, so it is waited for; new commits take the request away elsewhere.
    """
    found = frozenset(blockers(standing))
    if found & _HOPELESS:
        return Turn.GIVE_UP
    if found or standing.is_running or (standing.pipeline and not _passed(standing)):
        return Turn.WAIT
    return Turn.MERGE


def merge_message(source: str, target: str, title: str, reference: str) -> str:
    """The message of a merge commit, by GitLab's template; `source` names the branch, with the fork's path."""
    return f"Merge branch '{source}' into '{target}'\n\n{title}\n\nSee merge request {reference}"


def merged_result_message(head_sha: str, target_sha: str) -> str:
    """The message of a commit that is only made to be tested."""
    return f"Merge {head_sha} into {target_sha}"


def may_use_secrets(*, same_project: bool, source_protected: bool, target_protected: bool, may_run_both: bool) -> bool:
    """Whether the pipeline of a merge request counts as one of a protected ref.

    One from a fork never does, whoever runs it: its configuration and its scripts are those of the fork.
    """
    return same_project and source_protected and target_protected and may_run_both


def changed_labels(old: Collection[str], add: Collection[str] = (), remove: Collection[str] = ()) -> list[str]:
    """Labels after some came and some went; each once, in their order."""
    return [label for label in dict.fromkeys([*old, *add]) if label and label not in set(remove)]
