"""An installation of commit a63e2be, the first whose data counts as real: its rows, and its backup member by member.

`rows.sql` are the rows of its SQLite database at migration 0001; `members.json` the other members of its backup, as
text or base64; `tokens.json` what people and runners were told. It has three pipelines: one that succeeded (with a log
and an archive for each build), one that failed, and one of whose jobs a runner holds one and another waits. Its keys
and passwords protect nothing: the installation lived for a minute.
"""

import base64
import hashlib
import io
import json
import sqlite3
import tarfile
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Boolean, Connection, DateTime, MetaData, Table, text
from sqlalchemy.types import JSON, LargeBinary

FOLDER: Final = Path(__file__).with_suffix("")
SCHEMA: Final = "0001"
Row = dict[str, Any]


def tokens() -> dict[str, Any]:
    """What people and runners of it were told."""
    found: dict[str, Any] = json.loads((FOLDER / "tokens.json").read_text())
    return found


def fill(file: Path) -> None:
    """Put its rows into an SQLite database that has the tables of `SCHEMA`."""
    with sqlite3.connect(file) as connection:
        connection.executescript("DELETE FROM sqlite_sequence;\n" + (FOLDER / "rows.sql").read_text())
    connection.close()


def rows_in(file: Path) -> dict[str, list[Row]]:
    """The rows of every table of an SQLite database, as SQLite has them."""
    connection = sqlite3.connect(file)
    connection.row_factory = sqlite3.Row
    try:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kept = [name for name in names if not name.startswith("sqlite_") and name != "alembic_version"]
        return {name: [dict(row) for row in connection.execute(f'SELECT * FROM "{name}"')] for name in sorted(kept)}
    finally:
        connection.close()


def copy_to_postgresql(connection: Connection, rows: Mapping[str, list[Row]]) -> None:
    """Put rows of SQLite into the same tables of PostgreSQL, with the types that those have."""
    connection.execute(text("SET LOCAL session_replication_role = replica"))  # no foreign key is looked at
    for name, items in rows.items():
        if items:
            table = Table(name, MetaData(), autoload_with=connection)
            connection.execute(table.insert(), [as_typed(table, item) for item in items])


def as_typed(table: Table, row: Row) -> Row:
    """A row of SQLite with the types that a table says."""
    return {name: _typed(table.c[name].type, value) for name, value in row.items()}


def _typed(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, Boolean):
        return bool(value)
    if isinstance(kind, DateTime):
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    if isinstance(kind, JSON):
        return json.loads(value)
    return bytes(value) if isinstance(kind, LargeBinary) else value


@cache
def members() -> dict[str, bytes]:
    """The members of its backup but for the database, by name."""
    stored = json.loads((FOLDER / "members.json").read_text())
    return {
        name: one["text"].encode() if "text" in one else base64.b64decode(one["base64"]) for name, one in stored.items()
    }


def write_backup(target: Path, database: Path) -> None:
    """The file that its `perdure backup` wrote, with this database; as its documentation says, by other code."""
    content = {"database/perdure.db": database.read_bytes(), **members()}
    manifest = json.loads(content.pop("manifest.json"))
    order = ("database/", "repositories/", "objects/", "home/")
    names = sorted(content, key=lambda name: [name.startswith(prefix) for prefix in order].index(True))
    sums = "".join(f"{hashlib.sha256(content[name]).hexdigest()}  {name}\n" for name in names).encode()
    manifest |= {"members": len(content), "bytes": sum(map(len, content.values()))}
    manifest["sums"] = hashlib.sha256(sums).hexdigest()
    last = [("SHA256SUMS", sums), ("manifest.json", json.dumps(manifest).encode())]
    with tarfile.open(target, "w:gz") as archive:
        for name, data in [*((name, content[name]) for name in names), *last]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
