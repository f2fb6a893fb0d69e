"""Deployments that no job made: they hold their status themselves"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

from models.columns import Moment

revision = '0012'
down_revision = '0011'
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')


def upgrade() -> None:
    counted = _counted()
    with op.batch_alter_table('deployment', table_kwargs={'sqlite_autoincrement': True}) as batch_op:
        batch_op.alter_column('job_id', existing_type=NUMBER, nullable=True)
        batch_op.alter_column('pipeline_id', existing_type=NUMBER, nullable=True)
        # With a default of the database: a process of the version before knows nothing of it.
        batch_op.add_column(
            sa.Column('status', sqlmodel.sql.sqltypes.AutoString(), server_default=sa.text("''"), nullable=False)
        )
        batch_op.add_column(sa.Column('updated_at', Moment(timezone=True), nullable=True))
        batch_op.add_column(sa.Column('finished_at', Moment(timezone=True), nullable=True))
    _count_on(counted)


def downgrade() -> None:
    op.execute(sa.text('DELETE FROM deployment WHERE job_id IS NULL'))
    counted = _counted()
    with op.batch_alter_table('deployment', table_kwargs={'sqlite_autoincrement': True}) as batch_op:
        for column in ('finished_at', 'updated_at', 'status'):
            batch_op.drop_column(column)
        batch_op.alter_column('pipeline_id', existing_type=NUMBER, nullable=False)
        batch_op.alter_column('job_id', existing_type=NUMBER, nullable=False)
    _count_on(counted)


def _counted() -> int | None:
    """The last id that SQLite has given a deployment: a table that is written anew begins at the rows it has."""
    if op.get_bind().dialect.name != 'sqlite':
        return None
    return op.get_bind().execute(sa.text("SELECT seq FROM sqlite_sequence WHERE name = 'deployment'")).scalar()


def _count_on(last: int | None) -> None:
    if last is None:
        return
    op.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = 'deployment'"))
    op.execute(sa.text(f"INSERT INTO sqlite_sequence (name, seq) VALUES ('deployment', {int(last)})"))
