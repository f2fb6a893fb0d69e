"""Callers of operations"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

revision = '0006'
down_revision = '0005'
branch_labels = None
depends_on = None


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
    op.create_table(
        'operation_caller',
        sa.Column('pipeline_id', number, nullable=False),
        sa.Column('key', sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column('name', sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column('job_id', number, nullable=True),
        sa.Column('user_id', number, nullable=False),
        sa.ForeignKeyConstraint(['job_id'], ['job.id']),
        sa.ForeignKeyConstraint(['pipeline_id'], ['pipeline.id']),
        sa.ForeignKeyConstraint(['user_id'], ['account.id']),
        sa.PrimaryKeyConstraint('pipeline_id', 'key'),
    )
    # Without a reference: SQLite can add none to a table that there is. Nobody removes an account's row.
    op.add_column('operation_key', sa.Column('caller_id', number, nullable=True))
    # With a default of the database: a process of the version before knows nothing of it.
    op.add_column('job', sa.Column('unknown_caller', sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    op.drop_column('job', 'unknown_caller')
    op.drop_column('operation_key', 'caller_id')
    op.drop_table('operation_caller')
