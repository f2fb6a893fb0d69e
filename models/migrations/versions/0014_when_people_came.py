"""When people signed in, and the day on which they were last here"""

import sqlalchemy as sa
from alembic import op

import models.columns

revision = '0014'
down_revision = '0013'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('account', sa.Column('current_sign_in_at', models.columns.Moment(timezone=True), nullable=True))
    op.add_column('account', sa.Column('last_sign_in_at', models.columns.Moment(timezone=True), nullable=True))
    op.add_column('account', sa.Column('last_activity_on', sa.Date(), nullable=True))


def downgrade() -> None:
    op.drop_column('account', 'last_activity_on')
    op.drop_column('account', 'last_sign_in_at')
    op.drop_column('account', 'current_sign_in_at')
