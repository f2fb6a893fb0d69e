"""That an installation is a copy, restored from a backup of another one"""

import sqlalchemy as sa
from alembic import op

revision = '0037'
down_revision = '0036'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('installation', sa.Column('restored_from', sa.String(), server_default='', nullable=False))
    op.add_column('installation', sa.Column('held_up_to', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True))


def downgrade() -> None:
    op.drop_column('installation', 'held_up_to')
    op.drop_column('installation', 'restored_from')
