"""One bonus a lease"""

import sqlalchemy as sa
from alembic import op

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
    op.add_column('lease', sa.Column('called', number, nullable=True))
    op.add_column('lease', sa.Column('claimed', number, nullable=True))


def downgrade() -> None:
    op.drop_column('lease', 'claimed')
    op.drop_column('lease', 'called')
