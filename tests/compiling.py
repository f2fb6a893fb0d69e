"""Compiling a text for an event, with the files of a small repository that is only a mapping."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from domain.config.compile import compile_config
from domain.config.context import Context, RefKind
from domain.config.plan import Plan, Variable
from domain.config.reading.parsed_files import ParsedFiles
from domain.config.rounds import in_rounds
from domain.config.sources import (
    Absent,
    Answer,
    ChangedPaths,
    Fetched,
    LocalFile,
    Origin,
    Paths,
    Request,
    TemplateFile,
    Tree,
)
from domain.projects.config_place import config_ref
from domain.projects.ref_names import full_ref
from domain.variables.predefined import EventFacts, MergeRequestFacts, pipeline_variables
from includes import templates

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
SHA = "5" * 40
KNOWN_REFS = ("", "main", "refs/heads/main", "other", SHA)


def plan_of(
    text: str,
    *,
    files: Mapping[str, str] | None = None,
    changed: Sequence[str] | None = None,
    file: str = ".gitlab-ci.yml",
    parsed: ParsedFiles | None = None,
    **event: Any,
) -> Plan:
    """The plan of a text; `event` is what `context_of` takes. Raises `ConfigInvalid`, `PipelineFiltered`."""
    context = context_of(**event)
    has_diff = context.source in {"push", "merge_request_event"} and context.ref_kind != RefKind.TAG

    def answer(request: Request) -> Answer:
        if isinstance(request, ChangedPaths) and not request.compare_to and not has_diff:
            return Paths(known=False)
        refs = (*KNOWN_REFS, context.ref, f"refs/heads/{context.ref}")
        return answer_from(request, files or {}, changed, refs)

    return in_rounds(lambda known: compile_config(text, context, known, file=file, parsed=parsed), answer)


def answer_from(
    request: Request, files: Mapping[str, str], changed: Sequence[str] | None, refs: Sequence[str]
) -> Answer:
    """What a repository with these files says, and the templates; it knows no other projects and no addresses."""
    match request:
        case LocalFile(path=path) if path in files:
            return Fetched(files[path])
        case TemplateFile(name=name) if (text := templates.load(name)) is not None:
            return Fetched(text, Origin(detached=True))
        case Tree(project=""):
            return Paths(tuple(files))
        case ChangedPaths(compare_to=ref) if ref in refs:
            return Paths(tuple(changed or ()), known=changed is not None)
        case _:
            return Absent()


def context_of(
    *,
    source: str = "push",
    ref: str = "main",
    kind: str = "branch",
    variables: Mapping[str, str] | None = None,
    message: str = "Change something",
    project: str = "group/project",
    server: str = "https://perdure.example",
) -> Context:
    """An event in a project whose default branch is `main`."""
    facts = EventFacts(
        server_url=server,
        project_id=1,
        project_name="Project",
        project_path=project,
        project_url=f"{server}/{project}",
        default_branch="main",
        pipeline_iid=1,
        pipeline_source=source,
        pipeline_created_at=MOMENT,
        ref=ref,
        is_tag=kind == "tag",
        ref_protected=ref == "main",
        sha=SHA,
        before_sha="0" * 40,
        commit_message=message,
        commit_author="Ada <ada@example.com>",
        commit_timestamp=MOMENT,
        user_id=1,
        user_login="ada",
        config_ref=config_ref("", "", full_ref(ref, tag=kind == "tag")),
        schedule_description="Every night" if source == "schedule" else "",
        merge_request=(
            MergeRequestFacts(iid=1, id=1, source_branch=ref, target_branch="main")
            if source == "merge_request_event"
            else None
        ),
    )
    return Context(
        source=source,
        ref=ref,
        ref_kind=RefKind.MERGE_REQUEST if source == "merge_request_event" else RefKind(kind),
        predefined=pipeline_variables(facts),
        pipeline={name: Variable(value) for name, value in (variables or {}).items()},
        project_path=project,
    )
