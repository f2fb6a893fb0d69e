"""The table of `docs/runner-compatibility.md`: `python -m tests.foreign.compatibility` writes it from the recordings.

A recording is what one runner used when it ran the pipeline of `tests/e2e/test_foreign_runners.py`; that test fails if
a runner does not use any more what its recording says. `PERDURE_RECORD=1` writes recordings anew instead.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.foreign.payload_shape import fields

PAGE: Final = Path(__file__).parents[2] / "docs" / "runner-compatibility.md"
RECORDED: Final = Path(__file__).with_name("recorded")
BEGIN: Final = "<!-- recordings: made by `python -m tests.foreign.compatibility` -->\n"
END: Final = "<!-- end of recordings -->\n"

Facts = Mapping[str, Collection[str]]
"""What was used, by the names of `ROWS`."""

CALLS: Final[Mapping[str, str]] = {
    "POST /runners 201": "register with a registration token",
    "POST /runners 403": "a wrong registration token",
    "POST /runners/verify 200": "is this token right?",
    "POST /runners/verify 403": "it is not, or its runner was removed",
    "POST /runners/reset_authentication_token 201": "a new token for the old one",
    "DELETE /runners 204": "unregister",
    "DELETE /runners/managers 204": "one process leaves",
    "GET /runners/router/discovery 501": "there is no job router",
    "POST /jobs/request 201": "a job",
    "POST /jobs/request 204": "no job now",
    "POST /jobs/request 403": "a wrong runner token",
    "PUT /jobs/:id 200": "acceptance, sign of life, verdict",
    "PUT /jobs/:id 400": "an unknown state",
    "PUT /jobs/:id 403": "the job is over, or not this runner's",
    "PUT /jobs/:id 409": "`pending` for a job that was taken up",
    "PUT /jobs/:id 412": "the log differs; send it again",
    "PATCH /jobs/:id/trace 202": "a piece of log",
    "PATCH /jobs/:id/trace 403": "the job is over",
    "PATCH /jobs/:id/trace 416": "the log goes on elsewhere",
    "POST /jobs/:id/artifacts 201": "an upload",
    "POST /jobs/:id/artifacts 400": "not a type that is known, or a second one of it",
    "POST /jobs/:id/artifacts 403": "the job is over",
    "POST /jobs/:id/artifacts 413": "too large",
    "GET /jobs/:id/artifacts 200": "an archive of an earlier job",
    "GET /jobs/:id/artifacts 307": "the same, from the object store",
    "GET git: info/refs 401": "git is asked who it is",
    "GET git: info/refs 200": "git with the job's token",
    "POST git: git-upload-pack 200": "the commit",
}
"""Calls and answers of the protocol."""

_FEATURES: Final = (
    "variables image services artifacts cache fallback_cache_keys shared upload_multiple_artifacts upload_raw_artifacts"
    " session terminal refspecs masking proxy raw_variables artifacts_exclude multi_build_steps trace_reset"
    " trace_checksum trace_size vault_secrets cancelable return_exit_code service_variables service_multiple_aliases"
    " image_executor_opts service_executor_opts cancel_gracefully native_steps_integration two_phase_job_commit"
    " job_inputs"
).split()
SENT: Final[Mapping[str, str]] = {
    "RUNNER-TOKEN (header)": "the runner's token",
    "JOB-TOKEN (header)": "the job's token",
    "X-Request-Id (header)": "echoed; the same job again for the same id",
    "Content-Range (header)": "where a piece of log begins; its end is not believed",
    "token": "either token",
    "system_id": "which process of the runner",
    "last_update": "hold the request until something changes",
    "session.url": "where a terminal would be",
    "description": "register: name",
    "maintenance_note": "register: note",
    "tag_list": "register: tags",
    "run_untagged": "register: jobs without tags too",
    "locked": "register: not for further projects",
    "access_level": "register: only protected refs",
    "maximum_timeout": "register: the longest job",
    "paused": "register: no jobs yet",
    **{f"info.{name}": "who the process is" for name in ("name", "version", "revision", "platform", "architecture")},
    "info.executor": "how it runs jobs",
    "info.shell": "with which shell",
    "info.config.gpus": "its configuration",
    "info.labels": "its labels",
    **{f"info.features.{name}": "what it can do" for name in _FEATURES},
    "info.features.steps_resume": "begin at a step of `run`; ours alone",
    "state": "what became of a job",
    "failure_reason": "why it failed",
    "exit_code": "of its script",
    "checksum": "CRC-32 of the log, the old place",
    "output": "nothing yet",
    "output.checksum": "CRC-32 of the log",
    "output.bytesize": "its length",
    "debug_trace (query)": "the log holds secrets",
    "artifact_type (query)": "type of an upload",
    "artifact_format (query)": "format of an upload",
    "expire_in (query)": "how long an upload is kept",
    "direct_download (query)": "a redirect to the store is welcome",
    "file (form)": "an upload",
    "artifact_type (form)": "its type, behind it",
    "artifact_format (form)": "its format, behind it",
    "expire_in (form)": "how long it is kept, behind it",
}
"""What runners may send: fields of bodies, headers, queries."""

REPLIES: Final[Mapping[str, str]] = {
    "X-GitLab-Last-Update": "with 204: send this back and wait",
    "X-GitLab-Trace-Update-Interval": "seconds until the next piece of log",
    "Range": "bytes of the log that are stored",
    "Job-Status": "the job's status",
    "Job-Status: running": "go on",
    "Job-Status: canceling": "stop the script, clean up",
    "Job-Status: canceled": "stop at once",
    "Job-Status: failed": "given up; stop at once",
    "Job-Status: success": "a repeated or late word on a job that is over",
}
"""Headers that tell runners something."""

ROWS: Final[Mapping[str, Mapping[str, str]]] = {
    "calls": CALLS,
    "sent": SENT,
    "replies": REPLIES,
    "payload": dict.fromkeys(fields(), ""),
}
TITLES: Final[Mapping[str, tuple[str, str]]] = {
    "calls": ("Calls", "call and answer"),
    "sent": ("What runners send", "field"),
    "replies": ("What answers say in headers", "header"),
    "payload": ("The job", "field"),
}


def recordings() -> dict[str, Facts]:
    """What each runner used, by its name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(RECORDED.glob("*.json"))}


def unknown(facts: Facts) -> set[str]:
    """What is used, but is in no row: the table would not be whole."""
    return {fact for name, found in facts.items() for fact in set(found) - ROWS[name].keys()}


def unused(runner: str, facts: Facts) -> set[str]:
    """What the recording of a runner says, and the runner did not use now: the table would lie."""
    if os.environ.get("PERDURE_RECORD"):
        (RECORDED / f"{runner}.json").write_text(json.dumps(facts, indent=1) + "\n")
    known = recordings()[runner]
    return {fact for name, found in known.items() for fact in set(found) - set(facts[name])}


def tables() -> str:
    """Every row, with what each runner used."""
    known = recordings()
    return "\n".join(line for name in ROWS for line in _table(name, known)) + "\n"


def page(text: str) -> str:
    """The page with the tables of now between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


def _table(name: str, known: Mapping[str, Facts]) -> Iterator[str]:
    title, subject = TITLES[name]
    has_meanings = any(ROWS[name].values())
    columns = [subject, *(["meaning"] if has_meanings else []), *known]
    yield from (f"### {title}", "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|")
    for row, meaning in ROWS[name].items():
        used = ["yes" if row in facts[name] else "" for facts in known.values()]
        yield f"| {' | '.join([f'`{row}`', *([meaning] if has_meanings else []), *used])} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
