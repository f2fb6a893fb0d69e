"""How long each pipeline has run, without what it waited; those that have ended are shown as before"""

import sqlalchemy as sa
from alembic import op

revision = '0044'
down_revision = '0042'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('pipeline', sa.Column('duration', sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column('pipeline', 'duration')
