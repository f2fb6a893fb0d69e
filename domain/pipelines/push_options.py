"""What the options of a push ask for (`git push -o <option>`), and those that are not carried out.

Source of the rules: GitLab's documentation, "Push options".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from domain.config.reading.spelling import nearest

NO_EFFECT: Final = {
    "merge_request.assign": "assign people over the REST API (`assignee_ids` of the merge request)",
    "merge_request.unassign": "change `assignee_ids` of the merge request over the REST API",
    "merge_request.milestone": "a push sets no milestone",
    "integrations.skip_ci": "nothing but Perdure itself makes pipelines",
    "secret_push_protection.skip_all": "pushes are not searched for secrets",
    "security_policy.bypass_reason": "there are no security policies",
}
"""Options of GitLab's that change nothing here, with what to do instead or why none is needed."""
OF_CI: Final = frozenset({"ci.skip", "ci.no_pipeline", "ci.variable", "ci.input"})
_OF_MERGE_REQUESTS: Final = frozenset(
    {
        "merge_request.create",
        "merge_request.target",
        "merge_request.target_project",
        "merge_request.title",
        "merge_request.description",
        "merge_request.draft",
        "merge_request.label",
        "merge_request.unlabel",
        "merge_request.merge_when_pipeline_succeeds",
        "merge_request.auto_merge",
        "merge_request.remove_source_branch",
    }
)
CARRIED_OUT: Final = OF_CI | _OF_MERGE_REQUESTS
_KNOWN: Final = sorted({*CARRIED_OUT, *NO_EFFECT})
_OFTEN: Final = frozenset(
    {"ci.variable", "ci.input"} | {f"merge_request.{name}" for name in ("label", "unlabel", "assign", "unassign")}
)
"""Options that may be given several times, each with another value."""
_SHORT, _LONG = "mr.", "merge_request."
"""GitLab takes `mr.create` for `merge_request.create`."""
_MAX_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class MergeRequestOptions:
    """What is asked of the merge request of each pushed branch; None and empty texts stand for what was not said."""

    create: bool = False
    target: str = ""
    target_project: str = ""
    title: str = ""
    description: str | None = None
    draft: bool = False
    labels: Sequence[str] = field(default_factory=tuple)
    unlabels: Sequence[str] = field(default_factory=tuple)
    auto_merge: bool = False
    remove_source_branch: bool | None = None


def merge_request_options(options: Sequence[str]) -> MergeRequestOptions | None:
    """What a push says of merge requests; None if nothing. Of an option that may be given once, the last one counts."""
    given = [(name, value) for name, value in map(_read, options) if name in _OF_MERGE_REQUESTS]
    if not given:
        return None
    last = {name.removeprefix(_LONG): value for name, value in given}
    remove = last.get("remove_source_branch")
    description = last.get("description")
    return MergeRequestOptions(
        create=_is_on(last, "create"),
        target=last.get("target", ""),
        target_project=last.get("target_project", ""),
        title=last.get("title", ""),
        description=None if description is None else description.replace("\\n", "\n"),
        draft=_is_on(last, "draft"),
        labels=tuple(value for name, value in given if name == "merge_request.label"),
        unlabels=tuple(value for name, value in given if name == "merge_request.unlabel"),
        auto_merge=_is_on(last, "merge_when_pipeline_succeeds") or _is_on(last, "auto_merge"),
        remove_source_branch=None if remove is None else remove != "false",
    )


def lines_on_ignored(options: Sequence[str]) -> list[str]:
    """One line for each option that changes nothing, with the nearest one that is known."""
    lines = []
    for name in dict.fromkeys(name for name, _ in map(_read, options)):
        shown = f"The push option {name[:_MAX_SHOWN]!r}"
        if name in NO_EFFECT:
            lines.append(f"{shown} is not part of Perdure and changes nothing: {NO_EFFECT[name]}.")
        elif name not in CARRIED_OUT:
            lines.append(f"{shown} is not known and changes nothing{nearest([name], _KNOWN)}")
    return lines


def told_options(options: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The options that GitLab knows as webhooks tell them: by name space and key; what has no value is true.

    Of those that may be given often each value has the number of times it was given.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, value in map(_read, options):
        if name in _KNOWN:
            space, _, key = name.partition(".")
            given = found.setdefault(space, {})
            if name in _OFTEN:
                counts = given.setdefault(key, {})
                counts[value] = counts.get(value, 0) + 1
            else:
                given[key] = value or True
    return found


def _read(option: str) -> tuple[str, str]:
    name, _, value = option.partition("=")
    name = name.strip()
    if name.startswith(_SHORT):
        name = _LONG + name.removeprefix(_SHORT)
    return name, value.strip().strip('"')


def _is_on(given: dict[str, str], name: str) -> bool:
    return given.get(name, "false") != "false"
