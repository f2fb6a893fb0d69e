"""How jobs get their sources"""

import sqlalchemy as sa
from alembic import op

revision = '0005'
down_revision = '0004'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # With defaults of the database: a process of the version before knows nothing of them.
    op.add_column('project', sa.Column('git_depth', sa.Integer(), server_default='20', nullable=True))
    op.add_column('project', sa.Column('git_fetch', sa.Boolean(), server_default=sa.true(), nullable=False))


def downgrade() -> None:
    op.drop_column('project', 'git_fetch')
    op.drop_column('project', 'git_depth')
