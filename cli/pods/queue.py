"""`perdure pod queue`."""

from cli.output import Cell
from cli.pods.documents import QUEUED_TAG_SET
from cli.pods.words import tags_cell
from cli.remote.documents import documents
from cli.remote.invocation import Invocation
from cli.remote.moments import duration


def show_queue(call: Invocation) -> None:
    """Show what waits for runners of the pod by tag set, what has waited longest first; for administrators."""
    shown = documents(QUEUED_TAG_SET, call.api.get("/pod/queue"))
    if call.out.as_json:
        call.out.document(shown)
        return
    rows = (
        [
            tags_cell(one["tags"]),
            str(one["jobs"]),
            duration(one["oldest"]),
            Cell("yes", "green", "✓") if one["served"] else Cell(f"{one['stuck']} not", "red", "✗"),
            one["stuck_reason"] or "",
        ]
        for one in shown
    )
    call.out.table(("tags", "jobs", "oldest", "served", "why not"), rows, "Nothing waits.")
