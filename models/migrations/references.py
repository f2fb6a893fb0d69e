"""Foreign keys that a migration takes away or brings back, on either kind of database."""

import sqlalchemy as sa
from alembic import op


def drop_reference(table: str, column: str, target: str) -> None:
    """From now on a column may hold ids of other pods."""
    if op.get_bind().dialect.name == "sqlite":
        _rewrite(table, f"{_clause(column, target)}, ", "")
    else:
        op.drop_constraint(f"{table}_{column}_fkey", table, type_="foreignkey")


def restore_reference(table: str, column: str, target: str, before: str) -> None:
    """A column refers to a table again; ids that are not there become empty. `before` is a column that refers, too.

    On SQLite the clause goes before that of `before`, as it was.
    """
    unknown = f"{column} IS NOT NULL AND {column} NOT IN (SELECT id FROM {target})"  # noqa: S608  # names are ours
    op.execute(sa.text(f"UPDATE {table} SET {column} = NULL WHERE {unknown}"))  # noqa: S608
    if op.get_bind().dialect.name == "sqlite":
        other = f"FOREIGN KEY({before})"
        _rewrite(table, other, f"{_clause(column, target)}, \n\t{other}")
    else:
        op.create_foreign_key(f"{table}_{column}_fkey", table, target, [column], ["id"])


def _clause(column: str, target: str) -> str:
    return f"FOREIGN KEY({column}) REFERENCES {target} (id)"


def _rewrite(table: str, text: str, by: str) -> None:
    """Change a table constraint, which is nothing but text in SQLite's schema; ids go on to be counted as they were.

    Source: SQLite, "ALTER TABLE", "Making Other Kinds Of Table Schema Changes": the way for constraints that no stored
    row depends on.
    """
    run = op.get_bind().exec_driver_sql
    version = run("PRAGMA schema_version").scalar_one()
    (known,) = run("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).one()
    if known.count(text) != 1:
        raise RuntimeError(f"{table} is not as migrations make it: {text!r} is there {known.count(text)} times.")
    run("PRAGMA writable_schema=ON")
    run("UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND name = ?", (known.replace(text, by), table))
    run(f"PRAGMA schema_version={version + 1}")
    run("PRAGMA writable_schema=OFF")
