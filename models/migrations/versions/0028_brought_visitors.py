"""People whom moves brought to other pods, of which their homes are to hear"""

import sqlalchemy as sa
from alembic import op

from models.columns import BIG, Moment

revision = '0028'
down_revision = '0027'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'brought_visitor',
        sa.Column('home_pod', sa.Integer(), nullable=False),
        sa.Column('home_id', BIG, nullable=False),
        sa.Column('pod_number', sa.Integer(), nullable=False),
        sa.Column('moved_at', Moment(timezone=True), nullable=False),
        sa.Column('tell_after', Moment(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint('home_pod', 'home_id', 'pod_number'),
    )


def downgrade() -> None:
    op.drop_table('brought_visitor')
