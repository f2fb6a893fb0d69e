"""`perdure pipeline`: list, show, watch, run, retry, cancel and explain pipelines."""

from datetime import UTC
from typing import Annotated, Any, Final

import typer

from cli.output import Cell, state_cell
from cli.pairs import pairs
from cli.remote import completion
from cli.remote.documents import PIPELINE, PIPELINE_DETAILS, WHY, document, documents
from cli.remote.invocation import Invocation, verb
from cli.remote.moments import ago, duration, moment, span
from cli.remote.outage import PATIENCE
from cli.remote.pipeline_jobs import details_of, pipeline_of
from cli.states import of_job, of_pipeline
from domain.pipelines.shown_status import status_named

app = typer.Typer(help="Run, watch, retry and explain pipelines.", no_args_is_help=True)

PipelineArgument = Annotated[
    str,
    typer.Argument(
        help="Number or address. Default: the newest of the branch that is checked out.",
        show_default=False,
        autocompletion=completion.pipelines,
    ),
]
TimeoutOption = Annotated[str, typer.Option("--timeout", help="Give up (124) after this time: 90s, 30m, 2h.")]
PatienceOption = Annotated[str, typer.Option("--patience", help="How long the server may be away meanwhile.")]
VariablesOption = Annotated[
    list[str] | None, typer.Option("--var", "--variable", metavar="NAME=VALUE", help="A variable of the pipeline.")
]
_SHORT_SHA: Final = 8


@verb(app, "list")
def list_pipelines(
    call: Invocation,
    ref: Annotated[str, typer.Option("--ref", help="Of this branch or tag.", autocompletion=completion.refs)] = "",
    status: Annotated[str, typer.Option("--status", help="In this state: running, failed, ...")] = "",
    source: Annotated[str, typer.Option("--source", help="Made by: push, schedule, api, ...")] = "",
    since: Annotated[str, typer.Option("--since", help="Changed since: 2h, 1d, or a time.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 20,
) -> None:
    """List pipelines, newest first."""
    wanted: dict[str, Any] = {"ref": ref, "status": status_named(status), "source": source}
    if since:
        wanted["updated_after"] = moment("--since", since, call.now).astimezone(UTC).isoformat()
    wanted = {name: value for name, value in wanted.items() if value}
    with call.naming(f"project {call.project}", "perdure project list"):
        found = documents(PIPELINE, call.api.listed(f"{call.home}/pipelines", limit, **wanted))
    if call.out.as_json:
        call.out.document(found)
        return
    rows = (
        [
            str(one["id"]),
            state_cell(of_pipeline(one), one["status"]),
            one["ref"],
            one["sha"][:_SHORT_SHA],
            one["source"] or "",
            ago(one["created_at"], call.now) if call.out.is_terminal else one["created_at"] or "",
        ]
        for one in found
    )
    call.out.table(
        ("id", "state", "ref", "commit", "source", "made"), rows, "There are none. Next: `perdure pipeline run`."
    )


@verb(app, "show")
def show_pipeline(call: Invocation, pipeline: PipelineArgument = "") -> None:
    """Show a pipeline and its jobs."""
    found = details_of(call, pipeline_of(call, pipeline))
    _show(call, found)


@verb(app, "watch")
def watch_pipeline(
    call: Invocation, pipeline: PipelineArgument = "", timeout: TimeoutOption = "", patience: PatienceOption = PATIENCE
) -> None:
    """Follow a pipeline to its end, over restarts of the server: exit 0 if it succeeded, 1 if not, 6 at a gate."""
    _watch(call, pipeline_of(call, pipeline), timeout, patience)


@verb(app, "run")
def run_pipeline(
    call: Invocation,
    ref: Annotated[
        str,
        typer.Option("--ref", help="Branch or tag. Default: what is checked out.", autocompletion=completion.refs),
    ] = "",
    variables: VariablesOption = None,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="NAME=VALUE", help="A value for an input of the file.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Follow it to its end.")] = False,
    timeout: TimeoutOption = "",
    patience: PatienceOption = PATIENCE,
) -> None:
    """Start a pipeline; prints its address, or with --watch what becomes of it."""
    given = [{"key": name, "value": value} for name, value in pairs("--var", variables or ()).items()]
    values = pairs("--input", inputs or ())
    with call.naming(f"project {call.project}", "perdure project list"):
        wanted = ref or call.ref or call.api.get(call.home)["default_branch"]
        made = call.api.post(
            f"{call.home}/pipeline", ref=wanted, variables=given, **({"inputs": values} if values else {})
        )
    call.out.words(f"Started pipeline {made['id']} of {wanted}: {made['web_url']}")
    if watch:
        _watch(call, made["id"], timeout, patience)
    if call.out.as_json:
        call.out.document(document(PIPELINE_DETAILS, made))
    else:
        call.out.data(made["web_url"])


