"""Parts of the indexes of logs that are in the database"""

import sqlalchemy as sa
from alembic import op

from models.columns import BIG

revision = '0032'
down_revision = '0031'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'trace_index',
        sa.Column('job_id', BIG, nullable=False),
        sa.Column('generation', sa.Integer(), nullable=False),
        sa.Column('start', BIG, nullable=False),
        sa.Column('stop', BIG, nullable=False),
        sa.Column('content', sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(['job_id'], ['job.id']),
        sa.PrimaryKeyConstraint('job_id', 'generation', 'start'),
    )


def downgrade() -> None:
    op.drop_table('trace_index')
