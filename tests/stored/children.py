"""Cancel going down, as `models.repositories.pipelines.children` lets it."""

from domain.pipelines.status import COMPLETE
from tests.stored.rows import Row, Tables


def cancel_child_of(tables: Tables, row: Row) -> None:
    """As `children.cancel_child_of`: ask the child pipeline of a canceled bridge to cancel, and all below it."""
    if row.downstream and tables.statuses[row.downstream] not in COMPLETE:
        tables.ask(row.downstream, "cancel_pipeline")
        cancel_below(tables, row.downstream)


def cancel_below(tables: Tables, above: str) -> None:
    """As `children.cancel_children`: ask all pipelines below one to cancel."""
    for key, status in tables.statuses.items():
        if key.startswith(f"{above}/") and status not in COMPLETE:
            tables.ask(key, "cancel_pipeline")
