"""From the options of `perdure plan` and the checkout to the event that the compiler is told."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from cli.configurations.offline import Sources
from cli.configurations.workplace import UNKNOWN_SHA, Workplace, plain_folder
from cli.pairs import pairs
from domain.config.context import Context, RefKind
from domain.config.plan import Variable
from domain.config.sources import Paths
from domain.errors import Invalid
from domain.projects.ref_names import TAGS, full_ref, short_name
from domain.variables.predefined import EventFacts, MergeRequestFacts, pipeline_variables
from git.working_copy.checkout_answers import CheckoutAnswers

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ANY_ID: Final = 1
"""Numbers of things that exist only on a server; rules ask whether there is one."""


class Source(StrEnum):
    """What makes a pipeline (docs/reference/pipelines.md, "Pipeline sources")."""

    PUSH = "push"
    MERGE_REQUEST = "merge_request_event"
    SCHEDULE = "schedule"
    API = "api"
    WEB = "web"
    TRIGGER = "trigger"
    PIPELINE = "pipeline"
    PARENT_PIPELINE = "parent_pipeline"


SKIPPABLE: Final = frozenset({Source.PUSH, Source.MERGE_REQUEST})
"""Sources for which `[skip ci]` in the commit message counts; the others were asked for by somebody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOptions:
    """What was said about the event. Empty means: take it from the checkout.

    `variables`, `inputs` are `NAME=VALUE`, `projects` are `GROUP/PROJECT=FOLDER`.
    """

    source: Source = Source.PUSH
    ref: str = ""
    tag: bool = False
    message: str | None = None
    base: str = ""
    variables: Sequence[str] = ()
    inputs: Sequence[str] = ()
    changed: Sequence[str] = ()
    projects: Sequence[str] = ()
    remote: bool = True


def context(options: EventOptions, place: Workplace, config_path: str) -> Context:
    """The event as the compiler sees it. Raises `Invalid` for options that are wrong or do not fit together."""
    ref, is_tag = _ref(options, place)
    variables = pairs("--variable", options.variables)
    for name in variables:
        if not _NAME.fullmatch(name):
            raise Invalid(f"--variable {name}=... : a variable's name has only letters, digits and `_`.")
    facts = _facts(options, place, ref, is_tag, config_path)
    return Context(
        source=options.source,
        ref=ref,
        ref_kind=_kind(options.source, is_tag),
        predefined=pipeline_variables(facts),
        pipeline={name: Variable(value) for name, value in variables.items()},
        inputs=pairs("--input", options.inputs),
        project_path=place.project_path,
        parent_job_artifacts=options.source == Source.PARENT_PIPELINE,
    )


def sources(options: EventOptions, place: Workplace, context: Context) -> Sources:
    """Where the compiler's requests are answered from. Raises `Invalid`, `NotFound`."""
    changed: Paths | None = None
    if options.changed:
        changed = Paths(tuple(path.removeprefix("./").lstrip("/") for path in options.changed))
    elif options.source not in SKIPPABLE or context.ref_kind == RefKind.TAG:
        changed = Paths(known=False)
    if options.base and place.checkout.resolve(options.base) is None:
        raise Invalid(
            f"--base {options.base}: {place.checkout.root} has no branch, tag or commit of that name; "
            "fetch it first, or name the changed files with --changed PATH."
        )
    projects = {
        path.strip("/").lower(): CheckoutAnswers(plain_folder(Path(folder)))
        for path, folder in pairs("--project", options.projects).items()
    }
    return Sources(
        here=CheckoutAnswers(place.checkout),
        projects=projects,
        changed=changed,
        base=options.base,
        remote=options.remote,
    )


def message_of(options: EventOptions, place: Workplace) -> str:
    """The commit message in force."""
    return place.message if options.message is None else options.message


def _ref(options: EventOptions, place: Workplace) -> tuple[str, bool]:
    """The short name of the ref, and whether it is a tag."""
    if options.tag and options.source == Source.MERGE_REQUEST:
        raise Invalid("--tag does not go with --event merge_request_event: a merge request has branches; drop one.")
    if options.ref:
        return short_name(options.ref), options.tag or options.ref.startswith(TAGS)
    if not place.ref:
        raise Invalid(
            f"HEAD of {place.checkout.root} is no branch, so the ref is not known; say which one is meant: --ref NAME"
            " (and --tag if it is a tag)."
        )
    if options.tag and not place.is_tag:
        raise Invalid(
            f"--tag needs the name of the tag; {place.checkout.root} is on branch {place.ref}: add --ref NAME."
        )
    return place.ref, place.is_tag and options.source != Source.MERGE_REQUEST


def _full_ref(options: EventOptions, ref: str, is_tag: bool) -> str:
    if options.source == Source.MERGE_REQUEST:
        return f"refs/merge-requests/{_ANY_ID}/head"
    return full_ref(ref, tag=is_tag)


def _kind(source: Source, is_tag: bool) -> RefKind:
    if source == Source.MERGE_REQUEST:
        return RefKind.MERGE_REQUEST
    return RefKind.TAG if is_tag else RefKind.BRANCH


def _facts(options: EventOptions, place: Workplace, ref: str, is_tag: bool, config_path: str) -> EventFacts:
    now = datetime.now(UTC)
    request = None
    if options.source == Source.MERGE_REQUEST:
        request = MergeRequestFacts(
            iid=_ANY_ID,
            id=_ANY_ID,
            source_branch=ref,
            target_branch=place.default_branch,
            title=message_of(options, place).partition("\n")[0],
        )
    upstream = _ANY_ID if options.source in (Source.PIPELINE, Source.PARENT_PIPELINE) else None
    return EventFacts(
        server_url=place.server_url,
        project_id=_ANY_ID,
        project_name=place.project_path.rpartition("/")[2],
        project_path=place.project_path,
        project_url=f"{place.server_url}/{place.project_path}",
        default_branch=place.default_branch,
        pipeline_iid=_ANY_ID,
        pipeline_source=options.source,
        pipeline_created_at=now,
        ref=ref,
        is_tag=is_tag,
        ref_protected=ref == place.default_branch and not is_tag,
        sha=place.sha,
        before_sha=UNKNOWN_SHA,
        commit_message=message_of(options, place),
        commit_author=place.author,
        commit_timestamp=place.committed_at or now,
        config_path=config_path,
        config_ref=f"{config_path}@{_full_ref(options, ref, is_tag)}",
        upstream_project_id=upstream,
        upstream_pipeline_id=upstream,
        merge_request=request,
    )
