"""What SQL says, read from outside while servers come and go."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from domain.pipelines.status import COMPLETE


@dataclass(frozen=True)
class End:
    """How a pipeline ended; names are unique within a pipeline."""

    pipeline: str
    stages: dict[str, str]
    jobs: dict[str, tuple[str, int]]
    """Status of the latest attempt, and the number of attempts."""


class Ledger:
    """The database of a server that runs with SQLite."""

    def __init__(self, home: Path) -> None:
        """`home` is the server's."""
        self._address = f"file:{home.resolve() / 'perdure.db'}?mode=ro"

    def rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        """The rows of a query."""
        with closing(sqlite3.connect(self._address, uri=True, timeout=30)) as connection:
            connection.row_factory = sqlite3.Row
            return connection.execute(query, values).fetchall()

    def one(self, query: str, *values: object) -> Any:
        """The only value of the only row."""
        ((value,),) = self.rows(query, *values)
        return value

    def status(self, pipeline_id: int) -> str:
        """A pipeline's status."""
        return str(self.one("SELECT status FROM pipeline WHERE id = ?", pipeline_id))

    def family(self, pipeline_id: int) -> list[int]:
        """A pipeline and all that came of it, in the order of their ids."""
        found = self.rows("SELECT id FROM pipeline WHERE id = ? OR root_id = ? ORDER BY id", pipeline_id, pipeline_id)
        return [row["id"] for row in found]

    def is_over(self, pipeline_id: int) -> bool:
        """Whether a pipeline and all that came of it are complete, and Temporal has been told everything."""
        family = self.family(pipeline_id)
        marks = ", ".join("?" * len(family))
        told = self.one(f"SELECT count(*) FROM outbox WHERE pipeline_id IN ({marks})", *family) == 0
        return told and all(self.status(member) in COMPLETE for member in family)

    def end(self, pipeline_id: int) -> End:
        """How a pipeline ended."""
        stages = self.rows("SELECT name, status FROM stage WHERE pipeline_id = ? ORDER BY position", pipeline_id)
        jobs = self.rows("SELECT name, status, attempt FROM job WHERE pipeline_id = ? AND NOT retried", pipeline_id)
        return End(
            self.status(pipeline_id),
            {row["name"]: row["status"] for row in stages},
            {row["name"]: (row["status"], row["attempt"]) for row in jobs},
        )

    def ends(self, pipeline_id: int) -> list[End]:
        """How a pipeline and all that came of it ended."""
        return [self.end(member) for member in self.family(pipeline_id)]

    def attempts(self, pipeline_id: int) -> list[sqlite3.Row]:
        """Every row of every job of a pipeline and of all that came of it."""
        family = self.family(pipeline_id)
        marks = ", ".join("?" * len(family))
        return self.rows(f"SELECT * FROM job WHERE pipeline_id IN ({marks}) ORDER BY id", *family)
