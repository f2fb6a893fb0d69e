"""The tables of the directory, and its one row of state.

They are the directory's own, not a pod's, and so no part of `models`. SQL on the others is in `pod_rows`, `claim_rows`
and `owner_rows`. Functions take a connection in a transaction.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.schema import CreateColumn

from domain.errors import Refused
from domain.pods.claims import ClaimKind, ClaimState

SCHEMA: Final = 3
"""The number of this schema, kept in `directory_state`; a change of the tables raises it and brings older ones up."""

METADATA: Final = MetaData()

_STATE: Final = Table(
    "directory_state",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("schema_number", Integer, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("admin_token_hash", String(64), nullable=False),
    Column("read_token_hash", String(64), nullable=False),
    Column("pruned_version", BigInteger, nullable=False, server_default="0"),
    Column("changed_at", BigInteger, nullable=True),
)
"""One row, which whoever writes locks first: changes take turns, and nobody sees a later version first.

Since schema 3: `pruned_version` is the latest version of a claim that was pruned, so that changes since an earlier one
are not complete; `changed_at` is the unix second of the current version, null where it is not known.
"""

PODS: Final = Table(
    "directory_pods",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", String(63), nullable=False, unique=True),
    Column("address", Text, nullable=False),
    Column("weight", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("public_keys", Text, nullable=False),
    Column("version", BigInteger, nullable=False, index=True),
)

CLAIMS: Final = Table(
    "directory_claims",
    METADATA,
    Column("claim_id", String(36), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("name", Text, nullable=False),
    Column("pod_number", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("organisation_id", BigInteger, nullable=True, index=True),
    Column("was_moved", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False, index=True),
    Column("released_at", BigInteger, nullable=True),
    Index("directory_claims_of_pod", "pod_number", "state", "claim_id"),
)
"""`version` is 0 for what no reader has ever seen; `created_at` and, since schema 3, `released_at` are unix seconds."""

OWNERS: Final = Table(
    "directory_owners",
    METADATA,
    Column("kind", String(16), primary_key=True),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("organisation_id", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False, index=True),
)
"""The organisations of what has moved with them, by its ids; since schema 2."""

HELD: Final = CLAIMS.c.state != ClaimState.RELEASED.value
Index("directory_claims_held", CLAIMS.c.kind, CLAIMS.c.name, unique=True, sqlite_where=HELD, postgresql_where=HELD)

_WAS_RELEASED: Final = CLAIMS.c.released_at.is_not(None)
_RELEASES: Final = Index(
    "directory_claims_released", CLAIMS.c.released_at, sqlite_where=_WAS_RELEASED, postgresql_where=_WAS_RELEASED
)

_COUNTED: Final = Index("directory_claims_counted", CLAIMS.c.kind, CLAIMS.c.state)
"""For the metrics: without it each count reads every claim."""

PLACED: Final = (CLAIMS.c.kind == ClaimKind.PATH.value) & (CLAIMS.c.state == ClaimState.CONFIRMED.value)


def prepare(connection: Connection, now: int) -> None:
    """Make the tables where there are none, and bring older ones up at the unix second `now`.

    Raises `Refused` for those of a later version of Perdure.
    """
    if inspect(connection).has_table(_STATE.name):
        _bring_up(connection, now)
    METADATA.create_all(connection)
    connection.execute(update(_STATE).values(schema_number=SCHEMA))
    if connection.execute(select(func.count()).select_from(_STATE)).scalar() == 0:
        nobody = ""
        values = {"id": 1, "schema_number": SCHEMA, "version": 0, "admin_token_hash": nobody, "read_token_hash": nobody}
        connection.execute(insert(_STATE).values(values))


def _bring_up(connection: Connection, now: int) -> None:
    # Locked: of two processes that start at the same time the second one finds the tables of the first.
    found = connection.execute(select(_STATE.c.schema_number).with_for_update()).scalar_one()
    if found > SCHEMA:
        raise Refused(
            f"The directory's database has schema {found}, this version of Perdure knows {SCHEMA}: a later version "
            "has used it. Start that one again, or restore a backup from before."
        )
    if found < 3:
        _add_columns(connection, (_STATE.c.pruned_version, _STATE.c.changed_at, CLAIMS.c.released_at))
        for index in (_RELEASES, _COUNTED):
            index.create(connection)
        # When they were released was not noted: they stay for the whole time from now on.
        connection.execute(update(CLAIMS).where(~HELD).values(released_at=now))


def _add_columns(connection: Connection, columns: Sequence[Column[Any]]) -> None:
    for column in columns:
        definition = CreateColumn(column).compile(dialect=connection.dialect)
        connection.execute(text(f"ALTER TABLE {column.table.name} ADD COLUMN {definition}"))


def token_hashes(connection: Connection) -> tuple[str, str]:
    """Those of the admin token and of the read token; empty before there are any."""
    row = connection.execute(select(_STATE.c.admin_token_hash, _STATE.c.read_token_hash)).one()
    return row.admin_token_hash, row.read_token_hash


def keep_token_hashes(connection: Connection, admin: str, read: str) -> None:
    """From now on these tokens are good."""
    connection.execute(update(_STATE).values(admin_token_hash=admin, read_token_hash=read))


def lock_version(connection: Connection) -> int:
    """The version of now, which stays so until this transaction ends."""
    found: int = connection.execute(select(_STATE.c.version).with_for_update()).scalar_one()
    return found


def read_version(connection: Connection) -> int:
    """The version of now."""
    found: int = connection.execute(select(_STATE.c.version)).scalar_one()
    return found


def keep_version(connection: Connection, version: int, now: int) -> None:
    """A new version, made at the unix second `now`."""
    connection.execute(update(_STATE).values(version=version, changed_at=now))


def read_changed_at(connection: Connection) -> int | None:
    """The unix second of the current version; None where it is not known."""
    found: int | None = connection.execute(select(_STATE.c.changed_at)).scalar_one()
    return found


def read_pruned_version(connection: Connection) -> int:
    """The version before which changes are not complete any more; 0 if nothing was pruned."""
    found: int = connection.execute(select(_STATE.c.pruned_version)).scalar_one()
    return found


def keep_pruned_version(connection: Connection, version: int) -> None:
    """A claim that was changed at this version was pruned."""
    connection.execute(update(_STATE).where(_STATE.c.pruned_version < version).values(pruned_version=version))
