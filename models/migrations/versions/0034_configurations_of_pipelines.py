"""The merged configuration of each pipeline"""

import sqlalchemy as sa
from alembic import op

from models.columns import BIG

revision = '0034'
down_revision = '0033'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'pipeline_config',
        sa.Column('pipeline_id', BIG, nullable=False),
        sa.Column('merged', sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(['pipeline_id'], ['pipeline.id']),
        sa.PrimaryKeyConstraint('pipeline_id'),
    )


def downgrade() -> None:
    op.drop_table('pipeline_config')
