"""`perdure runner queue`."""

from cli.pods.words import tags_cell
from cli.remote.documents import TAG_SET_QUEUE, documents
from cli.remote.invocation import Invocation
from cli.remote.moments import duration


def print_queue(call: Invocation) -> None:
    """Print the queue by tag set, as the caller may see it."""
    shown = documents(TAG_SET_QUEUE, call.api.get("/runners/queue"))
    if call.out.as_json:
        call.out.document(shown)
        return
    rows = (
        [
            tags_cell(one["tags"]),
            str(one["jobs"]),
            duration(one["oldest"]),
            f"{one['online']} ({one['busy']} busy)",
            "" if one["wait_p50"] is None else duration(one["wait_p50"]),
            "" if one["wait_p95"] is None else duration(one["wait_p95"]),
            one["stuck_reason"] or "",
        ]
        for one in shown
    )
    headings = ("tags", "jobs", "oldest", "runners", "p50", "p95", "why not")
    call.out.table(headings, rows, "Nothing waits, and nothing did in the last hour.")
