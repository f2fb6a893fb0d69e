"""What is known of the steps before the one that an attempt of a job begins at"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

from models.columns import BIG

revision = '0029'
down_revision = '0028'
branch_labels = None
depends_on = None

TEXT = sqlmodel.sql.sqltypes.AutoString


def upgrade() -> None:
    op.create_table(
        'pinned_steps',
        sa.Column('id', BIG, nullable=False),
        sa.Column('pipeline_id', BIG, nullable=False),
        sa.Column('key', TEXT(), nullable=True),
        sa.Column('job_id', BIG, nullable=True),
        sa.Column('step', TEXT(), nullable=False),
        sa.Column('done', TEXT(), nullable=False),
        sa.ForeignKeyConstraint(['pipeline_id'], ['pipeline.id']),
        sa.ForeignKeyConstraint(['job_id'], ['job.id']),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('pipeline_id', 'key'),
        sa.UniqueConstraint('job_id'),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table('pinned_steps')
