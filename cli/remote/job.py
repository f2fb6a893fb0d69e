"""`perdure job`: list, show, log, retry, play, cancel, explain; fetch artifacts."""

from datetime import datetime
from typing import Annotated, Any

import typer

from cli.output import state_cell
from cli.pairs import pairs
from cli.remote import completion
from cli.remote.documents import JOB, document, documents
from cli.remote.invocation import Invocation, verb
from cli.remote.moments import duration, moment, span
from cli.remote.outage import PATIENCE, Deadline
from cli.remote.pipeline import PatienceOption, TimeoutOption, job_row
from cli.remote.pipeline_jobs import details_of, job_id_of, pipeline_of
from cli.states import of_job
from domain.pipelines.shown_status import status_named

app = typer.Typer(help="Look at jobs: logs, artifacts; retry, play and cancel them.", no_args_is_help=True)

JobArgument = Annotated[
    str,
    typer.Argument(
        metavar="JOB",
        help="Number, address, or name in the newest pipeline of the branch that is checked out.",
        autocompletion=completion.jobs,
    ),
]
PipelineOption = Annotated[
    str, typer.Option("--pipeline", help="The pipeline that a name is of.", autocompletion=completion.pipelines)
]


@verb(app, "list")
def list_jobs(
    call: Invocation,
    pipeline: Annotated[
        str, typer.Option("--pipeline", help="Of one pipeline.", autocompletion=completion.pipelines)
    ] = "",
    status: Annotated[list[str] | None, typer.Option("--status", help="In this state; may be repeated.")] = None,
    since: Annotated[str, typer.Option("--since", help="Made since: 2h, 1d, or a time.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 30,
) -> None:
    """List jobs, newest first, or those of a pipeline in the order of its stages."""
    status = [status_named(word) for word in status or ()]
    if pipeline:
        found = details_of(call, pipeline_of(call, pipeline))["jobs"]
        found = [job for job in found if not status or job["status"] in status][:limit]
    else:
        scope = {"scope[]": status} if status else {}
        with call.naming(f"project {call.project}", "perdure project list"):
            found = documents(JOB, call.api.listed(f"{call.home}/jobs", limit, **scope))
    if since:
        earliest = moment("--since", since, call.now)
        found = [job for job in found if job["created_at"] and datetime.fromisoformat(job["created_at"]) >= earliest]
    if call.out.as_json:
        call.out.document(found)
        return
    rows = ([*job_row(job), str(job["pipeline_id"])] for job in found)
    call.out.table(("job", "stage", "name", "state", "duration", "", "pipeline"), rows)


@verb(app, "show")
def show_job(call: Invocation, job: JobArgument, pipeline: PipelineOption = "") -> None:
    """Show one attempt of a job."""
    _show(call, _job(call, job, pipeline))


@verb(app, "log")
def log_of_job(
    call: Invocation,
    job: JobArgument,
    pipeline: PipelineOption = "",
    follow: Annotated[
        bool | None,
        typer.Option(
            "--follow/--no-follow", "-f", help="Go on until the job ends. Default: on a terminal, if it runs."
        ),
    ] = None,
    tail: Annotated[int | None, typer.Option("--tail", min=0, help="Only so many lines of its end.")] = None,
    since: Annotated[str, typer.Option("--since", help="Only what was written since: 5m, 2h, or a time.")] = "",
    raw: Annotated[
        bool, typer.Option("--raw", help="The bytes as they are, with colours, marks of sections and stamps of lines.")
    ] = False,
    no_pager: Annotated[bool, typer.Option("--no-pager", help="Do not page on a terminal.")] = False,
    timeout: TimeoutOption = "",
    patience: PatienceOption = PATIENCE,
) -> None:
    """Print the log of a job. One that is followed ends with the job: exit 0 if it succeeded, 1 if not."""
    from cli.remote.job_log import LogOptions, print_log

    options = LogOptions(
        follow=follow,
        tail=tail,
        since=since,
        raw=raw,
        pager=not no_pager,
        timeout=span("--timeout", timeout) if timeout else None,
        patience=span("--patience", patience),
    )
    raise typer.Exit(print_log(call, _job(call, job, pipeline), options))


@verb(app, "retry")
def retry_job(
    call: Invocation,
    job: JobArgument,
    pipeline: PipelineOption = "",
    from_step: Annotated[
        str | None,
        typer.Option(
            "--from-step",
            metavar="STEP",
            help="Begin at this step of its `run`, by name or number; those before it are not run again.",
        ),
    ] = None,
) -> None:
    """Run a job that has ended again; shows the new attempt."""
    body = {} if from_step is None else {"from_step": from_step}
    _ask(call, job_id_of(call, job, pipeline), "retry", body)


@verb(app, "play")
def play_job(
    call: Invocation,
    job: JobArgument,
    pipeline: PipelineOption = "",
    variables: Annotated[
        list[str] | None, typer.Option("--var", "--variable", metavar="NAME=VALUE", help="A variable of this job.")
    ] = None,
) -> None:
    """Start a manual or delayed job now; one with `manual_confirmation` asks first."""
    given = [{"key": name, "value": value} for name, value in pairs("--var", variables or ()).items()]
    found = _job(call, job, pipeline)
    if found["manual_confirmation"]:
        call.out.confirm(found["manual_confirmation"])
    _ask(call, found["id"], "play", {"job_variables_attributes": given})


@verb(app, "cancel")
def cancel_job(call: Invocation, job: JobArgument, pipeline: PipelineOption = "") -> None:
    """Cancel a job that has not ended."""
    _ask(call, job_id_of(call, job, pipeline), "cancel", {})


@verb(app, "why")
def why_job(call: Invocation, job: JobArgument, pipeline: PipelineOption = "") -> None:
    """Tell why a job is as it is, what to do next, and which clause put it into its pipeline."""
    from cli.remote.job_why import why_of
    from cli.remote.why_text import job_lines

    reason = why_of(call, job, pipeline)
    if call.out.as_json:
        call.out.document(reason)
        return
    for line in job_lines(reason):
        call.out.data(line)


@verb(app, "artifacts")
def artifacts_of_job(
    call: Invocation,
    job: JobArgument,
    pipeline: PipelineOption = "",
    path: Annotated[str, typer.Option("--path", help="One file of the archive.")] = "",
    output: Annotated[
        str, typer.Option("--output", "-o", help="File or folder to write to; `-` is standard output.")
    ] = "",
    show: Annotated[bool, typer.Option("--list", help="List the files of the archive.")] = False,
    timeout: TimeoutOption = "",
    patience: PatienceOption = PATIENCE,
) -> None:
    """Download the artifacts of a job; a download that was cut off goes on where it was."""
    from cli.remote import artifacts

    job_id = job_id_of(call, job, pipeline)
    if show:
        artifacts.list_files(call, job_id)
        return
    deadline = Deadline(span("--timeout", timeout) if timeout else None, "The download")
    artifacts.fetch(call, job_id, path, output, patience=span("--patience", patience), deadline=deadline)


def _job(call: Invocation, named: str, pipeline: str) -> dict[str, Any]:
    job_id = job_id_of(call, named, pipeline)
    with call.naming(f"job {job_id}", "perdure job list"):
        return document(JOB, call.api.get(f"{call.home}/jobs/{job_id}"))


def _ask(call: Invocation, job_id: int, operation: str, body: dict[str, Any]) -> None:
    with call.naming(f"job {job_id}", "perdure job list"):
        response = call.api.post(f"{call.home}/jobs/{job_id}/{operation}", **body)
        if "key" in response:
            call.out.words(response["message"])
            response = call.api.get(f"{call.home}/jobs/{job_id}")
        if "notice" in response:
            call.out.words(response["notice"])
    _show(call, document(JOB, response))


def _show(call: Invocation, job: dict[str, Any]) -> None:
    if call.out.as_json:
        call.out.document(job)
        return
    call.out.fields(
        {
            "job": str(job["id"]),
            "name": job["name"],
            "stage": job["stage"],
            "state": state_cell(of_job(job), job["status"]),
            "reason": job["failure_reason"] or "",
            "waits": job["stuck_reason"] or "",
            "coverage": "" if job["coverage"] is None else f"{job['coverage']:g} %",
            "exit code": "" if job["exit_code"] is None else str(job["exit_code"]),
            "attempt": str(job["attempt"] or ""),
            "ref": job["ref"],
            "pipeline": str(job["pipeline_id"]),
            "runner": str(job["runner_id"] or ""),
            "queued": duration(job["queued_duration"]),
            "duration": duration(job["duration"]),
            "artifacts": f"{job['artifacts_size']:,} bytes" if job["artifacts_size"] else "",
            "page": job["web_url"],
        }
    )