@verb(app, "retry")
def retry_pipeline(call: Invocation, pipeline: PipelineArgument = "") -> None:
    """Run the failed and canceled jobs of a pipeline again."""
    _ask(call, pipeline, "retry", "Run the failed and canceled jobs of pipeline {} again?")


@verb(app, "cancel")
def cancel_pipeline(call: Invocation, pipeline: PipelineArgument = "") -> None:
    """Cancel every job of a pipeline that has not ended."""
    _ask(call, pipeline, "cancel", "Cancel pipeline {}?")


@verb(app, "why")
def why_pipeline(call: Invocation, pipeline: PipelineArgument = "") -> None:
    """Tell why jobs are in the pipeline and as they are, why others are not in it, and what to do next."""
    from cli.remote.why_text import why_lines

    pipeline_id = pipeline_of(call, pipeline)
    with call.naming(f"pipeline {pipeline_id}", "perdure pipeline list"):
        found = document(WHY, call.api.get(f"{call.home}/pipelines/{pipeline_id}/why"))
    if call.out.as_json:
        call.out.document(found)
        return
    for line in why_lines(found):
        call.out.data(line)


def _watch(call: Invocation, pipeline_id: int, timeout: str, patience: str) -> None:
    from cli.remote.watch import watch

    limit = span("--timeout", timeout) if timeout else None
    raise typer.Exit(watch(call, pipeline_id, timeout=limit, patience=span("--patience", patience)))


def _ask(call: Invocation, named: str, operation: str, question: str) -> None:
    """Ask before something that was not named is touched: the newest one may be somebody else's."""
    pipeline_id = pipeline_of(call, named)
    if not named:
        call.out.confirm(question.format(pipeline_id))
    with call.naming(f"pipeline {pipeline_id}", "perdure pipeline list"):
        response = call.api.post(f"{call.home}/pipelines/{pipeline_id}/{operation}")
    if "key" in response:
        call.out.words(response["message"])
    if "notice" in response:
        call.out.words(response["notice"])
    _show(call, details_of(call, pipeline_id))


def _show(call: Invocation, found: dict[str, Any]) -> None:
    if call.out.as_json:
        call.out.document(found)
        return
    state = state_cell(of_pipeline(found), found["status"])
    call.out.fields(
        {
            "pipeline": str(found["id"]),
            "name": found["name"] or "",
            "state": state,
            "reason": found["failure_reason"] or found["status_reason"] or "",
            "ref": found["ref"],
            "commit": found["sha"],
            "source": found["source"] or "",
            "started by": found["username"] or "",
            "created": found["created_at"] or "",
            "duration": duration(found["duration"]),
            "page": found["web_url"],
        }
    )
    for line in (found["yaml_errors"] or "").splitlines():
        call.out.data(line)
    if found["jobs"]:
        call.out.table(("job", "stage", "name", "state", "duration", ""), (job_row(job) for job in found["jobs"]))


def job_row(job: dict[str, Any]) -> list[str | Cell]:
    """A job as the row of a table."""
    reason = job["failure_reason"] if job["status"] == "failed" else job["stuck_reason"]
    notes = [reason or ""]
    if (job["attempt"] or 1) > 1:
        notes.append(f"attempt {job['attempt']}")
    state = state_cell(of_job(job), job["status"])
    return [str(job["id"]), job["stage"], job["name"], state, duration(job["duration"]), ", ".join(filter(None, notes))]
